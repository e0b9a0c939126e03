//! SEARCH: leave slow start when sent data no longer arrives a round trip later.
//!
//! Draft-chung-ccwg-search-09 ("Slow start Exit At Right CHokepoint"; Kachooei et al., WoWMoM
//! 2024). In slow start the bytes delivered in a window of time are those sent one round trip
//! earlier. At the path's capacity deliveries stand still while sending still doubles. The window
//! is 3.5 initial round trips, which smooths the delay of radio links. It is counted in ten bins.
//! Delays that rise a little, which end HyStart++, do not end it.
//!
//! The round-trip time over which is compared rises with the queue. Without losses only the
//! beginning of the window then shows a difference. It is great enough when the queue holds 3.5
//! bandwidth-delay products. Shorter queues overflow, and the loss ends slow start.
//!
//! Then the queue drains: a segment leaves for three that arrive, until the window is what arrived
//! in the last initial round trip.
//!
//! The constants and the target of the drain are the draft's. The drain's pace and its least target
//! of ten segments are those of the authors' Linux module 4.0. Differences:
//!
//! - The earlier of two bins is interpolated, as in Firefox's neqo. The draft names the later one,
//!   by mistake.
//! - Bins begin again when more than a window of them were missed, which the draft leaves open.
//! - Bytes are not shifted into 16 bits.

use super::AckEvent;
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The window of time, in initial round-trip times.
const WINDOW_FACTOR: f64 = 3.5;
/// W: bins in that window.
const BINS: usize = 10;
/// EXTRA_BINS: by so many a round-trip time may go back.
const EXTRA_BINS: usize = 15;
/// THRESH: the share of what was sent that does not arrive at the path's capacity.
const THRESHOLD: f64 = 0.26;
/// Segments that arrive for each that leaves in the drain.
const DRAIN: u64 = 3;
/// The least target, in segments.
const MIN_TARGET: u64 = 10;

/// What the window is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchPhase {
    /// Grow by what is acknowledged.
    SlowStart,
    /// Not grow, and become no greater than this.
    Drain(Bytes),
    /// Become no greater than this, and go over to congestion avoidance.
    Over(Bytes),
}

/// Bytes by the end of a bin, since the connection began.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Bin {
    delivered: Bytes,
    sent: Bytes,
}

/// The queue is draining.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Drain {
    target: Bytes,
    /// Bytes delivered for which nothing has left yet.
    owed: Bytes,
}

/// The bins of a slow start.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Search {
    /// The last of them, the newest at the back.
    bins: VecDeque<Bin>,
    initial_rtt: Duration,
    bin_end: Instant,
    lost: Bytes,
    drain: Option<Drain>,
}

impl Search {
    /// Whether the queue is draining.
    pub(super) fn drains(&self) -> bool {
        self.drain.is_some()
    }

    /// An acknowledgment in slow start.
    pub(super) fn on_ack(&mut self, ack: &AckEvent) -> SearchPhase {
        self.lost += ack.lost;
        if self.drain.is_some() {
            return self.drain(ack);
        }
        // Every byte sent has been delivered, has been lost, or is in flight.
        let sent = ack.delivered + self.lost + ack.in_flight;
        let bin = Bin { delivered: ack.delivered, sent };
        if self.bins.is_empty() {
            self.begin(ack, bin);
            return SearchPhase::SlowStart;
        }
        if ack.now <= self.bin_end {
            return SearchPhase::SlowStart;
        }
        if self.end_bins(ack, bin) && self.is_full(ack.rtt) {
            let target = self.target().max(MIN_TARGET * ack.smss);
            self.drain = Some(Drain { target, owed: Bytes::ZERO });
            return self.drain(ack);
        }
        SearchPhase::SlowStart
    }

    fn bin_duration(&self) -> Duration {
        self.initial_rtt.mul_f64(WINDOW_FACTOR) / BINS as u32
    }

    fn begin(&mut self, ack: &AckEvent, bin: Bin) {
        let Some(rtt) = ack.rtt.filter(|rtt| rtt.as_nanos() > 100) else { return };
        self.initial_rtt = rtt;
        self.bin_end = ack.now + self.bin_duration();
        self.bins.push_back(bin);
    }

    /// Ends the bins whose time is over. False if so many were missed that all are forgotten.
    fn end_bins(&mut self, ack: &AckEvent, bin: Bin) -> bool {
        let over = ack.now.saturating_since(self.bin_end).as_nanos();
        let passed = over / self.bin_duration().as_nanos() + 1;
        if passed > BINS as u128 {
            self.bins.clear();
            self.begin(ack, bin);
            return false;
        }
        let last = self.bins.back().copied().unwrap_or(bin);
        for _ in 1..passed {
            self.bins.push_back(last);
        }
        self.bins.push_back(bin);
        let oldest = self.bins.len().saturating_sub(BINS + EXTRA_BINS + 1);
        self.bins.drain(..oldest);
        self.bin_end += self.bin_duration() * passed as u32;
        true
    }

    /// The bin that ended so many before the last one.
    fn back(&self, bins: usize) -> Option<Bin> {
        self.bins.len().checked_sub(1 + bins).and_then(|index| self.bins.get(index).copied())
    }

    /// Whether the path is full: norm_diff, if there are bins enough for it.
    fn is_full(&self, rtt: Option<Duration>) -> bool {
        rtt.and_then(|rtt| self.norm_diff(rtt)).is_some_and(|diff| diff >= THRESHOLD)
    }

    /// The share of what was sent in the window a round trip ago that has not arrived in this one.
    fn norm_diff(&self, rtt: Duration) -> Option<f64> {
        let bins = rtt.as_secs_f64() / self.bin_duration().as_secs_f64();
        let (whole, part) = (bins as usize, bins.fract());
        let sent = |back: usize| {
            let (last, first) = (self.back(back)?.sent, self.back(back + BINS)?.sent);
            // What was late counts as lost and as delivered, until that is known: the sum may fall.
            Some(last.saturating_sub(first).as_f64())
        };
        let earlier = sent(whole + 1)?;
        let sent = earlier * part + sent(whole)? * (1.0 - part);
        let delivered = self.delivered(BINS)?.as_f64();
        (sent > 0.0).then(|| 1.0 - delivered / sent)
    }

    /// What has arrived in the last initial round trip: the path's product without a queue.
    fn target(&self) -> Bytes {
        let bins = (BINS as f64 / WINDOW_FACTOR).ceil() as usize;
        self.delivered(bins).unwrap_or_default()
    }

    /// What was delivered in the last bins.
    fn delivered(&self, bins: usize) -> Option<Bytes> {
        Some(self.back(0)?.delivered.saturating_sub(self.back(bins)?.delivered))
    }

    fn drain(&mut self, ack: &AckEvent) -> SearchPhase {
        let Some(drain) = &mut self.drain else { return SearchPhase::SlowStart };
        drain.owed += ack.newly;
        let segments = drain.owed / (DRAIN * ack.smss);
        drain.owed = drain.owed.saturating_sub(segments * DRAIN * ack.smss);
        let window = ack.in_flight + segments * ack.smss;
        if window <= drain.target {
            return SearchPhase::Over(drain.target);
        }
        SearchPhase::Drain(window)
    }
}
