//! The standard increase: one segment each round trip (RFC 5681, 3.1, by counting bytes).

use super::{AckSample, Increase};
use serde::{Deserialize, Serialize};

/// Increase-by-one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Standard {
    /// Bytes acknowledged since the last increase.
    acked: u64,
}

impl Increase for Standard {
    fn increase(&mut self, window: u64, acked: &AckSample) -> u64 {
        self.acked += acked.bytes;
        if self.acked < window {
            return 0;
        }
        self.acked -= window;
        acked.smss
    }

    fn restart(&mut self) {
        self.acked = 0;
    }
}
