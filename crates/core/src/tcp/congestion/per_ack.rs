//! The increase of Henderson's thesis, 4.1: `cwnd += min(a / cwnd, 1 segment)` for each
//! acknowledgment, whatever it acknowledges, which is about `a` segments each round trip.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Fractions of a byte that are still to be added, and how often the bound of one segment was in effect.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct PerAck {
    fraction: f64,
    count: BoundCount,
}

/// How often an increase was held to one segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundCount {
    /// Acknowledgments in congestion avoidance.
    pub acks: u64,
    /// Those for which the window grew by one segment, and would have grown by more.
    pub bound: u64,
}

impl PerAck {
    /// By how many bytes a window of `window` bytes grows for one acknowledgment, if it is to
    /// grow by `segments` a round trip.
    pub(super) fn increase(&mut self, segments: f64, window: Bytes, smss: Bytes) -> Bytes {
        let cwnd = window.as_f64() / smss.as_f64();
        self.count.acks += 1;
        self.count.bound += u64::from(segments > cwnd);
        let bytes = (segments / cwnd).min(1.0) * smss.as_f64() + self.fraction;
        self.fraction = bytes.fract();
        Bytes::from_f64(bytes)
    }

    /// A loss: what was accumulated is void.
    pub(super) fn restart(&mut self) {
        self.fraction = 0.0;
    }

    pub(super) fn count(&self) -> BoundCount {
        self.count
    }
}
