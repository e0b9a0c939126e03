//! The figure of a connection at two or three places: delays, backlog and losses.

use super::figure::map::{Map, SIZE};
use bentpipe_capture::pair::telling::Common;
use bentpipe_capture::pair::{Hop, Way};
use bentpipe_plot::axes::{Axis, AxisSpec, Limits, Unit};
use bentpipe_plot::font;
use bentpipe_plot::palette;
use bentpipe_plot::scene::{
    Anchor, Area, Color, Element, Point, Scene, Shape, Stroke, Text, Weight,
};

/// In px.
const WIDTH: f64 = 1000.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 18.0;
const GAP: f64 = 16.0;
const LINE: f64 = 20.0;
/// The panels: delay, backlog, losses.
const PANELS: [(&str, &str, Unit, f64); 3] = [
    ("delay", "delay above the least", Unit::Seconds, 260.0),
    ("backlog", "backlog", Unit::Bytes, 160.0),
    ("losses", "lost in all", Unit::Bytes, 120.0),
];
/// A loss's tick, in px.
const TICK: f64 = 9.0;

/// A direction between two places.
struct Curve {
    name: String,
    color: Color,
    delays: Vec<(f64, f64)>,
    backlog: Vec<(f64, f64)>,
    lost: Vec<(f64, f64)>,
    losses: Vec<f64>,
}

/// Draws what happened to a connection between the files of these names.
#[must_use]
pub fn matched(names: &[&str], common: &Common<'_>) -> Scene {
    let curves = curves(names, common);
    let ends = common.connections[0].ends;
    let title = format!("{} > {}, {}", ends[0], ends[1], names.join(" – "));
    let mut elements = Vec::new();
    let mut y = 4.0;
    for line in font::wrap(&title, 15.0, Weight::Bold, WIDTH - 2.0 * RIGHT) {
        y += LINE;
        elements.push(Element::Text(Text::new(Point::new(RIGHT, y), line, 15.0).bold()));
    }
    for curve in &curves {
        y += LINE;
        let (from, to) = (Point::new(RIGHT, y - 4.0), Point::new(RIGHT + 16.0, y - 4.0));
        elements.push(Element::Line { from, to, stroke: Stroke::new(curve.color, 3.0) });
        elements.push(Element::Text(Text::new(Point::new(RIGHT + 21.0, y), &*curve.name, SIZE)));
    }
    y += GAP;
    let times = curves.iter().flat_map(|curve| curve.points().map(|point| point.0));
    let x = axis("time", Unit::Seconds, times);
    for (number, (name, label, unit, height)) in PANELS.into_iter().enumerate() {
        let area = Area { x: LEFT, y, width: WIDTH - LEFT - RIGHT, height };
        let values = curves.iter().flat_map(|curve| curve.panel(number).iter().map(|it| it.1));
        let vertical = axis(label, unit, values.chain([0.0]));
        let map = Map { area, x: &x, y: &vertical };
        let mut panel = map.frame(true, number + 1 == PANELS.len(), false);
        let marks = curves.iter().flat_map(|curve| marks(number, &map, curve)).collect();
        panel.push(Element::Group { name: "data".to_owned(), clip: Some(area), elements: marks });
        if curves.iter().all(|curve| curve.panel(number).is_empty()) {
            let middle = Point::new(area.center().x, area.center().y);
            panel.push(Element::Text(Text::new(middle, "none", SIZE).anchored(Anchor::Middle)));
        }
        elements.push(Element::Group { name: name.to_owned(), clip: None, elements: panel });
        y += height + GAP;
    }
    let below = Point::new(LEFT + (WIDTH - LEFT - RIGHT) / 2.0, y - GAP + 34.0);
    elements.push(Element::Text(Text::new(below, &x.title, SIZE).anchored(Anchor::Middle)));
    let height = y - GAP + 44.0;
    let area = Area { x: 0.0, y: 0.0, width: WIDTH, height };
    elements.insert(0, Element::Rect { area, fill: Some(Color::WHITE), stroke: None });
    let about = "Delay above the least one, with losses as ticks at the top; bytes that are later than at the least \
                 delay; bytes lost so far; over the time of the first place's clock";
    Scene { width: WIDTH, height, title, about: about.to_owned(), elements }
}

fn axis(label: &str, unit: Unit, values: impl IntoIterator<Item = f64>) -> Axis {
    let limits = Limits { zero: true, ..Limits::default() };
    Axis::new(&AxisSpec { label: label.to_owned(), unit, limits, ..AxisSpec::default() }, values)
}

/// Of neighbors, each direction with data; of one without, its delays only.
fn curves(names: &[&str], common: &Common<'_>) -> Vec<Curve> {
    let neighbors = common.hops.iter().filter(|([from, to], _)| to - from == 1);
    let begin = common.hops.first().map_or(0, |(_, hop)| hop.begin);
    let ways =
        neighbors.flat_map(|(places, hop)| hop.ways.iter().map(move |way| (places, hop, way)));
    let all: Vec<_> = ways.filter(|(_, _, way)| !way.samples.is_empty()).collect();
    let curve = |(style, (places, hop, way)): (usize, &(&[usize; 2], &Hop, &Way))| {
        let [up, down] = way.places.map(|place| names[places[place]]);
        let sender = common.connections[0].ends[way.direction.index()];
        let compared = hop.basis.name();
        // The clocks of other hops begin elsewhere: each is drawn from its own beginning.
        let since = |at: i64| {
            at.saturating_sub(if places[0] == 0 { begin } else { hop.begin }) as f64 / 1e9
        };
        let mut sum = 0;
        let mut lost = Vec::new();
        for loss in way.losses.iter().filter(|loss| loss.lost.bytes > 0) {
            if lost.is_empty() {
                lost.push((0.0, 0.0));
            }
            sum += loss.lost.bytes;
            lost.push((since(loss.at), sum as f64));
        }
        let end = way.samples.iter().map(|sample| since(sample.at)).fold(0.0, f64::max);
        if let Some(&(last, sum)) = lost.last() {
            lost.push((end.max(last), sum));
        }
        Curve {
            name: format!("sent by {sender}, from {up} to {down}, by {compared}"),
            color: palette::style(style % palette::MAX).color,
            delays: way
                .samples
                .iter()
                .map(|&one| (since(one.at), hop.clock.above(way.direction, one) as f64 / 1e9))
                .collect(),
            backlog: way
                .backlog
                .values
                .iter()
                .map(|&(at, bytes)| (since(at), bytes as f64))
                .collect(),
            losses: way.losses.iter().map(|loss| since(loss.at)).collect(),
            lost,
        }
    };
    all.iter().enumerate().map(curve).collect()
}

impl Curve {
    fn panel(&self, number: usize) -> &[(f64, f64)] {
        match number {
            0 => &self.delays,
            1 => &self.backlog,
            _ => &self.lost,
        }
    }

    fn points(&self) -> impl Iterator<Item = &(f64, f64)> {
        self.delays.iter().chain(&self.backlog).chain(&self.lost)
    }
}

/// What a panel shows of a direction.
fn marks(number: usize, map: &Map<'_>, curve: &Curve) -> Vec<Element> {
    let stroke = Stroke::new(curve.color, 1.2);
    match number {
        0 => {
            let points = map.points("delays", &curve.delays, Shape::Dot, 2.5, curve.color);
            let tick = |&time: &f64| {
                let x = map.point(time, 0.0).x;
                (Point::new(x, map.area.y), Point::new(x, map.area.y + TICK))
            };
            let lines = curve.losses.iter().map(tick).collect();
            vec![points, Element::Segments { lines, stroke }]
        }
        1 => vec![map.steps("backlog", &curve.backlog, stroke)],
        _ => vec![map.steps("losses", &curve.lost, stroke)],
    }
}
