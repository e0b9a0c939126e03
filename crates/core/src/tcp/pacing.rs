//! Pacing: segments leave at a rate, not in bursts.

use crate::time::Instant;
use crate::units::Rate;

/// Whether and how a sender paces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pacing {
    /// Segments leave as soon as the windows allow.
    #[default]
    Off,
    /// One congestion window (times a gain) each smoothed round trip, never above `cap`.
    Window {
        /// The rate of a link known to be on the path.
        cap: Option<Rate>,
    },
}

/// When the next segment may leave.
#[derive(Debug, Default)]
pub struct Pacer {
    next: Instant,
}

impl Pacer {
    /// The moment from which a segment may leave.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// `bytes` left at `now`, at `rate`.
    pub fn sent(&mut self, now: Instant, bytes: u64, rate: Rate) {
        self.next = self.next.max(now) + rate.time_for(bytes);
    }
}
