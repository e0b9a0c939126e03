//! The standard increase: one segment each round trip (RFC 5681, 3.1, by counting bytes).

use super::{AckSample, Increase};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Increase-by-one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Standard {
    /// Bytes acknowledged since the last increase.
    acked: Bytes,
}

impl Increase for Standard {
    fn increase(&mut self, window: Bytes, acked: &AckSample) -> Bytes {
        self.acked += acked.bytes;
        if self.acked < window {
            return Bytes::ZERO;
        }
        self.acked -= window;
        acked.smss
    }

    fn restart(&mut self) {
        self.acked = Bytes::ZERO;
    }
}
