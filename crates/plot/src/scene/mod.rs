//! A drawing of primitives. Charts are made of them; SVG and PNG are written from them.
//!
//! Sizes are in px of 1/96 inch; x grows to the right, y downwards. Elements are painted in their
//! order.

mod style;

pub use crate::font::Weight;
pub use style::{Anchor, Color, Shape, Stroke};

/// A drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// In px.
    pub width: f64,
    /// In px.
    pub height: f64,
    /// One line, for who cannot see it.
    pub title: String,
    /// A description for readers that cannot see it.
    pub about: String,
    /// Its elements.
    pub elements: Vec<Element>,
}

/// A place.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Area {
    /// Its left side.
    pub x: f64,
    /// Its top.
    pub y: f64,
    /// Not negative.
    pub width: f64,
    /// Not negative.
    pub height: f64,
}

/// A text on one line.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// The place, on its baseline.
    pub at: Point,
    /// The text.
    pub text: String,
    /// The font's size in px.
    pub size: f64,
    /// The part of it that is at `at`.
    pub anchor: Anchor,
    /// In degrees around `at`, clockwise.
    pub rotation: f64,
    /// Regular or bold.
    pub weight: Weight,
    /// Its color.
    pub color: Color,
}

/// Something in a drawing.
#[derive(Debug, Clone, PartialEq)]
pub enum Element {
    /// A straight line.
    Line {
        /// One end.
        from: Point,
        /// The other.
        to: Point,
        /// How it is drawn.
        stroke: Stroke,
    },
    /// Lines from each point to the next.
    Polyline {
        /// The points.
        points: Vec<Point>,
        /// How they are drawn.
        stroke: Stroke,
    },
    /// Many straight lines of one kind: one path in SVG.
    Segments {
        /// The ends of each.
        lines: Vec<(Point, Point)>,
        /// How they are drawn.
        stroke: Stroke,
    },
    /// A rectangle.
    Rect {
        /// Where.
        area: Area,
        /// Inside.
        fill: Option<Color>,
        /// Around.
        stroke: Option<Stroke>,
    },
    /// A circle.
    Circle {
        /// Its center.
        center: Point,
        /// In px.
        radius: f64,
        /// Inside.
        fill: Option<Color>,
        /// Around.
        stroke: Option<Stroke>,
    },
    /// Marks of one kind at one or many places: one path in SVG.
    Markers {
        /// Which.
        shape: Shape,
        /// Where.
        at: Vec<Point>,
        /// Width and height in px.
        size: f64,
        /// Of its lines and its inside.
        color: Color,
    },
    /// A text.
    Text(Text),
    /// Several elements.
    Group {
        /// What they are, for programs and tests that look for them: a `class` in SVG.
        name: String,
        /// What of them is seen; all without it.
        clip: Option<Area>,
        /// They.
        elements: Vec<Element>,
    },
}

impl Point {
    /// The point at `x` and `y`.
    pub fn new(x: f64, y: f64) -> Point {
        Point { x, y }
    }
}

impl Area {
    /// Its right side.
    pub fn right(self) -> f64 {
        self.x + self.width
    }

    /// Its bottom.
    pub fn bottom(self) -> f64 {
        self.y + self.height
    }

    /// Its center.
    pub fn center(self) -> Point {
        Point::new(self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    /// True if `point` is in it, its border included.
    pub fn has(self, point: Point) -> bool {
        (self.x..=self.right()).contains(&point.x) && (self.y..=self.bottom()).contains(&point.y)
    }

    /// True if the two have a part in common.
    pub fn meets(self, other: Area) -> bool {
        self.x < other.right()
            && other.x < self.right()
            && self.y < other.bottom()
            && other.y < self.bottom()
    }

    /// True if the line between two points touches it.
    pub fn is_crossed(self, from: Point, to: Point) -> bool {
        // Liang and Barsky: the part of the line that is inside each of the four sides.
        let (dx, dy) = (to.x - from.x, to.y - from.y);
        let sides = [
            (-dx, from.x - self.x),
            (dx, self.right() - from.x),
            (-dy, from.y - self.y),
            (dy, self.bottom() - from.y),
        ];
        let (mut begin, mut end) = (0.0_f64, 1.0_f64);
        for (slope, distance) in sides {
            if slope == 0.0 {
                if distance < 0.0 {
                    return false;
                }
            } else if slope < 0.0 {
                begin = begin.max(distance / slope);
            } else {
                end = end.min(distance / slope);
            }
        }
        begin <= end
    }

    /// The same with `by` more on each side.
    #[must_use]
    pub fn grown(self, by: f64) -> Area {
        Area {
            x: self.x - by,
            y: self.y - by,
            width: (self.width + 2.0 * by).max(0.0),
            height: (self.height + 2.0 * by).max(0.0),
        }
    }
}

impl Text {
    /// A text in dark grey that begins at `at`.
    pub fn new(at: Point, text: impl Into<String>, size: f64) -> Text {
        Text {
            at,
            text: text.into(),
            size,
            anchor: Anchor::Start,
            rotation: 0.0,
            weight: Weight::Regular,
            color: Color::TEXT,
        }
    }

    /// The same with another part at its place.
    #[must_use]
    pub fn anchored(self, anchor: Anchor) -> Text {
        Text { anchor, ..self }
    }

    /// The same, bold.
    #[must_use]
    pub fn bold(self) -> Text {
        Text { weight: Weight::Bold, ..self }
    }

    /// The rectangle that it takes without its rotation.
    pub fn area(&self) -> Area {
        let width = crate::font::width(&self.text, self.size, self.weight);
        let before = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let ascent = crate::font::ASCENT * self.size;
        let height = ascent + crate::font::DESCENT * self.size;
        Area { x: self.at.x - before, y: self.at.y - ascent, width, height }
    }
}

impl From<Text> for Element {
    fn from(text: Text) -> Element {
        Element::Text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_cross_an_area_are_found() {
        let area = Area { x: 10.0, y: 10.0, width: 10.0, height: 10.0 };
        let crossed = |a: (f64, f64), b: (f64, f64)| {
            area.is_crossed(Point::new(a.0, a.1), Point::new(b.0, b.1))
        };
        assert!(crossed((0.0, 0.0), (30.0, 30.0)), "through it");
        assert!(crossed((15.0, 15.0), (15.0, 15.0)), "a point in it");
        assert!(crossed((15.0, 0.0), (15.0, 30.0)), "straight down");
        assert!(!crossed((0.0, 15.0), (9.0, 15.0)), "it ends before");
        assert!(!crossed((0.0, 25.0), (25.0, 25.0)), "below it");
        assert!(!crossed((0.0, 15.0), (15.0, 35.0)), "past its corner");
    }
}
