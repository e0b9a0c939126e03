//! Increase-by-K (Henderson's thesis, 4.1.5): K segments each round trip, at most one segment an
//! acknowledgment.
//!
//! If all connections did so, nothing would be won: there must be a round-trip time from which on
//! they may (4.1.5, 4.1.7). It is compared with the minimum, so that a queue makes no connection
//! bolder.

use super::per_ack::PerAck;
use super::{AckEvent, Increase, Increment, Standard};
use crate::time::Duration;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct IncreaseByK {
    k: f64,
    above_rtt: Option<Duration>,
    per_ack: PerAck,
    /// Below.
    plain: Standard,
}

impl IncreaseByK {
    /// With `k` segments; the thesis finds 2 to 4 to help a long connection and to harm no other.
    /// Where the minimum round-trip time is not above `above_rtt`, or not known, the increase is
    /// the standard one.
    pub fn new(k: f64, above_rtt: Option<Duration>) -> IncreaseByK {
        IncreaseByK { k, above_rtt, per_ack: PerAck::default(), plain: Standard::default() }
    }

    fn is_plain(&self, ack: &AckEvent) -> bool {
        self.above_rtt.is_some_and(|above| ack.min_rtt.is_none_or(|rtt| rtt <= above))
    }
}

impl Increase for IncreaseByK {
    fn increase(&mut self, window: Bytes, ack: &AckEvent) -> Increment {
        if self.is_plain(ack) {
            return self.plain.increase(window, ack);
        }
        self.per_ack.increase(self.k, window, ack.smss)
    }

    fn restart(&mut self) {
        self.per_ack.restart();
        self.plain.restart();
    }
}
