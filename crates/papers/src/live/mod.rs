//! A figure's points on real hosts: made by a [`LiveRunner`], kept beside the figure's file, and compared with what the simulator
//! gives of the same scenarios.

mod beside;
pub mod bottleneck;
mod jobs;
mod kept;
mod load;
mod plan;
mod runner;
mod runs;
mod splits;
mod tries;

pub use beside::{Agreement, Beside, BesideRow};
pub use jobs::{LiveEvent, LiveOptions, MadeRuns, make_missing};
pub use kept::{Conditions, Kept, KeptPoint, Machine, inputs, path};
pub use load::Load;
pub use plan::{LiveError, LivePlan, Measured};
pub use runner::{LiveRequest, LiveRun, LiveRunner, Programs};
pub use runs::StoredRuns;
