//! How full a queue has been: the exact integral of its length over time, and its maximum.

use super::Count;
use crate::time::{Duration, Instant};

/// The length of a queue, or of whatever else fills and empties, over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Occupancy {
    /// Since when it has held what it holds.
    since: Instant,
    held: Count,
    /// Packets × ns, and bytes × ns.
    area: (u128, u128),
    longest: Count,
}

impl Occupancy {
    /// From `now` on the queue holds `held`. How many packets it held until now, and for how many
    /// nanoseconds.
    #[inline]
    pub fn set(&mut self, now: Instant, held: Count) -> (u64, u64) {
        let nanos = now.as_nanos().saturating_sub(self.since.as_nanos());
        let before = self.held.packets;
        if nanos > 0 {
            self.area.0 += u128::from(before) * u128::from(nanos);
            self.area.1 += u128::from(self.held.bytes) * u128::from(nanos);
            self.since = now;
        }
        self.held = held;
        self.longest.packets = self.longest.packets.max(held.packets);
        self.longest.bytes = self.longest.bytes.max(held.bytes);
        (before, nanos)
    }

    /// As of `now`, if nothing has changed since the last event.
    #[must_use]
    pub fn at(mut self, now: Instant) -> Occupancy {
        self.set(now, self.held);
        self
    }

    /// The most packets, and the most bytes, that it has held since the beginning.
    pub fn longest(&self) -> Count {
        self.longest
    }

    /// The mean number of packets, and of bytes, since `earlier`; what it holds if no time has
    /// passed.
    pub fn mean_since(&self, earlier: &Occupancy) -> (f64, f64) {
        let span = self.since.saturating_since(earlier.since);
        if span == Duration::ZERO {
            return (self.held.packets as f64, self.held.bytes as f64);
        }
        let mean = |now: u128, then: u128| (now - then) as f64 / span.as_nanos() as f64;
        (mean(self.area.0, earlier.area.0), mean(self.area.1, earlier.area.1))
    }
}
