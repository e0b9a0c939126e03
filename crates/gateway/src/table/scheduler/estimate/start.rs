//! The beginning on a link of which nothing is known.
//!
//! Until something has arrived, trains of ten segments leave, one every 100 ms. One flow with an
//! initial window of ten (RFC 6928) that begins so often is as fast. And a short queue never meets
//! more than ten. As soon as the trains show a rate, the window is what fills the link at that. For
//! a round trip it follows what more of them show.

use super::super::trains::{Shown, Trains};
use super::segment::SEGMENT;
use crate::announce::Report;
use bentpipe_core::tcp::congestion::LinkReport;
use bentpipe_core::time::{Duration, Instant};

/// What all flows may have in flight before anything has arrived, in bytes: what one of them may
/// begin with.
pub(super) const START: f64 = 50.0 * SEGMENT;

/// A train in bytes of payload, and the time from one to the next.
const TRAIN: f64 = 10.0 * SEGMENT;
pub(super) const INTERVAL: Duration = Duration::from_millis(100);

/// So many times what may be in flight at first is the most that trains make of it: of a link of
/// 300 Mbit/s by a geostationary satellite. Trains that show more may have seen the port of a
/// policer, which lets them pass. It makes an eighth of it.
const LEAP: f64 = 320.0;
const DOUBTFUL: f64 = 40.0;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Start {
    trains: Trains,
    /// Bytes of the present train.
    train: f64,
    delivered: bool,
    lost: bool,
    /// Since trains have shown a rate: the end of the first round trip.
    leapt: Option<Instant>,
}

impl Start {
    /// A packet leaves. True, if the next one is to be the first of another train.
    pub(super) fn on_sent(&mut self, payload: u64) -> bool {
        self.train += payload as f64;
        let ends = !self.delivered && self.train > TRAIN - SEGMENT / 2.0;
        if ends {
            self.train = 0.0;
        }
        ends
    }

    /// Bytes that lack in the present train, as long as there are trains.
    pub(super) fn train_left(&self) -> Option<f64> {
        (!self.delivered).then_some(TRAIN - self.train)
    }

    /// A flow has seen something of the link.
    pub(super) fn on_report(&mut self, report: LinkReport) {
        self.delivered |= !report.delivered.is_zero();
        self.lost |= !report.lost.is_zero();
    }

    /// The rate at which lost segments leave again where a round trip takes `base` seconds, in
    /// bytes a second: all at once, they would meet the queue that had no room for them. What flows
    /// that send little have shown says nothing: a train in a round trip is no burst.
    pub(super) fn repairs_at(&self, base: f64) -> Option<f64> {
        self.lost.then(|| self.trains.fastest()).flatten().map(|rate| rate.max(TRAIN / base))
    }

    /// A peer has reported what has arrived. The last of that had `left` then.
    pub(super) fn on_peer_report(&mut self, left: Instant, report: Report) {
        self.trains.on_report(report, Some(left));
    }

    /// What trains show, where a round trip takes `base` seconds; and when what left by what they
    /// have shown is acknowledged at the earliest.
    pub(super) fn leap(&mut self, now: Instant, base: f64) -> Option<(Shown, Instant)> {
        let shown = self.trains.shown()?;
        let settled = *self.leapt.get_or_insert(now + Duration::from_secs_f64(base));
        if shown.perhaps * base > LEAP * START {
            let rate = shown.rate.min(DOUBTFUL * START / base);
            return Some((Shown { rate, perhaps: rate }, settled));
        }
        Some((shown, settled))
    }
}
