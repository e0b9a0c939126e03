//! Numbers from elsewhere over the data: hollow marks, with their intervals.

use super::bars::BarPosition;
use super::frame::Frame;
use super::lines::CAP;
use crate::palette::{self, MAX};
use crate::scene::{Color, Element, Point, Shape, Stroke};

/// Of a mark, in px: larger than those of curves, so that it is seen around them.
pub(super) const SIZE: f64 = 10.0;

/// Numbers of one origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlay {
    /// In the legend.
    pub name: String,
    /// The form of its marks: a hollow one.
    pub shape: Shape,
    /// The numbers.
    pub marks: Vec<OverlayMark>,
}

/// A number from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OverlayMark {
    /// The number of its panel; `None` for all.
    pub panel: Option<usize>,
    /// The look of the curve that it belongs to, if it belongs to one.
    pub style: Option<usize>,
    /// From left to right; `None` for the whole width.
    pub x: Option<f64>,
    /// From bottom to top.
    pub y: f64,
    /// Half of its interval.
    pub error: Option<f64>,
    /// Only the ends of the interval are known.
    pub is_range: bool,
}

impl Overlay {
    /// Places that are to be on the axes.
    pub(super) fn xs(&self) -> impl Iterator<Item = f64> + '_ {
        self.marks.iter().filter_map(|mark| mark.x)
    }

    /// As [`xs`](Self::xs), intervals included.
    pub(super) fn ys(&self) -> impl Iterator<Item = f64> + '_ {
        self.marks.iter().flat_map(|mark| {
            let error = mark.error.unwrap_or(0.0);
            [mark.y - error, mark.y + error]
        })
    }

    /// The marks of panel `panel`, whose curves of these styles stand side by side.
    pub(super) fn draw(&self, frame: &Frame<'_>, panel: usize, side: &[usize]) -> Element {
        let here = self.marks.iter().filter(|mark| mark.panel.is_none_or(|other| other == panel));
        let elements = here.flat_map(|mark| mark.draw(frame, self.shape, side)).collect();
        Element::Group { name: "overlay".to_owned(), clip: None, elements }
    }
}

impl OverlayMark {
    fn draw(&self, frame: &Frame<'_>, shape: Shape, side: &[usize]) -> Vec<Element> {
        let Some(at) = self.x else { return self.across(frame) };
        let (Some(x), Some(y)) = (frame.x(at), frame.y(self.y)) else { return Vec::new() };
        let index = self.style.and_then(|style| side.iter().position(|other| *other == style));
        let position = index.map(|index| BarPosition { index, of: side.len() });
        let x = x + position.map_or(0.0, |position| position.within(frame.slot()).1);
        // Over bars black is seen, and their color is not.
        let color = match self.style {
            Some(style) if position.is_none() => palette::style(style % MAX).color,
            _ => Color::TEXT,
        };
        let mut elements = Vec::new();
        if let Some(error) = self.error {
            let (low, high) =
                (frame.y_or_bottom(self.y - error), frame.y_or_bottom(self.y + error));
            let lines = interval(x, low, high);
            // White around it: it may lie on a curve's own interval.
            let white = Stroke::new(Color::WHITE, 4.0);
            elements.push(Element::Segments { lines: lines.clone(), stroke: white });
            elements.push(Element::Segments { lines, stroke: Stroke::new(color, 1.3) });
        }
        if !self.is_range {
            let at = vec![Point::new(x, y)];
            elements.push(Element::Markers { shape, at, size: SIZE, color });
        }
        elements
    }

    /// Lines from left to right: of the number, or of an interval's ends.
    fn across(&self, frame: &Frame<'_>) -> Vec<Element> {
        let area = frame.area;
        let color = self.style.map_or(Color::TEXT, |style| palette::style(style % MAX).color);
        let line =
            |y: f64| Some((Point::new(area.x, frame.y(y)?), Point::new(area.right(), frame.y(y)?)));
        let ends = self.error.map(|error| [self.y - error, self.y + error]);
        let ends: Vec<_> = ends.into_iter().flatten().filter_map(line).collect();
        let middle = (!self.is_range).then(|| line(self.y)).flatten();
        let mut elements = Vec::new();
        if !ends.is_empty() {
            elements.push(Element::Segments { lines: ends, stroke: end(color) });
        }
        if let Some((from, to)) = middle {
            elements.push(Element::Line { from, to, stroke: across(color) });
        }
        elements
    }
}

/// The stroke of a number that has no place from left to right.
pub(super) fn across(color: Color) -> Stroke {
    Stroke::new(color, 1.3).dashed(&[12.0, 3.0, 2.0, 3.0])
}

/// The stroke of such a number's interval.
pub(super) fn end(color: Color) -> Stroke {
    Stroke::new(color, 1.2).dashed(&[2.0, 3.0])
}

/// The lines of an interval from `low` up to `high`, at `x`.
pub(super) fn interval(x: f64, low: f64, high: f64) -> Vec<(Point, Point)> {
    let line = |dx: f64, from: f64, to: f64| (Point::new(x - dx, from), Point::new(x + dx, to));
    vec![line(0.0, low, high), line(CAP + 2.0, low, low), line(CAP + 2.0, high, high)]
}
