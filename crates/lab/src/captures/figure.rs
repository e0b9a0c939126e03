//! Connections as a still figure: the same four panels as on the page; of several connections side
//! by side, over the same axes.

mod data;
mod map;

use bentpipe_capture::{Analysis, Class, ClassKind, Connection, Direction};
use bentpipe_plot::axes::{Axis, AxisSpec, Limits, Unit};
use bentpipe_plot::font;
use bentpipe_plot::scene::{
    Anchor, Area, Color, Element, Point, Scene, Shape, Stroke, Text, Weight,
};
use data::{Series, series};
use map::{Map, SIZE};
use std::collections::BTreeSet;

/// In px.
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 18.0;
const GAP: f64 = 16.0;
/// The panels: sequence; outstanding data and window; throughput; round-trip time.
const HEIGHTS: [f64; 4] = [380.0, 120.0, 120.0, 120.0];
/// A heading's line.
const LINE: f64 = 20.0;
/// More columns than this are too narrow.
pub const COLUMNS_MAX: usize = 4;

const DATA: Color = Color(0x24, 0x29, 0x2f);
const ACKNOWLEDGED: Color = Color(0x00, 0x9e, 0x73);
const WINDOW: Color = Color(0xb5, 0x89, 0x00);
const SACKED: Color = Color(0x7b, 0x3f, 0xb5);
const CONTROL: Color = Color(0xd5, 0x5e, 0x00);
/// What the legend has besides classes of causes.
const LEGEND: [(&str, Color); 4] = [
    ("acknowledged", ACKNOWLEDGED),
    ("window", WINDOW),
    ("SACK", SACKED),
    ("SYN, FIN, RST", CONTROL),
];

/// A connection of a figure: what one direction sent.
pub(super) struct Column<'a> {
    /// What to call it.
    pub(super) name: String,
    pub(super) connection: &'a Connection,
    pub(super) analysis: &'a Analysis,
    pub(super) direction: Direction,
}

/// The scene of these connections, side by side, each from its beginning.
pub(super) fn scene(columns: &[Column<'_>]) -> Scene {
    let all: Vec<Series> =
        columns.iter().map(|it| series(it.connection, it.analysis, it.direction)).collect();
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    let width = column_width(columns.len());
    let left = |column: usize| LEFT + (width + GAP) * column as f64;
    let mut elements = Vec::new();
    let mut y = 4.0;
    let lines = headings(&names, width, left);
    y += LINE * lines.iter().map(Vec::len).max().unwrap_or(0) as f64;
    elements.extend(lines.into_iter().flatten().map(Element::Text));
    y += 22.0;
    elements.push(legend(y, &all));
    y += 20.0;
    let times = |(time, _): &(f64, f64)| *time;
    let all_times =
        all.iter().flat_map(|series| series.outstanding.iter().chain(&series.acknowledged));
    let x = axis("time", Unit::Seconds, false, all_times.map(times));
    for (number, height) in HEIGHTS.into_iter().enumerate() {
        let areas = (0..columns.len()).map(|column| Area { x: left(column), y, width, height });
        elements.extend(row(number, areas, &x, &all));
        y += height + GAP;
    }
    let bottom = y - GAP;
    elements.push(Element::Text(
        Text::new(Point::new(LEFT + (WIDTH - LEFT - RIGHT) / 2.0, bottom + 34.0), &x.title, SIZE)
            .anchored(Anchor::Middle),
    ));
    let height = bottom + 44.0;
    let area = Area { x: 0.0, y: 0.0, width: WIDTH, height };
    elements.insert(0, Element::Rect { area, fill: Some(Color::WHITE), stroke: None });
    let about = "Sequence numbers, outstanding data and window, throughput and round-trip time over time; \
                 data in the colors of its causes, recorded or inferred";
    let title = names.join("; ");
    Scene { width: WIDTH, height, title, about: about.to_owned(), elements }
}

/// Of each of so many columns.
fn column_width(columns: usize) -> f64 {
    let gaps = columns.saturating_sub(1) as f64;
    (WIDTH - LEFT - RIGHT - gaps * GAP) / columns.max(1) as f64
}

/// The lines over each column; one alone has one line over the whole width.
fn headings(names: &[&str], width: f64, left: impl Fn(usize) -> f64) -> Vec<Vec<Text>> {
    let alone = names.len() == 1;
    let (size, width) = if alone { (15.0, WIDTH - 2.0 * RIGHT) } else { (13.0, width) };
    let lines = |(column, name): (usize, &&str)| {
        let x = if alone { RIGHT } else { left(column) };
        let lines = font::wrap(name, size, Weight::Bold, width);
        let lines = lines.into_iter().take(if alone { 1 } else { 3 }).enumerate();
        let text = |(number, line): (usize, String)| {
            Text::new(Point::new(x, LINE * (number + 1) as f64), line, size).bold()
        };
        lines.map(text).collect()
    };
    names.iter().enumerate().map(lines).collect()
}

fn axis(label: &str, unit: Unit, zero: bool, values: impl IntoIterator<Item = f64>) -> Axis {
    let limits = Limits { zero, ..Limits::default() };
    Axis::new(&AxisSpec { label: label.to_owned(), unit, limits, ..AxisSpec::default() }, values)
}

fn legend(y: f64, all: &[Series]) -> Element {
    let mut x = RIGHT;
    let mut elements = Vec::new();
    let classes: BTreeSet<Class> =
        all.iter().flat_map(|series| series.data.keys()).copied().collect();
    let classes = classes.into_iter().map(|class| (class.name(), color(class)));
    for (name, color) in classes.chain(LEGEND) {
        let width = 21.0 + font::width(name, SIZE, Weight::Regular) + 16.0;
        if x + width > WIDTH {
            break;
        }
        let stroke = Stroke::new(color, 3.0);
        elements.push(Element::Line {
            from: Point::new(x, y - 4.0),
            to: Point::new(x + 16.0, y - 4.0),
            stroke,
        });
        elements.push(Element::Text(Text::new(Point::new(x + 21.0, y), name, SIZE)));
        x += width;
    }
    Element::Group { name: "legend".to_owned(), clip: None, elements }
}

/// The color of a class: six hexadecimal digits behind a `#`.
fn color(class: Class) -> Color {
    let digits = u32::from_str_radix(class.color().trim_start_matches('#'), 16).unwrap_or(0);
    let [_, red, green, blue] = digits.to_be_bytes();
    Color(red, green, blue)
}

/// One panel of each connection, over the same axes.
fn row(
    number: usize,
    areas: impl Iterator<Item = Area>,
    x: &Axis,
    all: &[Series],
) -> impl Iterator<Item = Element> {
    let (name, y) = vertical(number, all);
    let panels = areas.zip(all).enumerate();
    panels.map(move |(column, (area, series))| {
        let map = Map { area, x, y: &y };
        let mut elements = map.frame(column == 0, number + 1 == HEIGHTS.len());
        let data = Element::Group {
            name: "data".to_owned(),
            clip: Some(area),
            elements: marks(number, &map, series),
        };
        elements.push(data);
        Element::Group { name: name.to_owned(), clip: None, elements }
    })
}

/// A panel's name, and its vertical axis.
fn vertical(number: usize, all: &[Series]) -> (&'static str, Axis) {
    let second = |points: fn(&Series) -> &Vec<(f64, f64)>| {
        all.iter().flat_map(move |series| points(series).iter().map(|&(_, value)| value))
    };
    match number {
        0 => {
            let spans = all.iter().flat_map(|series| series.data.values().flatten());
            let mut values: Vec<f64> = spans.flat_map(|&(_, low, high)| [low, high]).collect();
            values.extend(second(|series| &series.acknowledged));
            ("sequence", axis("sequence", Unit::Bytes, false, values))
        }
        1 => {
            let values = second(|series| &series.outstanding);
            ("outstanding", axis("outstanding", Unit::Bytes, true, values))
        }
        2 => {
            let values = second(|series| &series.throughput);
            ("throughput", axis("throughput", Unit::BitsPerSecond, true, values))
        }
        _ => {
            let values = second(|series| &series.round_trips);
            ("round-trip", axis("round trip", Unit::Seconds, true, values))
        }
    }
}

/// What a panel shows of a connection.
fn marks(number: usize, map: &Map<'_>, series: &Series) -> Vec<Element> {
    let thin = |color| Stroke::new(color, 1.0);
    match number {
        0 => {
            let mut elements = vec![
                map.steps("window", &series.edge, thin(WINDOW)),
                map.steps("acknowledged", &series.acknowledged, thin(ACKNOWLEDGED)),
                map.spans("sacked", &series.sacked, thin(SACKED)),
            ];
            for (&class, spans) in &series.data {
                let again = class.kind() == ClassKind::Again;
                let name = if again { "retransmitted" } else { "sent" };
                let width = if again { 1.8 } else { 1.0 };
                elements.push(map.spans(name, spans, Stroke::new(color(class), width)));
                // One letter: a still figure has no room for more.
                if let Some(letter) = class.label().get(..1) {
                    elements.push(map.names(spans, letter, color(class)));
                }
            }
            elements.push(map.points("controls", &series.controls, Shape::Square, 5.0, CONTROL));
            elements
        }
        1 => vec![
            map.steps("window", &series.window, thin(WINDOW)),
            map.steps("outstanding", &series.outstanding, thin(DATA)),
        ],
        2 => vec![map.steps("throughput", &series.throughput, thin(DATA))],
        _ => vec![map.points("round-trips", &series.round_trips, Shape::Dot, 2.5, DATA)],
    }
}
