//! The results as a picture: grouped bars in SVG, written by hand. Some twenty bars with their
//! labels are less text than the set-up of a plotting library, and need no fonts at build time.

use std::fmt::Write as _;

use bentpipe_testbed::five_hosts::SatelliteLink;

use super::lossy::Variant;
use super::report::{Report, describe, size};

const WIDTH: f64 = 1040.0;
const HEIGHT: f64 = 480.0;
/// The plot's left, right, upper and lower edge.
const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 24.0;
const TOP: f64 = 112.0;
const BOTTOM: f64 = HEIGHT - 62.0;

/// Colours of Okabe and Ito, told apart by those with any colour vision.
const SERIES: [(&str, &str); 5] = [
    ("end to end", "#D55E00"),
    ("end to end, BBR", "#E69F00"),
    ("gateways, nothing configured", "#56B4E9"),
    ("gateways, link known", "#0072B2"),
    ("limit", "#999999"),
];
const END_TO_END: usize = 0;
const BBR: usize = 1;
const ESTIMATED: usize = 2;
const KNOWN: usize = 3;
const LIMIT: usize = 4;

/// Bars that stand together.
struct Group {
    name: String,
    bars: Vec<Bar>,
}

struct Bar {
    series: usize,
    seconds: f64,
    label: String,
}

impl Bar {
    fn new(series: usize, seconds: f64) -> Bar {
        Bar { series, seconds, label: label(seconds) }
    }
}

/// A group for each file, and one for the file that came with losses.
fn groups(report: &Report) -> Vec<Group> {
    let mut groups: Vec<Group> = report
        .rows
        .iter()
        .map(|row| {
            let values = [
                (END_TO_END, Some(row.end_to_end_s)),
                (KNOWN, row.gateways_s),
                (LIMIT, Some(row.limit_s)),
            ];
            let bars =
                values.into_iter().filter_map(|(series, value)| Some(Bar::new(series, value?)));
            Group { name: size(row.bytes), bars: bars.collect() }
        })
        .collect();
    let lossy = &report.lossy;
    let mut bars: Vec<Bar> = lossy
        .transfers
        .iter()
        .filter_map(|transfer| {
            let series = match transfer.variant {
                Variant::EndToEnd => END_TO_END,
                Variant::EndToEndBbr => BBR,
                Variant::Estimated => ESTIMATED,
                Variant::Known => KNOWN,
            };
            match (transfer.seconds, transfer.stopped_s) {
                (Some(seconds), _) => Some(Bar::new(series, seconds)),
                (None, Some(seconds)) => {
                    Some(Bar { series, seconds, label: format!("over {seconds:.0}") })
                }
                (None, None) => None,
            }
        })
        .collect();
    bars.push(Bar::new(LIMIT, lossy.limit_s));
    groups.push(Group { name: lossy.name(), bars });
    groups
}

/// Draws seconds on a logarithmic scale: one group of bars for each file.
/// `hosts` says what the ends ran.
pub fn draw(link: &SatelliteLink, hosts: &str, report: &Report) -> String {
    let groups = groups(report);
    let all = groups.iter().flat_map(|group| &group.bars).map(|bar| bar.seconds);
    let scale = Scale { low: 0.5, high: all.fold(1.0, f64::max) * 1.25 };

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"Helvetica, Arial, sans-serif\" \
         font-size=\"14\" fill=\"#222\">\n\
         <title>Download times over an emulated satellite link</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    text(&mut svg, LEFT, 34.0, "start", 20, "Time to download a file over a satellite link");
    let subtitle = format!("{}; {hosts}; logarithmic scale", describe(link));
    text(&mut svg, LEFT, 58.0, "start", 14, &subtitle);
    legend(&mut svg);
    axis(&mut svg, &scale);

    // All bars are as wide, and as much as a bar stands between groups.
    let bars: usize = groups.iter().map(|group| group.bars.len()).sum();
    let bar = (RIGHT - LEFT) / (bars + groups.len()).max(1) as f64;
    let mut left = LEFT + bar / 2.0;
    for group in &groups {
        let middle = left + bar * group.bars.len() as f64 / 2.0;
        for Bar { series, seconds, label } in &group.bars {
            let y = scale.y(*seconds);
            let (height, width, colour) = (BOTTOM - y, bar - 4.0, SERIES[*series].1);
            _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
                 fill=\"{colour}\"/>",
                left + 2.0
            );
            text(&mut svg, left + bar / 2.0, y - 6.0, "middle", 12, label);
            left += bar;
        }
        text(&mut svg, middle, BOTTOM + 24.0, "middle", 15, &group.name);
        left += bar;
    }
    text(&mut svg, (LEFT + RIGHT) / 2.0, HEIGHT - 12.0, "middle", 13, "size of the file");
    svg.push_str("</svg>\n");
    svg
}

/// Seconds to heights, logarithmically: the files span a factor of a thousand.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn y(&self, seconds: f64) -> f64 {
        let share = (seconds.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        BOTTOM - share * (BOTTOM - TOP)
    }
}

fn axis(svg: &mut String, scale: &Scale) {
    for tick in [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0] {
        if tick > scale.high {
            break;
        }
        let y = scale.y(tick);
        _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>"
        );
        text(svg, LEFT - 8.0, y + 5.0, "end", 13, &format!("{tick} s"));
    }
    _ = writeln!(
        svg,
        "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\" stroke=\"#222\"/>"
    );
}

fn legend(svg: &mut String) {
    let mut x = LEFT;
    for (name, colour) in SERIES {
        _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"74\" width=\"14\" height=\"14\" fill=\"{colour}\"/>"
        );
        text(svg, x + 20.0, 86.0, "start", 14, name);
        x += 48.0 + 7.0 * name.len() as f64;
    }
}

fn label(seconds: f64) -> String {
    if seconds < 9.995 { format!("{seconds:.2}") } else { format!("{seconds:.1}") }
}

/// All texts are our own: digits, units and words, nothing to escape.
fn text(svg: &mut String, x: f64, y: f64, anchor: &str, points: u32, words: &str) {
    _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{points}\">{words}</text>"
    );
}
