//! Scalable TCP (Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM
//! CCR 33(2), 2003): up by the part a of what is acknowledged, down by the part b for a loss.
//!
//! The round trips in which a loss is made up for, ln(1 / (1 − b)) / ln(1 + a), then do not depend
//! on the window: 13.4 with a = 0.01 and b = 1/8. Up to the legacy window, below which the standard
//! would have a greater one at the same rate of losses, it is the standard.

use super::{AckEvent, CongestionEvent, Increase, Increment, Standard};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scalable {
    a: f64,
    b: f64,
    /// Up to the legacy window.
    standard: Standard,
    /// Above it: fractions of a byte that are still to be added.
    fraction: f64,
}

impl Scalable {
    /// The paper's parameters.
    pub const A: f64 = 0.01;
    /// The same.
    pub const B: f64 = 0.125;
    /// lwnd, in segments.
    pub const LEGACY_WINDOW: u64 = 16;

    /// Up by the part `a`, and down by the part `b`.
    pub fn new(a: f64, b: f64) -> Scalable {
        Scalable { a, b, standard: Standard::default(), fraction: 0.0 }
    }
}

impl Increase for Scalable {
    fn increase(&mut self, window: Bytes, ack: &AckEvent) -> Increment {
        if window <= Self::LEGACY_WINDOW * ack.smss {
            return self.standard.increase(window, ack);
        }
        let bytes = self.a * ack.acked.as_f64() + self.fraction;
        self.fraction = bytes.fract();
        Bytes::from_f64(bytes).into()
    }

    fn decrease(&mut self, event: &CongestionEvent) -> Bytes {
        if event.flight_size <= Self::LEGACY_WINDOW * event.smss {
            return event.half();
        }
        Bytes::from_f64(event.flight_size.as_f64() * (1.0 - self.b))
    }

    fn restart(&mut self) {
        self.standard.restart();
        self.fraction = 0.0;
    }
}
