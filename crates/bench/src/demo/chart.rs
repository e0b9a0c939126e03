//! The results as a picture: a group of bars for each file, and one for that with losses.

use super::lossy::Variant;
use super::report::{Report, size};
use bentpipe_plot::axes::{AxisSpec, Limits, Unit};
use bentpipe_plot::chart::{Curve, Data, Datum, Figure, Panel};
use bentpipe_plot::svg;

/// In px: a page with room for all bars' labels.
const WIDTH: f64 = 1040.0;

/// The series, in the order of their bars. Neighbours are told apart in grey, too.
const SERIES: [&str; 5] = [
    "end to end",
    "end to end, BBR",
    "gateways, unconfigured",
    "gateways, rate configured",
    "limit",
];
const END_TO_END: usize = 0;
const BBR: usize = 1;
const ESTIMATED: usize = 2;
const KNOWN: usize = 3;
const LIMIT: usize = 4;

/// A bar: its series, its group, its height and its label.
struct Bar {
    series: usize,
    group: usize,
    seconds: f64,
    label: String,
}

/// Draws seconds on a logarithmic scale, as SVG. `link` and `hosts` say what the ends and the link
/// between them were.
pub fn draw(link: &str, hosts: &str, report: &Report) -> String {
    let (categories, bars) = bars(report);
    let curve = |(series, name): (usize, &&str)| {
        let own: Vec<&Bar> = bars.iter().filter(|bar| bar.series == series).collect();
        let points = own.iter().map(|bar| Datum::new(bar.group as f64, bar.seconds)).collect();
        let labels = own.iter().map(|bar| bar.label.clone()).collect();
        let data = Data::LabelledBars { points, labels };
        (!own.is_empty()).then(|| Curve { name: (*name).to_owned(), style: series, data })
    };
    let figure = Figure {
        title: "Time to download a file over a satellite link".to_owned(),
        caption: format!("{link}; {hosts}; logarithmic scale"),
        x: AxisSpec { label: "size of the file".to_owned(), categories, ..AxisSpec::default() },
        y: AxisSpec {
            label: "time".to_owned(),
            unit: Unit::Seconds,
            shown: Some("s".to_owned()),
            limits: Limits { log: true, from: Some(0.5), ..Limits::default() },
            ..AxisSpec::default()
        },
        panels: vec![Panel {
            title: String::new(),
            curves: SERIES.iter().enumerate().filter_map(curve).collect(),
        }],
        ..Figure::default()
    };
    svg::write(&figure.scene(WIDTH))
}

/// The names of the groups, and all bars.
fn bars(report: &Report) -> (Vec<String>, Vec<Bar>) {
    let mut names: Vec<String> = report.rows.iter().map(|row| size(row.bytes)).collect();
    let mut bars = Vec::new();
    let bar = |series, group, seconds| Bar { series, group, seconds, label: label(seconds) };
    for (group, row) in report.rows.iter().enumerate() {
        bars.push(bar(END_TO_END, group, row.end_to_end_s));
        bars.extend(row.gateways_s.map(|seconds| bar(KNOWN, group, seconds)));
        bars.push(bar(LIMIT, group, row.limit_s));
    }
    let (group, lossy) = (names.len(), &report.lossy);
    names.push(format!("{}, {} % lost", size(lossy.bytes), 100.0 * lossy.loss));
    for transfer in &lossy.transfers {
        let series = match transfer.variant {
            Variant::EndToEnd => END_TO_END,
            Variant::EndToEndBbr => BBR,
            Variant::Estimated => ESTIMATED,
            Variant::Known => KNOWN,
        };
        match (transfer.seconds, transfer.stopped_s) {
            (Some(seconds), _) => bars.push(bar(series, group, seconds)),
            (None, Some(seconds)) => {
                let label = format!("over {seconds:.0}");
                bars.push(Bar { series, group, seconds, label });
            }
            (None, None) => {}
        }
    }
    bars.push(bar(LIMIT, group, lossy.limit_s));
    (names, bars)
}

fn label(seconds: f64) -> String {
    if seconds < 9.995 { format!("{seconds:.2}") } else { format!("{seconds:.1}") }
}
