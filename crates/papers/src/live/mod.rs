//! What real hosts have given of a figure: as it is kept beside the figure's file, and beside what the simulator gives
//! of the same scenarios.

mod beside;
pub mod bottleneck;
mod kept;
mod splits;

pub use beside::{Agreement, Beside, BesideRow};
pub use kept::{Conditions, Kept, KeptPoint, Machine, inputs, path};
pub use splits::otherwise;
