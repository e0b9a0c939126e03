//! Values of parameters that occur in several places, each with what is expected of its text.

use crate::time::Duration;
use crate::units::{Bytes, Probability, Rate, parse_duration};

/// What [`probability`] understands.
pub const PROBABILITY: &str = "a probability like `0.01` or `1%`";
/// What [`span`] understands.
pub const SPAN: &str = "a time like `100ms`";
/// What [`switch`] understands.
pub const SWITCH: &str = "`on` or `off`";
/// What [`rate`] understands.
pub const RATE: &str = "a rate like `8Mbit/s`";
/// What [`bytes`] understands.
pub const BYTES: &str = "a length like `30KB`";

/// A number above zero.
pub fn positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite())
}

/// A probability.
pub fn probability(text: &str) -> Option<Probability> {
    text.parse().ok()
}

/// A time that is not zero.
pub fn span(text: &str) -> Option<Duration> {
    parse_duration(text).ok().filter(|span| !span.is_zero())
}

/// Whether something is on.
pub fn switch(text: &str) -> Option<bool> {
    match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// A rate above zero.
pub fn rate(text: &str) -> Option<Rate> {
    text.parse().ok().filter(|rate: &Rate| rate.bits_per_sec() > 0)
}

/// A number of bytes above zero.
pub fn bytes(text: &str) -> Option<Bytes> {
    text.parse().ok().filter(|bytes: &Bytes| bytes.count() > 0)
}
