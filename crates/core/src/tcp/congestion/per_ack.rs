//! The increase of Henderson's thesis, 4.1: `cwnd += min(a / cwnd, 1 segment)` for each
//! acknowledgment, whatever it acknowledges, which is about `a` segments each round trip.

use super::Increment;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Fractions of a byte that are still to be added.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct PerAck {
    fraction: f64,
}

impl PerAck {
    /// By how much a window of `window` bytes grows for one acknowledgment, if it is to
    /// grow by `segments` a round trip.
    pub(super) fn increase(&mut self, segments: f64, window: Bytes, smss: Bytes) -> Increment {
        let cwnd = window.as_f64() / smss.as_f64();
        let bytes = (segments / cwnd).min(1.0) * smss.as_f64() + self.fraction;
        self.fraction = bytes.fract();
        Increment { bytes: Bytes::from_f64(bytes), bound: Some(segments > cwnd) }
    }

    /// A loss: what was accumulated is void.
    pub(super) fn restart(&mut self) {
        self.fraction = 0.0;
    }
}
