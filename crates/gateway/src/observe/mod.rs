//! What the gateway counts, and what it tells of.

mod events;
mod stats;

pub(crate) use events::Events;
pub use events::{Event, Hosts, Severity};
pub use stats::{Reason, Release, SideStats, Summary, Traffic};
