//! Connections as a still figure: the page's panels and its lane of limiters. Several connections
//! are side by side, over the same axes.

mod data;
mod heading;
mod lane;
mod legend;
pub(super) mod map;

pub(super) use heading::Name;

use bentpipe_capture::{Analysis, Class, ClassKind, Connection, Direction};
use bentpipe_plot::axes::{Axis, AxisSpec, Limits, Unit};
use bentpipe_plot::scene::{Anchor, Area, Color, Element, Point, Scene, Shape, Stroke, Text};
use data::{Series, series};
use lane::lane;
use legend::{Entry, legend};
use map::{Map, SIZE, Taken};
use std::collections::BTreeSet;

/// In px.
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 18.0;
const GAP: f64 = 16.0;
/// The panels: sequence; outstanding data and window; throughput; round-trip time.
const HEIGHTS: [f64; 4] = [380.0, 120.0, 120.0, 120.0];
/// From the first panel to the lane below it.
const LANE: f64 = 5.0;
/// A heading's line.
const LINE: f64 = 20.0;
/// More columns than this are too narrow.
pub(super) const COLUMNS_MAX: usize = 4;

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
    pub(super) name: Name,
    pub(super) connection: &'a Connection,
    pub(super) analysis: &'a Analysis,
    pub(super) direction: Direction,
}

/// The scene of these connections, side by side, each from its beginning.
pub(super) fn scene(columns: &[Column<'_>]) -> Scene {
    let all: Vec<Series> =
        columns.iter().map(|it| series(it.connection, it.analysis, it.direction)).collect();
    let width = column_width(columns.len());
    let left = |column: usize| LEFT + (width + GAP) * column as f64;
    let mut elements = Vec::new();
    let mut y = 4.0;
    let lines = headings(columns, width, left);
    y += LINE * lines.iter().map(Vec::len).max().unwrap_or(0) as f64;
    elements.extend(lines.into_iter().flatten().map(Element::Text));
    y += 22.0;
    let (legend, below) = legend(entries(&all), y, RIGHT, WIDTH - RIGHT);
    elements.push(legend);
    y = below + 20.0;
    let times = |(time, _): &(f64, f64)| *time;
    let all_times =
        all.iter().flat_map(|series| series.outstanding.iter().chain(&series.acknowledged));
    let x = axis("time", Unit::Seconds, false, all_times.map(times));
    for (number, height) in HEIGHTS.into_iter().enumerate() {
        let areas = (0..columns.len()).map(|column| Area { x: left(column), y, width, height });
        elements.extend(row(number, areas, &x, &all));
        y += height + GAP;
        if number == 0 && all.iter().any(|series| !series.limits.is_empty()) {
            y -= GAP - LANE;
            let areas = (0..columns.len()).map(|column| Area {
                x: left(column),
                y,
                width,
                height: lane::HEIGHT,
            });
            elements.extend(lanes(areas, &x, &all));
            y += lane::HEIGHT + GAP;
        }
    }
    let bottom = y - GAP;
    elements.push(Element::Text(
        Text::new(Point::new(LEFT + (WIDTH - LEFT - RIGHT) / 2.0, bottom + 34.0), &x.title, SIZE)
            .anchored(Anchor::Middle),
    ));
    let height = bottom + 44.0;
    let area = Area { x: 0.0, y: 0.0, width: WIDTH, height };
    elements.insert(0, Element::Rect { area, fill: Some(Color::WHITE), stroke: None });
    let about = "Sequence numbers, limiters of the sender, outstanding data and window, throughput and round-trip time over \
                 time; data in the colors of its causes, recorded or inferred";
    let title = columns.iter().map(|it| it.name.whole()).collect::<Vec<_>>().join("; ");
    Scene { width: WIDTH, height, title, about: about.to_owned(), elements }
}

/// Of each of so many columns.
fn column_width(columns: usize) -> f64 {
    let gaps = columns.saturating_sub(1) as f64;
    (WIDTH - LEFT - RIGHT - gaps * GAP) / columns.max(1) as f64
}

/// The lines over each column; one alone has one line over the whole width.
fn headings(columns: &[Column<'_>], width: f64, left: impl Fn(usize) -> f64) -> Vec<Vec<Text>> {
    let alone = columns.len() == 1;
    let (size, width, most) = if alone { (15.0, WIDTH - 2.0 * RIGHT, 1) } else { (13.0, width, 3) };
    let lines = |(number, column): (usize, &Column<'_>)| {
        let x = if alone { RIGHT } else { left(number) };
        let lines = column.name.lines(size, width, most).into_iter().enumerate();
        let text = |(number, line): (usize, String)| {
            Text::new(Point::new(x, LINE * (number + 1) as f64), line, size).bold()
        };
        lines.map(text).collect()
    };
    columns.iter().enumerate().map(lines).collect()
}

fn axis(label: &str, unit: Unit, zero: bool, values: impl IntoIterator<Item = f64>) -> Axis {
    let limits = Limits { zero, ..Limits::default() };
    Axis::new(&AxisSpec { label: label.to_owned(), unit, limits, ..AxisSpec::default() }, values)
}

/// The legend's entries for what there is.
fn entries(all: &[Series]) -> Vec<Entry> {
    let line = |name: &str, color| Entry { name: name.to_owned(), color, filled: false };
    let classes: BTreeSet<Class> =
        all.iter().flat_map(|series| series.data.keys()).copied().collect();
    let classes = classes.into_iter().map(|class| line(class.name(), color(class.color())));
    let lines = LEGEND.into_iter().map(|(name, color)| line(name, color));
    let mut limiters: Vec<Entry> = Vec::new();
    for one in all.iter().flat_map(|series| &series.limits) {
        let name = format!("limited by: {}", one.name);
        if limiters.iter().all(|entry| (&entry.name, entry.color) != (&name, one.color)) {
            limiters.push(Entry { name, color: one.color, filled: true });
        }
    }
    classes.chain(lines).chain(limiters).collect()
}

/// Six hexadecimal digits behind a `#`.
fn color(html: &str) -> Color {
    let digits = u32::from_str_radix(html.trim_start_matches('#'), 16).unwrap_or(0);
    let [_, red, green, blue] = digits.to_be_bytes();
    Color(red, green, blue)
}

/// The lane of each connection, with a name at its left.
fn lanes(areas: impl Iterator<Item = Area>, x: &Axis, all: &[Series]) -> Vec<Element> {
    let mut elements = Vec::new();
    for (number, (area, series)) in areas.zip(all).enumerate() {
        if number == 0 {
            let at = Point::new(area.x - 6.0, area.y + 9.0);
            elements.push(Text::new(at, "limited by", 10.0).anchored(Anchor::End).into());
        }
        elements.push(lane(&Map { area, x, y: x }, &series.limits));
    }
    elements
}

/// One panel of each connection, over the same axes.
fn row(
    number: usize,
    areas: impl Iterator<Item = Area>,
    x: &Axis,
    all: &[Series],
) -> impl Iterator<Item = Element> {
    let (name, y) = vertical(number, all);
    let none = all.iter().all(|series| series.missing(number).is_some());
    let panels = areas.zip(all).enumerate();
    panels.map(move |(column, (area, series))| {
        let map = Map { area, x, y: &y };
        let mut elements = map.frame(column == 0, number + 1 == HEIGHTS.len(), none);
        let marks = match series.missing(number) {
            Some(words) => vec![map.words(words)],
            None => marks(number, &map, series),
        };
        elements.push(Element::Group {
            name: "data".to_owned(),
            clip: Some(area),
            elements: marks,
        });
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
            let mut taken = Taken::default();
            for (&class, spans) in &series.data {
                let color = color(class.color());
                let again = class.kind() == ClassKind::Again;
                let name = if again { "retransmitted" } else { "sent" };
                let width = if again { 1.8 } else { 1.0 };
                elements.push(map.spans(name, spans, Stroke::new(color, width)));
                // One letter: a still figure has no room for more.
                if let Some(letter) = class.label().get(..1) {
                    elements.push(map.names(spans, letter, color, &mut taken));
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
