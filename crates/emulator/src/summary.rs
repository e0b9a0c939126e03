//! The counters of a whole link.

use crate::lateness::Lateness;
use bentpipe_core::link::{Count, Counters};
use bentpipe_core::units::Rate;

/// What became of the packets of both directions.
#[derive(Debug, Clone, Default)]
pub struct LinkSummary {
    /// Direction 0 came in through device 0.
    pub directions: [Counters; 2],
    /// Packets that the kernel did not take back.
    pub refused: [u64; 2],
    /// Packets that arrived twice.
    pub duplicated: [Count; 2],
    /// Packets of which a bit was turned over; they count as lost.
    pub damaged: [Count; 2],
    /// What each direction has carried, from the first packet that left it to the last.
    pub rates: [Option<Rate>; 2],
    /// By how much later than intended packets have left, both directions together.
    pub lateness: Lateness,
}
