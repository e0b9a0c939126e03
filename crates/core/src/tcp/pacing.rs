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

/// The longest burst of a sender that has a rate, in time.
pub const BURST: Duration = Duration::from_millis(1);

/// How far a sender that is late may catch up. Without it every late wake-up would lower the
/// rate: at 8 Mbit/s a segment takes 1.5 ms, and a real timer is a twentieth of that late.
const CATCH_UP: Duration = Duration::from_millis(5);

/// The same if something waited for its moment, and the wake-up came late, as on a machine whose
/// processors are taken away. The link's queue has to hold what is sent at once then.
const CATCH_UP_LATE: Duration = Duration::from_millis(50);

/// When the next segment may leave.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Pacer {
    next: Instant,
    /// The moment for which something waits, or has waited and not yet caught up.
    awaited: Option<Instant>,
}

impl Pacer {
    /// The moment from which a segment may leave.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Nothing is to leave before this moment.
    pub fn pause(&mut self, until: Instant) {
        self.next = self.next.max(until);
    }

    /// Something may leave at this moment at the latest.
    pub fn hasten(&mut self, latest: Instant) {
        self.next = self.next.min(latest);
    }

    /// Something is to leave at `moment`, and waits for it.
    pub fn wait(&mut self, moment: Instant) {
        self.awaited = Some(moment);
    }

    /// Nothing waits any more.
    pub fn stop_waiting(&mut self) {
        self.awaited = None;
    }

    /// `bytes` left at `now`, at `rate`.
    pub fn sent(&mut self, now: Instant, bytes: Bytes, rate: Rate) {
        let earliest = (now - CATCH_UP)
            .min(self.awaited.unwrap_or(Instant::FAR_FUTURE))
            .max(now - CATCH_UP_LATE);
        self.next = self.next.max(earliest) + rate.time_for(bytes.count());
        if self.next > now {
            self.stop_waiting();
        }
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
    fn what_was_sent_slowly_is_no_debt_at_a_higher_rate() {
        let (mut pacer, now) = (Pacer::default(), Instant::from_millis(100));
        pacer.sent(now, Bytes::new(10_000), Rate::from_bits_per_sec(8_000));
        pacer.hasten(now + Duration::from_millis(3));
        assert_eq!(pacer.next(), now + Duration::from_millis(3));
        pacer.hasten(now + Duration::from_millis(4));
        assert_eq!(pacer.next(), now + Duration::from_millis(3), "it puts nothing off");
    }

    /// What leaves in ten seconds at 8 Mbit/s, in milliseconds of the line, if every 200 ms the
    /// machine is away for `away`.
    fn carried(away: Duration, waits: bool) -> u64 {
        let rate = Rate::from_bits_per_sec(8_000_000);
        let (mut pacer, mut now) = (Pacer::default(), Instant::from_millis(1000));
        let (end, mut sent) = (now + Duration::from_secs(10), 0);
        while now < end {
            while pacer.next() <= now {
                pacer.sent(now, Bytes::new(1000), rate);
                sent += 1;
            }
            if waits {
                pacer.wait(pacer.next());
            }
            let halted = now.as_nanos() / 200_000_000 != pacer.next().as_nanos() / 200_000_000;
            now = pacer.next() + if halted { away } else { Duration::ZERO };
        }
        sent
    }

    #[test]
    fn who_waits_for_the_pacer_keeps_the_rate_on_a_machine_that_halts() {
        for away in [20, 45] {
            let sent = carried(Duration::from_millis(away), true);
            assert!((9_990..=10_010).contains(&sent), "{away} ms: {sent}");
        }
        let sent = carried(Duration::from_millis(150), true);
        assert!(sent < 9_500, "no burst is longer than the limit: {sent}");
        let sent = carried(Duration::from_millis(20), false);
        assert!(sent < 9_400, "who does not wait catches up 5 ms: {sent}");
    }

    #[test]
    fn only_what_was_late_has_a_burst() {
        let rate = Rate::from_bits_per_sec(8_000_000);
        let at = Instant::from_millis;
        let after = |awaited: Option<u64>| {
            let mut pacer = Pacer::default();
            pacer.sent(at(1000), Bytes::new(10_000), rate);
            match awaited {
                Some(moment) => pacer.wait(at(moment)),
                None => pacer.stop_waiting(),
            }
            pacer.sent(at(1100), Bytes::new(1_000), rate);
            pacer.next()
        };
        assert_eq!(after(None), at(1096));
        assert_eq!(after(Some(1100)), at(1096), "in time");
        assert_eq!(after(Some(1080)), at(1081));
        assert_eq!(after(Some(1005)), at(1051));
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
