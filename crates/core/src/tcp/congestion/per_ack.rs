//! The increase of Henderson's thesis, 4.1: `cwnd += min(a / cwnd, 1 segment)` for each
//! acknowledgment, whatever it acknowledges, which is about `a` segments each round trip.

use serde::{Deserialize, Serialize};

/// Fractions of a byte that are still to be added.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct PerAck {
    fraction: f64,
}

impl PerAck {
    /// By how many bytes a window of `window` bytes grows for one acknowledgment, if it is to
    /// grow by `segments` a round trip.
    pub(super) fn increase(&mut self, segments: f64, window: u64, smss: u64) -> u64 {
        let cwnd = window as f64 / smss as f64;
        let bytes = (segments / cwnd).min(1.0) * smss as f64 + self.fraction;
        self.fraction = bytes.fract();
        bytes as u64
    }
}
