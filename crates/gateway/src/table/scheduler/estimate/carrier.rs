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
//! - Losses next to a short queue that stay when less is sent are the carrier's. Others are its
//!   queue's.

use super::Estimate;
use bentpipe_core::time::{Duration, Instant};

/// From one moment to the next, in seconds: twice as many where round trips take a third of a
/// second or more, and twice as many again from four thirds on. So pairs whose round trips differ a
/// little have the same moments, and others every second one in common.
const APART: f64 = 10.0;
const LONG: f64 = 1.0 / 3.0;

/// A pair that looks so many round trips after a moment is too late: others drain it no more.
const LATE: f64 = 2.0;
const MIN_LATE: f64 = 0.1;

/// How what the carrier is held to bear fades in a second.
const FADING: f64 = 0.998;

/// So many times as long the queue's target is at most, for the pair with the smallest share.
const MOST: f64 = 3.0;

/// See the module's head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carrier {
    /// What the wall clock said when the run began.
    clock: Duration,
    /// When it was last asked for moments.
    last: Instant,
    /// What it bears in all, in bytes a second.
    capacity: f64,
    /// The path was held to be longer since, with a queue that others may have filled.
    doubted: bool,
}

impl Estimate {
    /// The same link, on a carrier that other pairs use, too. The wall clock said this much when
    /// the run began.
    pub(in super::super) fn on_shared_carrier(self, clock: Duration) -> Estimate {
        Estimate { carrier: Some(Carrier::new(clock)), ..self }
    }

    /// Goes by a wall clock that was set: it said so much when the run began.
    pub(in super::super) fn set_wall_clock(&mut self, clock: Duration) {
        if let Some(carrier) = &mut self.carrier {
            carrier.set_clock(clock);
        }
    }
}

impl Carrier {
    /// One of which nothing is known. The wall clock said this much when the run began.
    fn new(clock: Duration) -> Carrier {
        Carrier { clock, last: Instant::ZERO, capacity: 0.0, doubted: false }
    }

    /// Goes by a wall clock that was set: it said so much then.
    fn set_clock(&mut self, clock: Duration) {
        self.clock = clock;
    }

    /// Whether a common moment has come just now, where a round trip takes `base` seconds.
    pub(super) fn is_due(&mut self, now: Instant, base: f64) -> bool {
        let period = period(base);
        let periods = |at: Instant| (at + self.clock).as_secs_f64() / period;
        let (before, after) = (periods(self.last), periods(now));
        self.last = now;
        let passed = after.floor() > before.floor();
        passed && after.fract() * period < (LATE * base).max(MIN_LATE)
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
    let times = (base / LONG).max(1.0);
    APART * (times.log2() / 2.0).ceil().exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_long_round_trips_are_some_of_those_of_shorter_ones() {
        let periods = [0.001, 0.05, 0.33, 0.34, 0.6, 1.3, 1.4].map(period);
        assert_eq!(periods, [10.0, 10.0, 10.0, 20.0, 20.0, 20.0, 40.0]);
    }

    #[test]
    fn moments_are_the_wall_clocks() {
        let mut carrier = Carrier::new(Duration::from_secs(1_796_040_003));
        let mut due = |millis: u64| carrier.is_due(Instant::from_millis(millis), 0.05);
        let seen = [6_900, 7_050, 7_150, 16_999, 17_001].map(&mut due);
        assert_eq!(seen, [false, true, false, false, true]);
        carrier.set_clock(Duration::from_secs(1_796_040_000));
        let mut due = |millis: u64| carrier.is_due(Instant::from_millis(millis), 0.05);
        assert_eq!([19_999, 20_001].map(&mut due), [false, true]);
    }

    /// One that begins, or comes back from a pause, drains the carrier with the others or not at
    /// all.
    #[test]
    fn a_pair_that_looks_late_waits_for_the_next_moment() {
        let mut carrier = Carrier::new(Duration::ZERO);
        let mut due = |millis: u64| carrier.is_due(Instant::from_millis(millis), 0.5);
        let seen = [105_000, 119_900, 121_500, 140_600].map(&mut due);
        assert_eq!(seen, [false, false, false, true]);
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
