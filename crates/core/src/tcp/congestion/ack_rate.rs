//! The rate at which acknowledgments return, as slow start may probe with (Shepard, 1997: "probing
//! should be done at the rate of returning acks, not at twice the rate").
//!
//! Plain slow start sends two segments for each acknowledgment at once, and so overruns a queue at
//! the bottleneck though the path is half empty. The acknowledgments of such a burst come apart by
//! what the bottleneck needs for a segment. Sending no faster than that fills the pauses between
//! bursts, and not the queue.

use super::AckEvent;
use crate::time::Instant;
use crate::units::{Bytes, Rate};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The greatest rate seen over so many pauses between acknowledgments counts: in one, a single
/// early acknowledgment would count for too much.
const PAUSES: usize = 2;

/// They are of one burst if they take no more than this part of a round trip.
const BURST: u32 = 4;

/// Faster than acknowledgments return by so much, so that a path that has become faster is noticed,
/// and one that is full tells by a loss of a few packets.
const PROBE: f64 = 1.03;

/// See the module's head.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct AckRate {
    /// When acknowledgments came and how much had been delivered then.
    recent: VecDeque<(Instant, Bytes)>,
    bytes_per_second: Option<f64>,
}

impl AckRate {
    /// An acknowledgment that reports something.
    pub(super) fn on_ack(&mut self, ack: &AckEvent) {
        let AckEvent { now, delivered, srtt, .. } = *ack;
        let srtt = srtt.unwrap_or_default();
        self.recent.push_back((now, delivered));
        if self.recent.len() <= PAUSES {
            return;
        }
        let (since, before) = self.recent.pop_front().expect("just seen");
        let pause = now.saturating_since(since);
        if !pause.is_zero() && pause <= srtt / BURST {
            let rate = (delivered - before).as_f64() / pause.as_secs_f64();
            self.bytes_per_second = Some(self.bytes_per_second.map_or(rate, |max| max.max(rate)));
        }
    }

    /// How fast to probe; none before the first burst.
    pub(super) fn probing(&self) -> Option<Rate> {
        self.bytes_per_second.map(|bytes| Rate::from_bits_per_sec((bytes * 8.0 * PROBE) as u64))
    }
}
