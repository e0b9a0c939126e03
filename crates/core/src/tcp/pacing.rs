//! Pacing: segments leave at a rate, not in bursts.

use crate::time::{Duration, Instant};
use crate::units::Rate;
use serde::{Deserialize, Serialize};

/// Whether and how a sender paces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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

/// How far a sender that was woken late may catch up. Without it every late wake-up would lower the
/// rate: at 8 Mbit/s a segment takes 1.5 ms, and a real timer is a twentieth of that late.
const CATCH_UP: Duration = Duration::from_millis(5);

/// When the next segment may leave.
#[derive(Debug, Default, Serialize, Deserialize)]
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
        self.next = self.next.max(now - CATCH_UP) + rate.time_for(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_wake_ups_do_not_lower_the_rate() {
        let rate = Rate::from_bits_per_sec(8_000_000);
        let (mut pacer, mut now) = (Pacer::default(), Instant::from_millis(100));
        let begun = now;
        for _ in 0..1000 {
            pacer.sent(now, 1000, rate);
            now = now.max(pacer.next()) + Duration::from_micros(70);
        }
        let took = now.saturating_since(begun);
        assert!(took <= Duration::from_millis(1000), "{took:?}");
        assert!(took >= Duration::from_millis(994), "{took:?}");
    }
}
