//! A connection as a still figure: the same four panels as on the page.

use bentpipe_capture::{Analysis, Class, Connection, Direction, Fact, Flags, Kind, Segment};
use bentpipe_plot::axes::{Axis, AxisSpec, Limits, Unit};
use bentpipe_plot::font;
use bentpipe_plot::scene::{
    Anchor, Area, Color, Element, Point, Scene, Shape, Stroke, Text, Weight,
};
use std::collections::{BTreeMap, BTreeSet};

/// In px.
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 66.0;
const GAP: f64 = 16.0;
const SIZE: f64 = 12.0;
/// The panels: sequence; outstanding data and window; throughput; round-trip time.
const HEIGHTS: [f64; 4] = [380.0, 120.0, 120.0, 120.0];
/// Marks are joined where they are nearer to each other.
const COLUMN: f64 = 0.5;

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

/// What is drawn, by the time of each.
#[derive(Default)]
struct Series {
    /// Data by its class: time, begin, end.
    data: BTreeMap<Class, Vec<(f64, f64, f64)>>,
    sacked: Vec<(f64, f64, f64)>,
    controls: Vec<(f64, f64)>,
    acknowledged: Vec<(f64, f64)>,
    edge: Vec<(f64, f64)>,
    outstanding: Vec<(f64, f64)>,
    window: Vec<(f64, f64)>,
    round_trips: Vec<(f64, f64)>,
    throughput: Vec<(f64, f64)>,
}

/// The scene of what one direction sent.
pub(super) fn scene(
    file: &str,
    connection: &Connection,
    analysis: &Analysis,
    direction: Direction,
) -> Scene {
    let series = series(connection, analysis, direction);
    let [from, to] =
        [direction, direction.reverse()].map(|end| connection.ends[end.index()].to_string());
    let title = format!("{file} #{}: {from} → {to}", connection.number);
    let height = TOP + HEIGHTS.iter().sum::<f64>() + 3.0 * GAP + 44.0;
    let mut elements = vec![Element::Rect {
        area: Area { x: 0.0, y: 0.0, width: WIDTH, height },
        fill: Some(Color::WHITE),
        stroke: None,
    }];
    let mut y = 24.0;
    for line in font::wrap(&title, 15.0, Weight::Bold, WIDTH - 2.0 * RIGHT).iter().take(1) {
        elements.push(Element::Text(Text::new(Point::new(RIGHT, y), line, 15.0).bold()));
    }
    y += 22.0;
    elements.push(legend(y, &series));
    let times = |(time, _): &(f64, f64)| *time;
    let all_times =
        series.outstanding.iter().map(times).chain(series.acknowledged.iter().map(times));
    let x = axis("time", Unit::Seconds, false, all_times);
    y = TOP;
    for (number, height) in HEIGHTS.into_iter().enumerate() {
        let area = Area { x: LEFT, y, width: WIDTH - LEFT - RIGHT, height };
        elements.push(panel(number, area, &x, &series));
        y += height + GAP;
    }
    let bottom = y - GAP;
    elements.push(Element::Text(
        Text::new(Point::new(LEFT + (WIDTH - LEFT - RIGHT) / 2.0, bottom + 34.0), &x.title, SIZE)
            .anchored(Anchor::Middle),
    ));
    let about = "Sequence numbers, outstanding data and window, throughput and round-trip time over time; \
                 data in the colors of its causes, recorded or inferred";
    Scene { width: WIDTH, height, title, about: about.to_owned(), elements }
}

fn series(connection: &Connection, analysis: &Analysis, direction: Direction) -> Series {
    let mut series = Series::default();
    let first = connection.segments.first().map_or(0, |segment| segment.at);
    let duration = (connection.duration() as f64 / 1e9).max(1e-6);
    let mut bins = vec![0.0; 200];
    for (index, (segment, fact)) in connection.segments.iter().zip(&analysis.facts).enumerate() {
        let time = segment.at.saturating_sub(first) as f64 / 1e9;
        series.outstanding.push((time, fact.outstanding[direction.index()] as f64));
        if segment.direction == direction {
            series.sends(time, segment, fact);
            let bin = (time / duration * 200.0).clamp(0.0, 199.0) as usize;
            bins[bin] += f64::from(segment.len) * 8.0;
        } else if let Some(ack) = fact.ack {
            series.answers(time, ack, fact, analysis.sacks_of(index));
        }
    }
    let width = duration / 200.0;
    let bins = bins.into_iter().enumerate();
    series.throughput = bins.map(|(bin, bits)| (bin as f64 * width, bits / width)).collect();
    series
}

impl Series {
    fn sends(&mut self, time: f64, segment: &Segment, fact: &Fact) {
        let (begin, end) = (fact.seq as f64, fact.seq as f64 + f64::from(segment.len));
        if let Some(class) = Class::of(segment, fact).filter(|class| class.kind() != Kind::Ack) {
            self.data.entry(class).or_default().push((time, begin, end));
        }
        if segment.flags.any(&[Flags::SYN, Flags::FIN, Flags::RST]) {
            self.controls.push((time, end));
        }
    }

    fn answers(&mut self, time: f64, ack: i64, fact: &Fact, sacks: &[(i64, i64)]) {
        self.acknowledged.push((time, ack as f64));
        if let Some(window) = fact.window {
            self.edge.push((time, ack as f64 + window as f64));
            self.window.push((time, window as f64));
        }
        if let Some(nanos) = fact.round_trip {
            self.round_trips.push((time, nanos as f64 / 1e9));
        }
        self.sacked.extend(sacks.iter().map(|&(left, right)| (time, left as f64, right as f64)));
    }
}

fn axis(label: &str, unit: Unit, zero: bool, values: impl IntoIterator<Item = f64>) -> Axis {
    let limits = Limits { zero, ..Limits::default() };
    Axis::new(&AxisSpec { label: label.to_owned(), unit, limits, ..AxisSpec::default() }, values)
}

fn legend(y: f64, series: &Series) -> Element {
    let mut x = RIGHT;
    let mut elements = Vec::new();
    let classes = series.data.keys().map(|class| (class.name(), color(*class)));
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

/// One panel with its data.
fn panel(number: usize, area: Area, x: &Axis, series: &Series) -> Element {
    let second = |points: &[(f64, f64)]| points.iter().map(|&(_, value)| value).collect::<Vec<_>>();
    let (name, y) = match number {
        0 => {
            let spans = series.data.values().flatten();
            let mut values: Vec<f64> = spans.flat_map(|&(_, low, high)| [low, high]).collect();
            values.extend(series.acknowledged.iter().map(|&(_, ack)| ack));
            ("sequence", axis("sequence", Unit::Bytes, false, values))
        }
        1 => ("outstanding", axis("outstanding", Unit::Bytes, true, second(&series.outstanding))),
        2 => {
            let values = second(&series.throughput);
            ("throughput", axis("throughput", Unit::BitsPerSecond, true, values))
        }
        _ => {
            let values = second(&series.round_trips);
            ("round-trip", axis("round trip", Unit::Seconds, true, values))
        }
    };
    let map = Map { area, x, y: &y };
    let thin = |color| Stroke::new(color, 1.0);
    let inside = match number {
        0 => {
            let mut elements = vec![
                map.steps("window", &series.edge, thin(WINDOW)),
                map.steps("acknowledged", &series.acknowledged, thin(ACKNOWLEDGED)),
                map.spans("sacked", &series.sacked, thin(SACKED)),
            ];
            for (&class, spans) in &series.data {
                let again = class.kind() == Kind::Again;
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
    };
    let mut elements = map.frame(number + 1 == HEIGHTS.len());
    elements.push(Element::Group { name: "data".to_owned(), clip: Some(area), elements: inside });
    Element::Group { name: name.to_owned(), clip: None, elements }
}

/// Where values are in a panel.
struct Map<'a> {
    area: Area,
    x: &'a Axis,
    y: &'a Axis,
}

impl Map<'_> {
    fn point(&self, time: f64, value: f64) -> Point {
        // What is far outside is clipped; a picture needs no larger numbers.
        let place = |axis: &Axis, value| axis.scale.place(value).unwrap_or(0.0).clamp(-9.0, 9.0);
        Point::new(
            self.area.x + place(self.x, time) * self.area.width,
            self.area.y + (1.0 - place(self.y, value)) * self.area.height,
        )
    }

    /// Border, grid, ticks, title.
    fn frame(&self, last: bool) -> Vec<Element> {
        let Area { x, y, width, height } = self.area;
        let (right, bottom) = (x + width, y + height);
        let grid = Stroke::new(Color::GRID, 1.0);
        let mut lines = Vec::new();
        let mut texts = Vec::new();
        for tick in self.y.ticks((height / 34.0) as usize) {
            let at = self.point(0.0, tick.value).y;
            lines.push((Point::new(x, at), Point::new(right, at)));
            let text = Text::new(Point::new(x - 6.0, at + 4.0), tick.text, SIZE);
            texts.push(Element::Text(text.anchored(Anchor::End)));
        }
        for tick in self.x.ticks((width / 90.0) as usize) {
            let at = self.point(tick.value, 0.0).x;
            lines.push((Point::new(at, y), Point::new(at, bottom)));
            if last {
                let text = Text::new(Point::new(at, bottom + 16.0), tick.text, SIZE);
                texts.push(Element::Text(text.anchored(Anchor::Middle)));
            }
        }
        let mut title = Text::new(Point::new(16.0, y + height / 2.0), &self.y.title, SIZE)
            .anchored(Anchor::Middle);
        title.rotation = -90.0;
        texts.push(Element::Text(title));
        let border = Some(Stroke::new(Color::AXIS, 1.0));
        let mut elements = vec![
            Element::Segments { lines, stroke: grid },
            Element::Rect { area: self.area, fill: None, stroke: border },
        ];
        elements.append(&mut texts);
        elements
    }

    /// Values that hold until the next one.
    fn steps(&self, name: &str, values: &[(f64, f64)], stroke: Stroke) -> Element {
        let points = steps(values.iter().map(|&(time, value)| self.point(time, value)));
        let elements = vec![Element::Polyline { points, stroke }];
        Element::Group { name: name.to_owned(), clip: None, elements }
    }

    /// Ranges of the stream at a time.
    fn spans(&self, name: &str, spans: &[(f64, f64, f64)], stroke: Stroke) -> Element {
        let mut lines: Vec<(Point, Point)> = Vec::new();
        for &(time, begin, end) in spans {
            let (low, high) = (self.point(time, begin), self.point(time, end));
            match lines.last_mut() {
                Some((from, to))
                    if low.x - from.x < COLUMN && low.y >= to.y - 1.0 && high.y <= from.y + 1.0 =>
                {
                    from.y = from.y.max(low.y);
                    to.y = to.y.min(high.y);
                }
                _ => lines.push((low, Point::new(high.x, high.y.min(low.y - 1.0)))),
            }
        }
        let elements = vec![Element::Segments { lines, stroke }];
        Element::Group { name: name.to_owned(), clip: None, elements }
    }

    /// A letter at each, unless they would cover each other.
    fn names(&self, spans: &[(f64, f64, f64)], letter: &str, color: Color) -> Element {
        let mut last: Option<Point> = None;
        let mut elements = Vec::new();
        for &(time, _, end) in spans {
            let at = self.point(time, end);
            if last.is_some_and(|last| (last.x - at.x).abs() < 10.0 && (last.y - at.y).abs() < 12.0)
            {
                continue;
            }
            last = Some(at);
            let mut text = Text::new(Point::new(at.x, at.y - 3.0), letter, 10.0);
            text = text.anchored(Anchor::Middle);
            text.color = color;
            elements.push(Element::Text(text));
        }
        Element::Group { name: "names".to_owned(), clip: None, elements }
    }

    fn points(
        &self,
        name: &str,
        values: &[(f64, f64)],
        shape: Shape,
        size: f64,
        color: Color,
    ) -> Element {
        let mut taken = BTreeSet::new();
        let places = values.iter().map(|&(time, value)| self.point(time, value));
        // One at each place is enough.
        let fresh =
            |point: &Point| taken.insert(((point.x / COLUMN) as i64, (point.y / COLUMN) as i64));
        let at = places.filter(fresh).collect();
        let elements = vec![Element::Markers { shape, at, size, color }];
        Element::Group { name: name.to_owned(), clip: None, elements }
    }
}

/// The corners of a line that stays at each point's height until the next one. Of the points within a column only
/// those that go beyond the others are seen, and the last, which is what the line goes on with.
fn steps(values: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    let mut column: Option<(f64, f64, f64)> = None;
    let mut last: Option<Point> = None;
    for point in values {
        let Point { x, y } = point;
        if let Some((begin, low, high)) = column.filter(|&(begin, ..)| x - begin < COLUMN) {
            if y < low || y > high {
                points.push(point);
            }
            column = Some((begin, low.min(y), high.max(y)));
        } else {
            points.extend(last.filter(|last| points.last() != Some(last)));
            let before = last.map_or(y, |last| last.y);
            if before != y || points.is_empty() {
                points.push(Point::new(x, before));
                points.push(point);
            }
            column = Some((x, before.min(y), before.max(y)));
        }
        last = Some(point);
    }
    points.extend(last.filter(|last| points.last() != Some(last)));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_with_a_columns_last_value() {
        // Up to 20 and down to 1 within a column, and nothing until x is 100.
        let up_and_down = [(0.0, 0.0), (10.0, 20.0), (10.1, 9.0), (10.2, 1.0), (100.0, 1.0)];
        let points = steps(up_and_down.into_iter().map(|(x, y)| Point::new(x, y)));
        let peak = points.iter().position(|point| point.y == 20.0).unwrap();
        assert!(
            points[peak + 1..].iter().all(|point| point.x < 11.0 || point.y == 1.0),
            "{points:?}"
        );
        assert_eq!(points.last(), Some(&Point::new(100.0, 1.0)));
        // 9 lies between: it is not seen.
        assert!(points.iter().all(|point| point.y != 9.0), "{points:?}");
    }
}
