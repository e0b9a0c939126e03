//! Colors that color-blind people tell apart (Okabe and Ito 2008).
//!
//! Each has a mark, a dash and a hatch of its own, so that a figure printed in grey says as much.

use crate::scene::{Color, Shape};

/// The look of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    /// Of its lines, marks and bars.
    pub color: Color,
    /// At its points.
    pub shape: Shape,
    /// Of its line; nothing for a continuous one.
    pub dash: &'static [f64],
    /// Of its bars.
    pub hatch: Hatch,
}

/// Lines over a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hatch {
    /// None.
    Plain,
    /// From the lower left to the upper right.
    Rising,
    /// From the upper left to the lower right.
    Falling,
    /// Both.
    Crossed,
    /// Horizontal.
    Level,
}

/// Without Okabe's and Ito's yellow, which is too pale on white. Neighbours differ in how dark they
/// are.
const COLORS: [Color; 7] = [
    Color(0x00, 0x72, 0xb2),
    Color(0xe6, 0x9f, 0x00),
    Color(0x00, 0x9e, 0x73),
    Color(0xd5, 0x5e, 0x00),
    Color(0x56, 0xb4, 0xe9),
    Color(0xcc, 0x79, 0xa7),
    Color(0x00, 0x00, 0x00),
];

const SHAPES: [Shape; 8] = [
    Shape::Circle,
    Shape::Square,
    Shape::Triangle,
    Shape::Diamond,
    Shape::Ring,
    Shape::Frame,
    Shape::Inverted,
    Shape::Cross,
];

const DASHES: [&[f64]; 5] = [&[], &[7.0, 3.0], &[2.0, 2.5], &[9.0, 3.0, 2.0, 3.0], &[4.0, 2.0]];

const HATCHES: [Hatch; 5] =
    [Hatch::Plain, Hatch::Rising, Hatch::Falling, Hatch::Crossed, Hatch::Level];

/// The number of curves that can be told apart. Lengths of the lists have no divisor in common.
pub const MAX: usize = 35;

/// The look of curve `index`.
pub fn style(index: usize) -> Style {
    Style {
        color: COLORS[index % COLORS.len()],
        shape: SHAPES[index % SHAPES.len()],
        dash: DASHES[index % DASHES.len()],
        hatch: HATCHES[index % HATCHES.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_curves_look_alike() {
        for a in 0..MAX {
            for b in 0..a {
                let (one, other) = (style(a), style(b));
                assert!((one.color, one.hatch) != (other.color, other.hatch), "{a} and {b}");
                assert!((one.color, one.dash) != (other.color, other.dash), "{a} and {b}");
            }
        }
    }
}
