//! Bars, and the lines over them by which they are told apart in grey.

use super::frame::Frame;
use super::{Datum, lines};
use crate::palette::{Hatch, Style};
use crate::scene::{Anchor, Area, Color, Element, Point, Stroke, Text};

/// Of a slot is left free between groups.
const GAP: f64 = 0.24;

/// From one line over a bar to the next, in px.
const HATCH: f64 = 6.0;

/// The size of texts over bars, in px.
const LABEL: f64 = 10.5;

/// The position of a bar among those that stand side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BarPosition {
    pub(super) index: usize,
    pub(super) of: usize,
}

impl BarPosition {
    /// The width of each, and how far its center is to the right of the middle.
    pub(super) fn within(self, slot: f64) -> (f64, f64) {
        let width = slot * (1.0 - GAP) / self.of.max(1) as f64;
        // A single bar need not be as wide as its slot.
        let width = width.min(90.0);
        (width, (self.index as f64 - (self.of as f64 - 1.0) / 2.0) * width)
    }
}

/// The bars of one curve.
pub(super) fn draw(
    frame: &Frame<'_>,
    points: &[Datum],
    style: Style,
    position: BarPosition,
) -> Vec<Element> {
    let (width, beside) = position.within(frame.slot());
    let base = frame.y_or_bottom(0.0);
    let mut elements = Vec::new();
    for point in points {
        let (Some(x), Some(y)) = (frame.x(point.x), frame.y(point.y)) else { continue };
        let thin = (width * 0.06).min(1.0);
        let area = Area {
            x: x + beside - width / 2.0 + thin / 2.0,
            y: y.min(base),
            width: width - thin,
            height: (y - base).abs(),
        };
        elements.extend(patch(area, style));
    }
    let dark = Style { color: Color::TEXT, ..style };
    elements.push(lines::errors(frame, points, dark, beside));
    elements
}

/// Texts over the bars of one curve.
pub(super) fn labels(
    frame: &Frame<'_>,
    points: &[Datum],
    labels: &[String],
    position: BarPosition,
) -> Vec<Element> {
    let (_, beside) = position.within(frame.slot());
    let label = |(point, label): (&Datum, &String)| {
        let at = Point::new(frame.x(point.x)? + beside, frame.y(point.y)? - 4.0);
        Some(Text::new(at, label, LABEL).anchored(Anchor::Middle).into())
    };
    points.iter().zip(labels).filter_map(label).collect()
}

/// A rectangle in a style.
pub(crate) fn patch(area: Area, style: Style) -> [Element; 3] {
    let lines = hatch(area, style.hatch);
    [
        Element::Rect { area, fill: Some(style.color), stroke: None },
        Element::Segments { lines, stroke: Stroke::new(Color::WHITE, 1.2) },
        Element::Rect { area, fill: None, stroke: Some(Stroke::new(Color::TEXT, 0.6)) },
    ]
}

fn hatch(area: Area, hatch: Hatch) -> Vec<(Point, Point)> {
    match hatch {
        Hatch::Plain => Vec::new(),
        Hatch::Rising => diagonals(area, false),
        Hatch::Falling => diagonals(area, true),
        Hatch::Crossed => [diagonals(area, false), diagonals(area, true)].concat(),
        Hatch::Level => {
            let count = (area.height / HATCH) as u32;
            let at = (1..=count).map(|line| area.bottom() - f64::from(line) * HATCH);
            at.map(|y| (Point::new(area.x, y), Point::new(area.right(), y))).collect()
        }
    }
}

/// Lines at 45 degrees, cut off at the borders; mirrored if they fall.
fn diagonals(area: Area, falling: bool) -> Vec<(Point, Point)> {
    let Area { x, width, height, .. } = area;
    let count = ((width + height) / HATCH) as u32;
    let line = |index: u32| {
        // On it x + y is this, from the lower left corner.
        let sum = f64::from(index) * HATCH;
        let (left, right) = ((sum - height).max(0.0), sum.min(width));
        // One runs up to the left from there: `sum − left` high at its left end.
        let position = |along: f64| {
            let up = sum - along;
            let along = if falling { along } else { width - along };
            Point::new(x + along, area.bottom() - up)
        };
        (position(left), position(right))
    };
    (1..=count).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hatches_stay_within_their_bar() {
        for (width, height) in [(10.0, 100.0), (80.0, 7.0), (3.0, 0.0)] {
            let area = Area { x: 5.0, y: 7.0, width, height };
            for kind in [Hatch::Rising, Hatch::Falling, Hatch::Crossed, Hatch::Level] {
                for (from, to) in hatch(area, kind) {
                    let around = area.grown(1e-6);
                    assert!(
                        around.has(from) && around.has(to),
                        "{kind:?} {area:?} {from:?} {to:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn bars_of_one_place_do_not_overlap() {
        let slot = 100.0;
        let mut end = -slot / 2.0;
        for index in 0..4 {
            let (width, beside) = BarPosition { index, of: 4 }.within(slot);
            assert!(beside - width / 2.0 >= end - 1e-9);
            end = beside + width / 2.0;
        }
        assert!(end < slot / 2.0);
    }
}
