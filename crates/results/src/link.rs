//! The row of a link's direction.

use bentpipe_core::link::{Count, Counters, Lengths};
use bentpipe_core::time::Duration;

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkRow {
    /// Its name in the scenario.
    pub name: String,
    /// The node at its beginning.
    pub from: String,
    /// The node at its end.
    pub to: String,
    /// Counts of its packets in the measured time.
    pub counters: Counters,
    /// The length of the measured time.
    pub measured: Duration,
    /// Its capacity over the measured time, in bytes; None without a rate.
    pub capacity: Option<f64>,
    /// Mean length of its queue over the measured time, in packets and in bytes.
    ///
    /// The packet that is being sent is included.
    pub mean_queue: (f64, f64),
    /// For how much of the measured time it had which length; None without a rate.
    pub lengths: Option<Lengths>,
    /// The longest that it has been since the beginning.
    pub longest_queue: Count,
}

impl LinkRow {
    /// The share of its capacity that it has sent, packets that were lost included.
    pub fn utilisation(&self) -> Option<f64> {
        let sent = self.counters.delivered.bytes + self.counters.lost.bytes;
        self.capacity.filter(|capacity| *capacity > 0.0).map(|capacity| sent as f64 / capacity)
    }

    /// The rate of arrivals over the measured time, in bit/s, headers included.
    ///
    /// Of the way back, that is the rate of acknowledgments.
    pub fn throughput(&self) -> Option<f64> {
        let span = self.measured.as_secs_f64();
        (span > 0.0).then(|| self.counters.delivered.bytes as f64 * 8.0 / span)
    }
}
