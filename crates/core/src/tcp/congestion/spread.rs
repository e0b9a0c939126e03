//! An initial window of more than ten segments, spread over the first round trip.
//!
//! Ten segments leave at once (RFC 6928), and as many more every 100 ms: no flow begins faster than
//! one that begins anew every 100 ms, and a short queue never meets more than ten. Initial
//! Spreading (Sallantin and others, 2013, for TCP over satellites) sends the window evenly. Here
//! the ten are kept together, as their acknowledgments show what the path carries
//! ([`AckTrain`](super::ack_train::AckTrain)).

use super::Departed;
use crate::time::Duration;
use crate::units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

/// Segments that leave at once.
const BURST: u64 = 10;
/// And how long the next as many take.
const INTERVAL: Duration = Duration::from_millis(100);

/// What has left since nothing was in flight, and what of it was delivered, until the path's rate
/// is known.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Spread {
    /// What leaves at once, in bytes.
    burst: Bytes,
    sent: Bytes,
    delivered: Bytes,
    /// Of what was sent beyond the burst, what was asked for.
    told: Bytes,
    /// No more than the burst may leave before something is delivered.
    ended: bool,
}

impl Spread {
    /// For an initial window of so many bytes; None if all of it may leave at once.
    pub(super) fn of(initial_window: Bytes, smss: Bytes) -> Option<Spread> {
        let burst = BURST * smss;
        let (sent, delivered, told) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
        (initial_window > burst).then_some(Spread { burst, sent, delivered, told, ended: false })
    }

    /// A segment has left.
    pub(super) fn on_sent(&mut self, departed: &Departed) {
        if departed.in_flight == Bytes::ZERO {
            (self.sent, self.delivered, self.told) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
        }
        self.sent += departed.bytes;
    }

    /// So many bytes more were reported. True while they are of what left at once; or where others
    /// begin, too, so that this says too little of how much there is room for.
    pub(super) fn on_ack(&mut self, newly: Bytes) -> bool {
        self.delivered += newly;
        self.ended || self.delivered <= self.burst
    }

    /// Whether what leaves next is paced.
    pub(super) fn is_paced(&self) -> bool {
        self.sent >= self.burst
    }

    /// Whether more than the burst is leaving, or may.
    pub(super) fn is_under_way(&self) -> bool {
        !self.ended && self.delivered == Bytes::ZERO
    }

    /// Whether a train has shown more, once its round trip is over.
    pub(super) fn is_over(&self) -> bool {
        self.delivered >= self.burst
    }

    /// See [`SlowStart::take_spread`](super::SlowStart::take_spread).
    pub(super) fn take(&mut self) -> Bytes {
        let beyond =
            if self.is_under_way() { self.sent.saturating_sub(self.burst) } else { self.told };
        let before = std::mem::replace(&mut self.told, beyond);
        beyond.saturating_sub(before)
    }

    /// No more than the burst leaves at a beginning. The window is this.
    pub(super) fn end(&mut self) -> Bytes {
        self.ended = true;
        self.sent.max(self.burst)
    }

    /// At which rate, until something was delivered: then acknowledgments tell more.
    pub(super) fn rate(&self) -> Option<Rate> {
        let bits = self.burst.as_f64() * 8.0 / INTERVAL.as_secs_f64();
        (self.delivered == Bytes::ZERO).then(|| Rate::from_bits_per_sec(bits as u64))
    }
}

/// The initial window, in segments, of a path whose round trip takes `rtt`: ten for every 100 ms,
/// `max` at most.
pub fn segments_for(rtt: Duration, max: u32) -> u32 {
    let segments = BURST as f64 * rtt.as_secs_f64() / INTERVAL.as_secs_f64();
    (segments as u32).clamp(BURST as u32, max)
}
