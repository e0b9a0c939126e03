//! The looks of elements.

use std::fmt;

/// A color: red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    /// The background.
    pub const WHITE: Color = Color(255, 255, 255);
    /// Black.
    pub const BLACK: Color = Color(0, 0, 0);
    /// Titles and labels.
    pub const TEXT: Color = Color(0x22, 0x22, 0x22);
    /// Secondary text.
    pub const FAINT_TEXT: Color = Color(0x55, 0x55, 0x55);
    /// Axes.
    pub const AXIS: Color = Color(0x55, 0x55, 0x55);
    /// Lines of reference.
    pub const REFERENCE: Color = Color(0x66, 0x66, 0x66);
    /// The grid.
    pub const GRID: Color = Color(0xe2, 0xe2, 0xe2);
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// The stroke of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stroke {
    /// Its color.
    pub color: Color,
    /// In px.
    pub width: f64,
    /// Lengths of dashes and gaps in px, in turn; nothing for a continuous line.
    pub dash: &'static [f64],
}

impl Stroke {
    /// A continuous line.
    pub fn new(color: Color, width: f64) -> Stroke {
        Stroke { color, width, dash: &[] }
    }

    /// The same with dashes.
    #[must_use]
    pub fn dashed(self, dash: &'static [f64]) -> Stroke {
        Stroke { dash, ..self }
    }
}

/// The part of a text that is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// The form of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A triangle that stands on its base.
    Triangle,
    /// A square that stands on a corner.
    Diamond,
    /// A ring.
    Ring,
    /// A square's border.
    Frame,
    /// The border of a square that stands on a corner.
    Lozenge,
    /// The border of a star of five points.
    Star,
    /// A triangle that stands on its tip.
    Inverted,
    /// A cross of diagonals.
    Cross,
    /// A dot: a small square, for thousands of them.
    Dot,
}
