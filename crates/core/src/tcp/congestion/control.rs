//! Congestion control by its parameters.

use super::{Classic, Congestion, SlowStart, Standard};

/// The congestion control algorithm with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Control {
    /// Slow start, increase by one segment a round trip, halving (RFC 5681).
    #[default]
    Standard,
}

impl Control {
    /// A fresh instance for segments of `smss` bytes.
    pub fn congestion(self, slow_start: SlowStart, smss: u64) -> Box<dyn Congestion> {
        match self {
            Control::Standard => Box::new(Classic::new(slow_start, smss, Standard::default())),
        }
    }
}
