//! The benefit of splitting: what transfers took, and what they would have taken unsplit.
//!
//! A transfer is a connection that has ended. Its size is the payload of the direction with more of
//! it. Its time runs from the SYN to the last acknowledgment of payload, both as they passed here.
//! Pauses do not count: gaps of more than [`PAUSE`] in which nothing was outstanding.
//!
//! Nothing here knows the table, and all that is kept is bounded.

mod histogram;
mod model;
mod progress;
mod service;
mod transfers;

pub use histogram::Histogram;
pub use model::UnsplitPath;
pub use progress::PAUSE;
pub(crate) use progress::Progress;
pub use service::{ClassStats, Group, Means, ServiceKey, ServiceStats, SizeClass};
pub(crate) use transfers::{Manner, Transfer};
pub use transfers::{TransferTimes, Transfers};
