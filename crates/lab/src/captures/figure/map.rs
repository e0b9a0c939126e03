//! A panel's values as places and lines.

use bentpipe_plot::axes::Axis;
use bentpipe_plot::scene::{Anchor, Area, Color, Element, Point, Shape, Stroke, Text};
use std::collections::BTreeSet;

/// Of texts at axes, in px.
pub(super) const SIZE: f64 = 12.0;
/// Marks are joined where they are nearer to each other.
const COLUMN: f64 = 0.5;

/// Where values are in a panel.
pub(super) struct Map<'a> {
    pub(super) area: Area,
    pub(super) x: &'a Axis,
    pub(super) y: &'a Axis,
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

    /// Border, grid, ticks, title. `first`: of its row, which all have the same vertical axis;
    /// `last`: of its column.
    pub(super) fn frame(&self, first: bool, last: bool) -> Vec<Element> {
        let Area { x, y, width, height } = self.area;
        let (right, bottom) = (x + width, y + height);
        let grid = Stroke::new(Color::GRID, 1.0);
        let mut lines = Vec::new();
        let mut texts = Vec::new();
        for tick in self.y.ticks((height / 34.0) as usize) {
            let at = self.point(0.0, tick.value).y;
            lines.push((Point::new(x, at), Point::new(right, at)));
            if first {
                let text = Text::new(Point::new(x - 6.0, at + 4.0), tick.text, SIZE);
                texts.push(Element::Text(text.anchored(Anchor::End)));
            }
        }
        for tick in self.x.ticks((width / 90.0) as usize) {
            let at = self.point(tick.value, 0.0).x;
            lines.push((Point::new(at, y), Point::new(at, bottom)));
            if last {
                let text = Text::new(Point::new(at, bottom + 16.0), tick.text, SIZE);
                texts.push(Element::Text(text.anchored(Anchor::Middle)));
            }
        }
        if first {
            let mut title = Text::new(Point::new(16.0, y + height / 2.0), &self.y.title, SIZE)
                .anchored(Anchor::Middle);
            title.rotation = -90.0;
            texts.push(Element::Text(title));
        }
        let border = Some(Stroke::new(Color::AXIS, 1.0));
        let mut elements = vec![
            Element::Segments { lines, stroke: grid },
            Element::Rect { area: self.area, fill: None, stroke: border },
        ];
        elements.append(&mut texts);
        elements
    }

    /// Values that hold until the next one.
    pub(super) fn steps(&self, name: &str, values: &[(f64, f64)], stroke: Stroke) -> Element {
        let points = steps(values.iter().map(|&(time, value)| self.point(time, value)));
        let elements = vec![Element::Polyline { points, stroke }];
        Element::Group { name: name.to_owned(), clip: None, elements }
    }

    /// Ranges of the stream at a time.
    pub(super) fn spans(&self, name: &str, spans: &[(f64, f64, f64)], stroke: Stroke) -> Element {
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
    pub(super) fn names(&self, spans: &[(f64, f64, f64)], letter: &str, color: Color) -> Element {
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

    pub(super) fn points(
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

/// The corners of a line that stays at each point's height until the next one. Of the points within
/// a column only those that go beyond the others are seen, and the last, which is what the line
/// goes on with.
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
