//! The round trip without a queue, and its variation.
//!
//! The minimum round trip of late is the path's own. A queue of ours that never empties would pass
//! for it after a while. A path that has become longer would pass for a queue. To tell, the
//! [estimate](super::Estimate) drains the link now and then.

use bentpipe_core::time::{Duration, Instant};
use std::collections::VecDeque;

/// How long a round trip may be the minimum: so many of its kind, and this at least.
const KEPT_ROUNDS: u32 = 90;
const KEPT: Duration = Duration::from_secs(30);

/// The queue that is kept standing at most, in seconds, and as a part of the round trip: enough to
/// see that the link is full.
const QUEUE: f64 = 0.015;
const QUEUE_SHARE: f64 = 0.05;

/// The same in any case: what a burst of a few segments makes of it.
const MIN_QUEUE: f64 = 0.002;

/// On a path whose round trips vary, so many times what they vary by, and so many seconds at most.
const VARIATIONS: f64 = 3.0;
const MAX_QUEUE: f64 = 0.020;

/// The weight of the latest change of a round trip in its variation.
const WEIGHT: f64 = 0.1;

/// See the module's head. Times are in seconds.
#[derive(Debug, Default)]
pub(super) struct Path {
    /// Round trips, each less than those behind it.
    rising: VecDeque<(Instant, f64)>,
    variation: f64,
}

impl Path {
    /// A round trip was measured.
    pub(super) fn on_rtt(&mut self, now: Instant, rtt: f64) {
        while self.rising.back().is_some_and(|(_, earlier)| *earlier >= rtt) {
            self.rising.pop_back();
        }
        self.rising.push_back((now, rtt));
        let kept = KEPT.max(Duration::from_secs_f64(rtt) * KEPT_ROUNDS);
        while self.rising.len() > 1 && now.saturating_since(self.rising[0].0) > kept {
            self.rising.pop_front();
        }
    }

    /// The path is another one, whose round trip takes this.
    pub(super) fn replace(&mut self, now: Instant, rtt: f64) {
        self.rising.clear();
        self.rising.push_back((now, rtt));
    }

    /// The minimum round trip, if one was measured.
    pub(super) fn base(&self) -> Option<f64> {
        self.rising.front().map(|(_, rtt)| *rtt)
    }

    /// From one round to the next the round trip has changed by so much, though nothing was done.
    pub(super) fn vary(&mut self, change: f64) {
        self.variation += WEIGHT * (change.abs().min(MAX_QUEUE) - self.variation);
    }

    /// The queue that is to stand.
    pub(super) fn queue(&self) -> f64 {
        self.min_queue().max(self.varies_by())
    }

    /// Whether round trips vary by as much as a queue that is to stand.
    pub(super) fn varies(&self) -> bool {
        self.varies_by() > self.min_queue()
    }

    fn min_queue(&self) -> f64 {
        (self.base().unwrap_or(0.0) * QUEUE_SHARE).clamp(MIN_QUEUE, QUEUE)
    }

    fn varies_by(&self) -> f64 {
        (VARIATIONS * self.variation).min(MAX_QUEUE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(seconds)
    }

    #[test]
    fn the_minimum_round_trip_counts_until_it_is_old() {
        let mut path = Path::default();
        assert_eq!(path.base(), None);
        for (seconds, rtt) in [(0.0, 0.06), (1.0, 0.05), (2.0, 0.07), (29.0, 0.09)] {
            path.on_rtt(at(seconds), rtt);
        }
        assert_eq!(path.base(), Some(0.05));
        path.on_rtt(at(31.5), 0.08);
        assert_eq!(path.base(), Some(0.07), "that of the second second is gone");
        path.replace(at(32.0), 0.1);
        assert_eq!(path.base(), Some(0.1));
        // Of a long path longer.
        path.replace(at(40.0), 0.6);
        path.on_rtt(at(90.0), 0.7);
        assert_eq!(path.base(), Some(0.6));
    }

    #[test]
    fn the_queue_follows_the_round_trip_and_its_variation() {
        let queue = |rtt: f64, change: f64| {
            let mut path = Path::default();
            path.on_rtt(at(0.0), rtt);
            (0..100).for_each(|_| path.vary(change));
            (path.queue() * 1e4).round() / 10.0
        };
        assert_eq!(queue(0.6, 0.0), 15.0);
        assert_eq!(queue(0.1, 0.0), 5.0);
        assert_eq!(queue(0.01, 0.0), 2.0);
        assert_eq!(queue(0.1, -0.003), 9.0);
        assert_eq!(queue(0.6, 1.0), 20.0);
    }
}
