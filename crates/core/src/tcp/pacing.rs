//! Pacing: segments leave at a rate, not in bursts.

use crate::time::{Duration, Instant};
use crate::units::{Bytes, Rate};
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

/// How far a sender that is late may catch up. Without it every late wake-up would lower the
/// rate: at 8 Mbit/s a segment takes 1.5 ms, and a real timer is a twentieth of that late.
const CATCH_UP: Duration = Duration::from_millis(5);

/// When the next segment may leave.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Pacer {
    next: Instant,
}

impl Pacer {
    /// The moment from which a segment may leave.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// `bytes` left at `now`, at `rate`.
    pub fn sent(&mut self, now: Instant, bytes: Bytes, rate: Rate) {
        self.next = self.next.max(now - CATCH_UP) + rate.time_for(bytes.count());
    }

    /// `bytes` that did not wait left at `now`: what waits may leave at `latest` all the same.
    pub fn sent_out_of_turn(&mut self, now: Instant, bytes: Bytes, rate: Rate, latest: Instant) {
        let before = self.next;
        self.sent(now, bytes, rate);
        self.next = self.next.min(latest).max(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_wait_holds_up_what_does_no_longer_than_it_may() {
        let (mut pacer, now) = (Pacer::default(), Instant::from_millis(100));
        let (rate, latest) = (Rate::from_bits_per_sec(8_000_000), now + Duration::from_millis(3));
        pacer.sent(now, Bytes::new(5_000), rate);
        assert_eq!(pacer.next(), now, "it catches up");
        pacer.sent_out_of_turn(now, Bytes::new(2_000), rate, latest);
        assert_eq!(pacer.next(), now + Duration::from_millis(2));
        pacer.sent_out_of_turn(now, Bytes::new(2_000), rate, latest);
        assert_eq!(pacer.next(), latest);
        pacer.sent_out_of_turn(now, Bytes::new(2_000), rate, now);
        assert_eq!(pacer.next(), latest, "nothing that was counted is undone");
    }

    #[test]
    fn late_wake_ups_do_not_lower_the_rate() {
        let rate = Rate::from_bits_per_sec(8_000_000);
        let (mut pacer, mut now) = (Pacer::default(), Instant::from_millis(100));
        let begun = now;
        for _ in 0..1000 {
            pacer.sent(now, Bytes::new(1000), rate);
            now = now.max(pacer.next()) + Duration::from_micros(70);
        }
        let took = now.saturating_since(begun);
        assert!(took <= Duration::from_millis(1000), "{took:?}");
        assert!(took >= Duration::from_millis(994), "{took:?}");
    }
}
