//! What the gateway counts, and what it tells of.

mod events;
mod reason;
mod stats;
mod unsplit;

pub(crate) use events::Events;
pub use events::{Event, Hosts, Severity};
pub use reason::{Reason, Release};
pub use stats::{SideStats, Summary, Traffic};
pub use unsplit::Unsplit;
pub(crate) use unsplit::UnsplitLog;
