//! Lines to compare data with.

use super::frame::Frame;
use crate::scene::{Color, Element, Stroke};

/// A line that is no data. With a label it is in the legend.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// From left to right.
    Horizontal {
        /// At this value.
        y: f64,
        /// What it is; empty for a line that is not in the legend.
        label: String,
    },
    /// From bottom to top.
    Vertical {
        /// At this value.
        x: f64,
        /// What it is; empty for a line that is not in the legend.
        label: String,
    },
    /// y = factor · x ^ exponent.
    Power {
        /// What the power is multiplied by.
        factor: f64,
        /// The exponent.
        exponent: f64,
        /// What it is; empty for a line that is not in the legend.
        label: String,
    },
}

/// Points of a function's line.
const STEPS: u32 = 128;

impl Reference {
    /// Its name.
    pub fn label(&self) -> &str {
        match self {
            Reference::Horizontal { label, .. }
            | Reference::Vertical { label, .. }
            | Reference::Power { label, .. } => label,
        }
    }

    /// The x that is to be on the axis.
    pub(super) fn x(&self) -> Option<f64> {
        if let Reference::Vertical { x, .. } = self { Some(*x) } else { None }
    }

    /// The y that is to be on the axis.
    pub(super) fn y(&self) -> Option<f64> {
        if let Reference::Horizontal { y, .. } = self { Some(*y) } else { None }
    }

    /// How line `index` is drawn.
    pub(crate) fn stroke(index: usize) -> Stroke {
        const DASHES: [&[f64]; 4] = [&[5.0, 4.0], &[1.5, 3.0], &[10.0, 4.0], &[8.0, 3.0, 1.5, 3.0]];
        Stroke::new(Color::REFERENCE, 1.2).dashed(DASHES[index % DASHES.len()])
    }

    pub(super) fn draw(&self, frame: &Frame<'_>, index: usize) -> Option<Element> {
        let (stroke, area) = (Reference::stroke(index), frame.area);
        let points = match self {
            Reference::Horizontal { y, .. } => {
                let y = frame.y(*y)?;
                [area.x, area.right()].map(|x| crate::scene::Point::new(x, y)).to_vec()
            }
            Reference::Vertical { x, .. } => {
                let x = frame.x(*x)?;
                [area.bottom(), area.y].map(|y| crate::scene::Point::new(x, y)).to_vec()
            }
            Reference::Power { factor, exponent, .. } => {
                let at = (0..=STEPS).map(|step| f64::from(step) / f64::from(STEPS));
                let values = at.map(|part| frame.x_axis.scale.value(part));
                // What is far outside would only make the file long.
                let near = area.grown(area.height);
                let points = values.filter_map(|x| frame.point(x, factor * x.powf(*exponent)));
                points.filter(|point| near.has(*point)).collect()
            }
        };
        (points.len() > 1).then_some(Element::Polyline { points, stroke })
    }
}
