//! Boxes with whiskers.

use super::Quartiles;
use super::bars::{BarPosition, patch};
use super::frame::Frame;
use crate::palette::Style;
use crate::scene::{Area, Color, Element, Point, Shape, Stroke};

/// The boxes of one curve.
pub(super) fn draw(
    frame: &Frame<'_>,
    boxes: &[Quartiles],
    style: Style,
    position: BarPosition,
) -> Vec<Element> {
    let (width, beside) = position.within(frame.slot());
    let width = (width * 0.8).min(48.0);
    let mut elements = Vec::new();
    for it in boxes {
        let Some(x) = frame.x(it.x).map(|x| x + beside) else { continue };
        let y = |value: f64| frame.y_or_bottom(value);
        let line = |dx: f64, from: f64, to: f64| (Point::new(x - dx, from), Point::new(x + dx, to));
        let (low, high) = (y(it.whiskers.0), y(it.whiskers.1));
        let (bottom, top) = (y(it.first), y(it.third));
        let cap = width / 4.0;
        let lines = vec![
            line(0.0, low, bottom),
            line(0.0, top, high),
            line(cap, low, low),
            line(cap, high, high),
        ];
        elements.push(Element::Segments { lines, stroke: Stroke::new(Color::TEXT, 1.0) });
        let area = Area { x: x - width / 2.0, y: top, width, height: bottom - top };
        elements.extend(patch(area, style));
        let (from, to) = line(width / 2.0, y(it.median), y(it.median));
        // White beside black: it is seen on dark colors, too.
        elements.push(Element::Line { from, to, stroke: Stroke::new(Color::WHITE, 4.0) });
        elements.push(Element::Line { from, to, stroke: Stroke::new(Color::TEXT, 2.0) });
        let at = it.outliers.iter().map(|value| Point::new(x, y(*value))).collect();
        elements.push(Element::Markers { shape: Shape::Ring, at, size: 4.0, color: Color::TEXT });
    }
    elements
}
