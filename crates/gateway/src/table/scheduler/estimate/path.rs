//! The round trip without a queue, and its variation.
//!
//! The minimum round trip of late is the path's own. A queue of ours that never empties would pass
//! for it after a while. A path that has become longer would pass for a queue. To tell, the
//! [estimate](super::Estimate) drains the link now and then.
//!
//! Where a peer reports arrivals, the queue is what segments take longer than the least
//! [one way](OneWay). It is no more than the round trip's, and not much less, whatever a peer says.

use super::minimum::Minimum;
use super::one_way::OneWay;
use crate::announce::Report;
use bentpipe_core::time::Instant;

/// The queue that is kept standing at most, in seconds, and as a part of the round trip: enough to
/// see that the link is full.
const QUEUE: f64 = 0.015;
const QUEUE_SHARE: f64 = 0.05;

/// The same in any case: what a burst of a few segments makes of it.
const MIN_QUEUE: f64 = 0.002;

/// On a path whose round trips vary, so many times what they vary by, and so many seconds at most.
/// Of a path's own changes about half pass for the window's.
const VARIATIONS: f64 = 6.0;
const MAX_QUEUE: f64 = 0.020;

/// The weight of the latest change of a round trip in its variation.
const WEIGHT: f64 = 0.1;

/// The shortest round trip in seconds: there are rates by it.
const MIN_ROUND_TRIP: f64 = 0.000_01;

/// What acknowledgments may wait for on their way, in seconds, by what a peer reports.
const MAX_BACK: f64 = 0.25;

/// See the module's head. Times are in seconds.
#[derive(Debug, Default)]
pub(super) struct Path {
    round_trip: Minimum,
    one_way: OneWay,
    variation: f64,
}

impl Path {
    /// A round trip was measured.
    pub(super) fn on_rtt(&mut self, now: Instant, rtt: f64) {
        let rtt = rtt.max(MIN_ROUND_TRIP);
        self.round_trip.take(now, rtt, rtt);
    }

    /// When that segment has arrived was reported, too. How long it has taken, one way, beyond the
    /// first one.
    pub(super) fn on_peer_report(&mut self, now: Instant, rtt: f64, report: Report) -> Option<f64> {
        self.one_way.on_report(now, rtt, report)
    }

    /// The path is another one, whose round trip takes so much more.
    pub(super) fn lengthen(&mut self, now: Instant, longer: f64) {
        if let Some(base) = self.base() {
            self.round_trip.replace(now, base + longer);
            self.one_way.lengthen(now, longer);
        }
    }

    /// The minimum round trip, if one was measured.
    pub(super) fn base(&self) -> Option<f64> {
        self.round_trip.get()
    }

    /// The queue in a round in which segments took so long: a round trip, and one way if that is
    /// known.
    pub(super) fn queue_in(&self, rtt: f64, one_way: Option<f64>) -> f64 {
        let queue = rtt - self.base().unwrap_or(rtt);
        let of_ours = one_way.zip(self.one_way.least()).map(|(way, least)| way - least);
        of_ours.map_or(queue, |ours| ours.clamp((queue - MAX_BACK).max(0.0), queue.max(0.0)))
    }

    /// From one round to the next the queue has changed by so much, and what was done to the window
    /// would change it by as much as `ours`: with an empty queue, nothing.
    pub(super) fn vary(&mut self, change: f64, ours: f64) {
        let explained =
            if change > 0.0 { ours.clamp(0.0, change) } else { ours.clamp(change, 0.0) };
        let change = (change - explained).abs();
        self.variation += WEIGHT * (change.min(MAX_QUEUE) - self.variation);
    }

    /// The queue that is to stand.
    pub(super) fn queue(&self) -> f64 {
        self.min_queue().max(self.varies_by())
    }

    /// The longest queue that is left by chance where a drain was to leave none.
    pub(super) fn queue_left(&self) -> f64 {
        self.min_queue().max(self.varies_by() / 2.0)
    }

    /// Whether round trips vary by as much as a queue that is to stand.
    pub(super) fn varies(&self) -> bool {
        self.varies_by() > self.min_queue()
    }

    /// The same, if round trips vary for no reason of the path.
    pub(super) fn min_queue(&self) -> f64 {
        (self.base().unwrap_or(0.0) * QUEUE_SHARE).clamp(MIN_QUEUE, QUEUE)
    }

    fn varies_by(&self) -> f64 {
        (VARIATIONS * self.variation).min(MAX_QUEUE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announce::{Arrivals, ByteCount, Identity};

    #[test]
    fn the_queue_follows_the_round_trip_and_its_variation() {
        let queue = |rtt: f64, change: f64| {
            let mut path = Path::default();
            path.on_rtt(Instant::ZERO, rtt);
            (0..100).for_each(|_| path.vary(change, 0.0));
            (path.queue() * 1e4).round() / 10.0
        };
        assert_eq!(queue(0.6, 0.0), 15.0);
        assert_eq!(queue(0.1, 0.0), 5.0);
        assert_eq!(queue(0.01, 0.0), 2.0);
        assert_eq!(queue(0.1, -0.003), 18.0);
        assert_eq!(queue(0.6, 1.0), 20.0);
    }

    #[test]
    fn what_the_window_explains_is_no_variation_of_the_path() {
        let varies_by = |change: f64, ours: f64| {
            let mut path = Path::default();
            path.on_rtt(Instant::ZERO, 0.6);
            (0..100).for_each(|_| path.vary(change, ours));
            (path.variation * 1e3).round()
        };
        assert_eq!(varies_by(0.010, 0.025), 0.0);
        assert_eq!(varies_by(-0.010, -0.004), 6.0);
        assert_eq!(varies_by(0.010, -0.025), 10.0, "the other way");
        assert_eq!(varies_by(0.0, 0.025), 0.0, "the link took it");
    }

    #[test]
    fn what_waits_on_the_way_back_is_no_queue_but_for_as_much_as_is_believed() {
        let mut path = Path::default();
        let mut report = |millis: u64, there: u32, rtt: f64| {
            let micros = (millis as u32 - (rtt * 1e3) as u32 + there) * 1_000;
            let arrivals = Some(Arrivals { count: 0, micros, bytes: ByteCount::of(0) });
            let report = Report::of(Identity::OF_CARRIER).with(arrivals);
            let now = Instant::from_millis(millis);
            path.on_rtt(now, rtt);
            let one_way = path.on_peer_report(now, rtt, report);
            (path.queue_in(rtt, one_way) * 1e3).round()
        };
        assert_eq!(report(1_000, 300, 0.6), 0.0);
        assert_eq!(report(2_000, 310, 0.7), 10.0);
        assert_eq!(report(3_000, 300, 1.0), 150.0, "so much is not believed");
        assert_eq!(report(4_000, 900, 0.7), 100.0, "nor more than the round trip shows");
        assert_eq!((path.queue_in(0.7, None) * 1e3).round(), 100.0);
        path.lengthen(Instant::from_millis(5_000), 0.05);
        assert_eq!((path.queue_in(0.7, Some(0.05)) * 1e3).round(), 0.0);
    }
}
