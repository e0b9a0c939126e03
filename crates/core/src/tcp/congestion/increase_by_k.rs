//! Increase-by-K (Henderson's thesis, 4.1.5): K segments each round trip, at most one segment an
//! acknowledgment.

use super::per_ack::PerAck;
use super::{AckSample, Increase};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct IncreaseByK {
    k: f64,
    per_ack: PerAck,
}

impl IncreaseByK {
    /// With `k` segments; the thesis finds 2 to 4 to help a long connection and to harm no other.
    pub fn new(k: f64) -> IncreaseByK {
        IncreaseByK { k, per_ack: PerAck::default() }
    }
}

impl Increase for IncreaseByK {
    fn increase(&mut self, window: Bytes, acked: &AckSample) -> Bytes {
        self.per_ack.increase(self.k, window, acked.smss)
    }

    fn restart(&mut self) {
        self.per_ack = PerAck::default();
    }
}
