//! HighSpeed TCP (RFC 3649): with windows above 38 segments it grows faster and shrinks less, so
//! that 83,000 segments go with one loss in ten million, and not with one in five milliards.
//!
//! The response function is a line through (Low_P, Low_Window) and (High_P, High_Window) on
//! logarithmic scales (section 5), b(w) falls along such a line too, and a(w) follows from both.
//! They are computed, where others look them up in the table of appendix B.

use super::{AckEvent, CongestionEvent, Increase, Increment};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Low_Window: up to here it is the standard.
const LOW_WINDOW: f64 = 38.0;
/// Low_P: the standard's rate of losses with that window.
const LOW_P: f64 = 1e-3;
const HIGH_WINDOW: f64 = 83_000.0;
const HIGH_P: f64 = 1e-7;
/// b(High_Window).
const HIGH_DECREASE: f64 = 0.1;

/// How far `w` is from Low_Window to High_Window, on a logarithmic scale.
fn part(w: f64) -> f64 {
    (w / LOW_WINDOW).ln() / (HIGH_WINDOW / LOW_WINDOW).ln()
}

/// p(w): the rate of losses at which the window is `w` segments on average.
pub(super) fn loss_rate(w: f64) -> f64 {
    LOW_P * (HIGH_P / LOW_P).powf(part(w))
}

/// b(w): by what part the window shrinks.
pub(super) fn decrease(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 0.5;
    }
    // Windows beyond what the RFC has in mind shrink as its greatest does.
    (0.5 + (HIGH_DECREASE - 0.5) * part(w)).max(HIGH_DECREASE)
}

/// a(w): by how many segments it grows in a round trip.
pub(super) fn increase(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    let b = decrease(w);
    (w * w * loss_rate(w) * 2.0 * b / (2.0 - b)).max(1.0)
}

/// See the module's head.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct HighSpeed {
    /// Fractions of a byte that are still to be added.
    fraction: f64,
}

impl Increase for HighSpeed {
    fn increase(&mut self, window: Bytes, ack: &AckEvent) -> Increment {
        let w = window.as_f64() / ack.smss.as_f64();
        let bytes = increase(w) * ack.acked.as_f64() / w + self.fraction;
        self.fraction = bytes.fract();
        Bytes::from_f64(bytes).into()
    }

    fn decrease(&mut self, event: &CongestionEvent) -> Bytes {
        let w = event.flight_size.as_f64() / event.smss.as_f64();
        let left = event.flight_size.as_f64() * (1.0 - decrease(w));
        Bytes::from_f64(left).max(2 * event.smss)
    }

    fn restart(&mut self) {
        self.fraction = 0.0;
    }
}
