//! The standard increase: one segment each round trip (RFC 5681, 3.1, by counting bytes).

use super::{AckEvent, Increase, Increment};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Increase-by-one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Standard {
    /// Bytes acknowledged since the last increase.
    acked: Bytes,
}

impl Increase for Standard {
    fn increase(&mut self, window: Bytes, ack: &AckEvent) -> Increment {
        self.acked += ack.acked;
        if self.acked < window {
            return Increment::default();
        }
        self.acked -= window;
        ack.smss.into()
    }

    fn restart(&mut self) {
        self.acked = Bytes::ZERO;
    }
}
