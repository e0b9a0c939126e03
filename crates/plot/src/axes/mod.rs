//! Axes: values to places, ticks at 1, 2 and 5, and readable units.

mod axis;
mod scale;
mod ticks;
mod units;

pub use axis::{Axis, AxisSpec, TickLabel};
pub use scale::{Limits, Scale};
pub use ticks::{minor, ticks};
pub use units::{Prefix, Unit};
