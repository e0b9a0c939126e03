//! Constant-Rate (Floyd; Henderson's thesis, 4.1.4): c·rtt² segments each round trip, at most one
//! segment an acknowledgment.
//!
//! The rate then grows by c segments a second each second, however long the round trip is: c = 1 /
//! rtt² makes a connection as aggressive as a standard one of that round-trip time.

use super::per_ack::PerAck;
use super::{AckEvent, Increase, Increment};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct ConstantRate {
    c: f64,
    per_ack: PerAck,
}

impl ConstantRate {
    /// With `c` in segments per second squared: 4 to 1600 in the thesis.
    pub fn new(c: f64) -> ConstantRate {
        ConstantRate { c, per_ack: PerAck::default() }
    }
}

impl Increase for ConstantRate {
    fn increase(&mut self, window: Bytes, ack: &AckEvent) -> Increment {
        // Before the first measurement as a standard connection.
        let segments = ack.srtt.map_or(1.0, |rtt| self.c * rtt.as_secs_f64().powi(2));
        self.per_ack.increase(segments, window, ack.smss)
    }

    fn restart(&mut self) {
        self.per_ack.restart();
    }
}
