//! A panel's values as places and lines.

use bentpipe_plot::axes::Axis;
use bentpipe_plot::scene::{Anchor, Area, Color, Element, Point, Shape, Stroke, Text};
use std::collections::{BTreeMap, BTreeSet};

/// Of texts at axes, in px.
pub(in crate::captures) const SIZE: f64 = 12.0;
/// The room that a letter takes, in px.
const LETTER: (f64, f64) = (10.0, 12.0);
/// Marks are joined where they are nearer to each other.
const COLUMN: f64 = 0.5;

/// Places that letters have taken, so that none covers another: by cells of a letter's size, in
/// which there is room for one.
#[derive(Default)]
pub(in crate::captures) struct Taken(BTreeMap<(i64, i64), Point>);

impl Taken {
    /// Takes a place, if there is room for a letter.
    fn takes(&mut self, at: Point) -> bool {
        let (column, row) = ((at.x / LETTER.0) as i64, (at.y / LETTER.1) as i64);
        let mut near = (-1..=1).flat_map(|x| (-1..=1).map(move |y| (column + x, row + y)));
        let covers =
            |other: &Point| (other.x - at.x).abs() < LETTER.0 && (other.y - at.y).abs() < LETTER.1;
        let free = near.all(|cell| !self.0.get(&cell).is_some_and(covers));
        free && self.0.insert((column, row), at).is_none()
    }
}

/// Where values are in a panel.
pub(in crate::captures) struct Map<'a> {
    pub(in crate::captures) area: Area,
    pub(in crate::captures) x: &'a Axis,
    pub(in crate::captures) y: &'a Axis,
}

impl Map<'_> {
    /// How far along a time is: from 0 to 1 within the panel.
    pub(in crate::captures) fn along(&self, time: f64) -> f64 {
        self.x.scale.place(time).unwrap_or(0.0)
    }

    pub(in crate::captures) fn point(&self, time: f64, value: f64) -> Point {
        // What is far outside is clipped; a picture needs no larger numbers.
        let place = |axis: &Axis, value| axis.scale.place(value).unwrap_or(0.0).clamp(-9.0, 9.0);
        Point::new(
            self.area.x + place(self.x, time) * self.area.width,
            self.area.y + (1.0 - place(self.y, value)) * self.area.height,
        )
    }

    /// Border, grid, ticks, title. `first`: of its row, which all have the same vertical axis;
    /// `last`: of its column; `empty`: of a row without a value.
    pub(in crate::captures) fn frame(&self, first: bool, last: bool, empty: bool) -> Vec<Element> {
        let Area { x, y, width, height } = self.area;
        let (right, bottom) = (x + width, y + height);
        let grid = Stroke::new(Color::GRID, 1.0);
        let mut lines = Vec::new();
        let mut texts = Vec::new();
        let ticks = if empty { Vec::new() } else { self.y.ticks((height / 34.0) as usize) };
        for tick in ticks {
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

    /// Words in a panel without a value.
    pub(in crate::captures) fn words(&self, words: &str) -> Element {
        let Area { x, y, width, height } = self.area;
        let at = Point::new(x + width / 2.0, y + height / 2.0 + 4.0);
        let mut text = Text::new(at, words, SIZE).anchored(Anchor::Middle);
        text.color = Color::FAINT_TEXT;
        Element::Text(text)
    }

    /// Values that hold until the next one.
    pub(in crate::captures) fn steps(
        &self,
        name: &str,
        values: &[(f64, f64)],
        stroke: Stroke,
    ) -> Element {
        let points = steps(values.iter().map(|&(time, value)| self.point(time, value)));
        let elements = vec![Element::Polyline { points, stroke }];
        Element::Group { name: name.to_owned(), clip: None, elements }
    }

    /// Ranges of the stream at a time.
    pub(in crate::captures) fn spans(
        &self,
        name: &str,
        spans: &[(f64, f64, f64)],
        stroke: Stroke,
    ) -> Element {
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

    /// A letter at each, unless it would cover another one.
    pub(in crate::captures) fn names(
        &self,
        spans: &[(f64, f64, f64)],
        letter: &str,
        color: Color,
        taken: &mut Taken,
    ) -> Element {
        let mut elements = Vec::new();
        for &(time, _, end) in spans {
            let at = self.point(time, end);
            if !taken.takes(at) {
                continue;
            }
            // At the top it is within the panel all the same.
            let y = (at.y - 3.0).max(self.area.y + 9.0);
            let mut text = Text::new(Point::new(at.x, y), letter, 10.0);
            text = text.anchored(Anchor::Middle);
            text.color = color;
            elements.push(Element::Text(text));
        }
        Element::Group { name: "names".to_owned(), clip: None, elements }
    }

    pub(in crate::captures) fn points(
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
    fn letters_do_not_cover_each_other() {
        let mut taken = Taken::default();
        let takes = |taken: &mut Taken, x, y| taken.takes(Point::new(x, y));
        assert!(takes(&mut taken, 100.0, 100.0));
        assert!(!takes(&mut taken, 109.0, 111.0) && !takes(&mut taken, 91.0, 100.0));
        assert!(takes(&mut taken, 110.0, 100.0) && takes(&mut taken, 100.0, 112.0));
    }

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
