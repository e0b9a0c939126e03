//! A figure's points on real hosts: made by a [`LiveRunner`], kept beside the figure's file, and
//! compared with what the simulator gives of the same scenarios.

pub mod bottleneck;
mod comparison;
mod jobs;
mod load;
mod plan;
mod runner;
mod runs;
mod splits;
mod tries;

pub use crate::run::{Conditions, LiveFlows, LivePointResults, LiveResults, Machine, inputs};
pub use comparison::{Agreement, Comparison, ComparisonRow};
pub use jobs::{LiveEvent, LiveOptions, MadeRuns, make_missing};
pub use load::Load;
pub use plan::{LiveError, LivePlan, Measured};
pub use runner::{LiveRequest, LiveRun, LiveRunner, Programs};
pub use runs::StoredRuns;
