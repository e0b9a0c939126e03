//! Every measured number with its interval on one axis, in units of what is accepted.

use super::Report;
use super::score::ClaimClass;
use crate::catalogue::{Accepted, Catalogue, Paper};
use crate::verdict::{Finding, Verdict};
use bentpipe_plot::scene::{
    Anchor, Area, Color, Element, Point, Scene, Shape, Stroke, Text, Weight,
};
use bentpipe_plot::svg;

/// The picture's name in a report's folder.
pub(super) const FILE: &str = "numbers.svg";

/// The axis' length on either side. Farther numbers stand at its end.
const REACH: f64 = 3.0;
/// Heights of rows, in px: of a number that is as accepted, and of one that has a name.
const THIN: f64 = 2.5;
const NAMED: f64 = 15.0;
const WIDTH: f64 = 860.0;
const LEFT: f64 = 400.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 40.0;
const SIZE: f64 = 11.0;
const ACCEPTED: Color = Color(0xdd, 0xee, 0xe6);
const GOOD: Color = Color(0x00, 0x68, 0x4a);
const OPEN: Color = Color(0x8a, 0x6d, 0x00);
const BAD: Color = Color(0xa8, 0x32, 0x00);

struct Row {
    label: String,
    at: f64,
    low: f64,
    high: f64,
    verdict: Verdict,
}

/// The position of a value: from -1 to 1 within what is accepted. Beyond an end it is the distance
/// in units of that end; within a range of one end it nears the other side the farther it is.
fn position(accepted: &Accepted, value: f64) -> f64 {
    let (min, max) = (accepted.min, accepted.max);
    let distance = |end: f64| (value - end).abs() / if end == 0.0 { 1.0 } else { end.abs() };
    let inside = |distance: f64| 2.0 * distance / (1.0 + distance);
    let place = match (min.is_finite(), max.is_finite()) {
        (true, true) if max > min => (value - (min + max) / 2.0) / ((max - min) / 2.0),
        _ if value < min => -1.0 - distance(min),
        _ if value > max => 1.0 + distance(max),
        (true, true) => 0.0,
        (true, false) => -1.0 + inside(distance(min)),
        (false, _) => 1.0 - inside(distance(max)),
    };
    place.clamp(-REACH, REACH)
}

fn rows(catalogue: &Catalogue, report: &Report) -> Vec<Row> {
    let claims = catalogue.papers.iter().flat_map(Paper::claims);
    let measured = claims.filter(|claim| {
        let class = claim.class();
        claim.counts()
            && matches!(class, ClaimClass::Measured | ClaimClass::Calibrated)
            && claim.counted_with().is_none()
    });
    let of_claim = |id: &str| {
        let findings = report.judged(id).map(|judged| judged.findings.clone()).unwrap_or_default();
        let id = id.to_owned();
        findings.into_iter().map(move |finding| row(&id, &finding))
    };
    let mut rows: Vec<Row> = measured.flat_map(|claim| of_claim(claim.id)).collect();
    rows.sort_by(|a, b| b.at.total_cmp(&a.at).then_with(|| a.label.cmp(&b.label)));
    rows
}

fn row(id: &str, finding: &Finding) -> Row {
    let Finding { name, found, half_width, accepted, verdict, .. } = finding;
    let at = |value: f64| if value.is_finite() { position(accepted, value) } else { -REACH };
    Row {
        label: format!("{id} {name}"),
        at: at(*found),
        low: at(found - half_width),
        high: at(found + half_width),
        verdict: *verdict,
    }
}

/// The picture.
pub(super) fn svg(catalogue: &Catalogue, report: &Report) -> String {
    svg::write(&scene(&rows(catalogue, report)))
}

fn height(row: &Row) -> f64 {
    if row.verdict == Verdict::Reproduced { THIN } else { NAMED }
}

fn x(at: f64) -> f64 {
    LEFT + (at + REACH) / (2.0 * REACH) * (WIDTH - LEFT - RIGHT)
}

/// The intervals and marks of the rows with this verdict: one path each, as there are hundreds.
fn marks(rows: &[Row], verdict: Verdict) -> [Element; 2] {
    let (mut lines, mut at) = (Vec::new(), Vec::new());
    let mut y = TOP;
    for row in rows {
        let center = y + height(row) / 2.0;
        y += height(row);
        if row.verdict == verdict {
            lines.push((Point::new(x(row.low), center), Point::new(x(row.high), center)));
            at.push(Point::new(x(row.at), center));
        }
    }
    let (shape, size, color) = match verdict {
        Verdict::Reproduced => (Shape::Dot, 2.5, GOOD),
        Verdict::InWords => (Shape::Ring, 7.0, GOOD),
        Verdict::FreeParameter | Verdict::Undecided => (Shape::Circle, 7.0, OPEN),
        Verdict::Different => (Shape::Circle, 7.0, BAD),
    };
    let stroke = Stroke::new(color, 1.0);
    [Element::Segments { lines, stroke }, Element::Markers { shape, at, size, color }]
}

fn scene(rows: &[Row]) -> Scene {
    let body: f64 = rows.iter().map(height).sum();
    let bottom = TOP + body;
    let area = Area { x: x(-1.0), y: TOP, width: x(1.0) - x(-1.0), height: body };
    let mut elements = vec![Element::Rect { area, fill: Some(ACCEPTED), stroke: None }];
    let text = |at: Point, text: &str, anchor: Anchor, weight: Weight| {
        let (text, color) = (text.to_owned(), Color::TEXT);
        Element::Text(Text { at, text, size: SIZE, anchor, rotation: 0.0, weight, color })
    };
    let middle = |at: f64, y: f64, said: &str| {
        text(Point::new(x(at), y), said, Anchor::Middle, Weight::Regular)
    };
    let title = Text {
        size: 15.0,
        ..Text::new(
            Point::new(12.0, 24.0),
            "Every measured number, in units of what is accepted",
            15.0,
        )
    };
    elements.push(Element::Text(title));
    elements.push(middle(0.0, TOP - 10.0, "accepted"));
    for (at, said) in
        [(-REACH, "farther"), (-2.0, "too low"), (2.0, "too high"), (REACH, "farther")]
    {
        elements.push(middle(at, bottom + 18.0, said));
    }
    for at in [-1.0, 1.0] {
        let (from, to) = (Point::new(x(at), TOP), Point::new(x(at), bottom));
        elements.push(Element::Line { from, to, stroke: Stroke::new(Color::REFERENCE, 1.0) });
    }
    for verdict in Verdict::ALL {
        elements.extend(marks(rows, verdict));
    }
    let mut y = TOP;
    for row in rows {
        let center = y + height(row) / 2.0;
        y += height(row);
        if row.verdict != Verdict::Reproduced {
            let label = format!("{} ({})", row.label, row.verdict.words());
            let at = Point::new(12.0, center + 4.0);
            elements.push(text(at, &label, Anchor::Start, Weight::Regular));
        }
    }
    Scene {
        width: WIDTH,
        height: bottom + BOTTOM,
        title: "Every measured number in units of what is accepted".to_owned(),
        about: format!("{} numbers; those that are not as accepted have names.", rows.len()),
        elements,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(accepted: &str, value: f64) -> f64 {
        position(&accepted.parse().unwrap(), value)
    }

    #[test]
    fn what_is_accepted_lies_within_one() {
        assert_eq!((at("4 ± 2", 4.0), at("4 ± 2", 2.0), at("4 ± 2", 8.0)), (0.0, -1.0, 2.0));
        assert_eq!((at(">= 2", 2.0), at(">= 2", 1.0), at(">= 2", 4.0)), (-1.0, -1.5, 0.0));
        assert_eq!((at("<= 2", 2.0), at("<= 2", 3.0), at("<= 2", 1e9)), (1.0, 1.5, REACH));
        assert!(at(">= 2", 1e9) < 1.0 && at("<= 2", -1e9) > -1.0);
        assert_eq!((at("= 7", 7.0), at("= 7", 14.0), at("= 7", 0.0)), (0.0, 2.0, -2.0));
        assert_eq!(at("> 0", -0.5), -1.5);
    }
}
