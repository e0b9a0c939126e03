//! The frame of a panel: the area of its data, and its axes.

use crate::axes::{Axis, Scale};
use crate::scene::{Area, Point};

/// A panel's area with its axes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) area: Area,
    pub(super) x_axis: &'a Axis,
    pub(super) y_axis: &'a Axis,
}

/// Beyond this many px nothing is drawn: programs that read SVG have numbers of their own.
const FAR: f64 = 1e5;

impl Frame<'_> {
    /// Where a value of x is, in px from the left.
    pub(super) fn x(&self, value: f64) -> Option<f64> {
        let place = self.x_axis.scale.place(value)?;
        Some((self.area.x + place * self.area.width).clamp(-FAR, FAR))
    }

    /// Where a value of y is, in px from the top.
    pub(super) fn y(&self, value: f64) -> Option<f64> {
        let place = self.y_axis.scale.place(value)?;
        Some((self.area.bottom() - place * self.area.height).clamp(-FAR, FAR))
    }

    /// Where a value of y is; at the axis' beginning if it has no place, as zero on a logarithmic
    /// one.
    pub(super) fn y_or_bottom(&self, value: f64) -> f64 {
        self.y(value).unwrap_or(self.area.bottom())
    }

    /// Where both are.
    pub(super) fn point(&self, x: f64, y: f64) -> Option<Point> {
        Some(Point::new(self.x(x)?, self.y(y)?))
    }

    /// The room of one value of x, for what stands side by side there.
    pub(super) fn slot(&self) -> f64 {
        match self.x_axis.scale {
            Scale::Categories(count) => self.area.width / count.max(1) as f64,
            // Of numbers it is not known how near they are.
            _ => self.area.width / 20.0,
        }
    }
}
