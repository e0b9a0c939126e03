//! What the gateway counts.

mod stats;

pub use stats::{Reason, Release, SideStats, Summary, Traffic};
