//! A carrier that other pairs of gateways use, too, and know to be shared.
//!
//! A pair that drains a link which others keep full learns nothing: the queue stays. Each takes the
//! others' for the path's own round trip, or for rivals. So they drain it together, at multiples of
//! ten seconds of the wall clock. Clocks that agree within half a round trip are enough, as a drain
//! takes two.
//!
//! - The target of the queue is longer by the root of what the carrier bears over what the pair has
//!   of it. So a pair that has less fills more, and equal shares are the only ones that last. The
//!   queue of n pairs is root n times as long as that of one. (FAST TCP keeps equal bytes of each
//!   flow in the queue, so n times as many.)
//! - Round trips vary as others' windows do. So the target does not follow that, and no window is
//!   raised to see whether more is delivered: it would be the others'.
//! - A loss next to a short queue is the carrier's, any other one the queue's.

use bentpipe_core::time::{Duration, Instant};

/// From one moment to the next, in seconds and in round trips at least: a power of two times the
/// former, so that pairs whose round trips differ have every second or fourth one in common.
const APART: f64 = 10.0;
const APART_ROUNDS: f64 = 30.0;

/// How what the carrier is held to bear fades in a second.
const FADING: f64 = 0.998;

/// So many times as long the queue's target is at most, for the pair with the smallest share.
const MOST: f64 = 3.0;

/// See the module's head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carrier {
    /// What the wall clock said when the run began.
    clock: Duration,
    /// The latest moment.
    last: Instant,
    /// What it bears in all, in bytes a second.
    capacity: f64,
    /// The path was held to be longer since, with a queue that others may have filled.
    doubted: bool,
}

impl Carrier {
    /// One of which nothing is known. The wall clock said this much when the run began.
    pub(super) fn new(clock: Duration) -> Carrier {
        Carrier { clock, last: Instant::ZERO, capacity: 0.0, doubted: false }
    }

    /// Goes by a wall clock that was set: it said so much then.
    pub(super) fn set_clock(&mut self, clock: Duration) {
        self.clock = clock;
    }

    /// Whether a common moment has come, where a round trip takes `base` seconds.
    pub(super) fn is_due(&mut self, now: Instant, base: f64) -> bool {
        let period = period(base);
        let number = |at: Instant| ((at + self.clock).as_secs_f64() / period) as u64;
        let is_due = number(now) > number(self.last);
        if is_due {
            self.last = now;
        }
        is_due
    }

    /// A round of so many seconds has brought so many bytes a second.
    pub(super) fn note_rate(&mut self, span: f64, rate: f64) {
        self.capacity = (self.capacity * FADING.powf(span)).max(rate);
    }

    /// Trains have shown that it bears so many bytes a second.
    pub(super) fn note_capacity(&mut self, rate: f64) {
        self.capacity = self.capacity.max(rate);
    }

    /// So many times a lone pair's is the queue to be, where `rate` bytes a second are ours.
    pub(super) fn factor(&self, rate: f64) -> f64 {
        (self.capacity / rate).sqrt().clamp(1.0, MOST)
    }

    /// The path is held to be longer.
    pub(super) fn doubt(&mut self) {
        self.doubted = true;
    }

    /// Whether it was since the latest drain: then even a long queue would look short.
    pub(super) fn take_doubt(&mut self) -> bool {
        std::mem::take(&mut self.doubted)
    }
}

/// The seconds between two moments, where a round trip takes `base`.
fn period(base: f64) -> f64 {
    let rounds = (APART_ROUNDS * base / APART).max(1.0);
    APART * rounds.log2().ceil().exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_long_round_trips_are_some_of_those_of_shorter_ones() {
        let periods = [0.001, 0.05, 0.33, 0.34, 0.6, 1.4].map(period);
        assert_eq!(periods, [10.0, 10.0, 10.0, 20.0, 20.0, 80.0]);
    }

    #[test]
    fn moments_are_the_wall_clocks() {
        let mut carrier = Carrier::new(Duration::from_secs(1_796_040_003));
        let mut due = |millis: u64| carrier.is_due(Instant::from_millis(millis), 0.05);
        assert_eq!(
            [6_900, 7_000, 7_100, 16_999, 17_001].map(&mut due),
            [false, true, false, false, true]
        );
        carrier.set_clock(Duration::from_secs(1_796_040_000));
        let mut due = |millis: u64| carrier.is_due(Instant::from_millis(millis), 0.05);
        assert_eq!([19_999, 20_001].map(&mut due), [false, true]);
    }

    #[test]
    fn a_smaller_share_has_a_longer_target() {
        let mut carrier = Carrier::new(Duration::ZERO);
        carrier.note_capacity(4e6);
        assert_eq!([8e6, 4e6, 1e6, 1e3].map(|rate| carrier.factor(rate)), [1.0, 1.0, 2.0, 3.0]);
        // What was found is forgotten slowly, but for what the pair has itself.
        carrier.note_rate(1_000.0, 2e6);
        assert_eq!(carrier.factor(2e6), 1.0);
    }
}
