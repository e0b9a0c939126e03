//! Quantities with their units in the type, and one text form for each, parsed once at the edge.
//!
//! KB and MB are decimal (1000), KiB and MiB binary (1024), as in IEC 80000-13.

mod arithmetic;
mod offset;

pub use offset::Offset;

use crate::time::Duration;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Why a quantity's text was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text has no leading number, or the number is not finite.
    #[error("`{text}` does not begin with a number (expected something like `{example}`)")]
    Number {
        /// What was given.
        text: String,
        /// A text that would have been understood.
        example: &'static str,
    },
    /// The number is negative.
    #[error("`{text}` is negative (expected something like `{example}`)")]
    Negative {
        /// What was given.
        text: String,
        /// A text that would have been understood.
        example: &'static str,
    },
    /// The unit behind the number is missing or unknown.
    #[error("`{text}` has no known unit (expected something like `{example}`)")]
    Unit {
        /// What was given.
        text: String,
        /// A text that would have been understood.
        example: &'static str,
    },
    /// The number is outside what the quantity can hold.
    #[error("`{text}` is out of range (expected {range})")]
    Range {
        /// What was given.
        text: String,
        /// What the quantity can hold.
        range: &'static str,
    },
}

/// Splits "1.5Mbit/s" into 1.5 and "Mbit/s", allowing spaces between.
fn number_and_unit<'a>(text: &'a str, example: &'static str) -> Result<(f64, &'a str), ParseError> {
    let text = text.trim();
    // The exponent's sign belongs to the number; any other letter starts the unit.
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let digit_follows = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
        match bytes[end] {
            b'0'..=b'9' | b'.' => end += 1,
            b'e' | b'E' if digit_follows(end + 1) => end += 1,
            b'e' | b'E'
                if matches!(bytes.get(end + 1), Some(b'-' | b'+')) && digit_follows(end + 2) =>
            {
                end += 2;
            }
            _ => break,
        }
    }
    let error = || ParseError::Number { text: text.to_owned(), example };
    if let [b'-', b'0'..=b'9' | b'.', ..] = bytes {
        return Err(ParseError::Negative { text: text.to_owned(), example });
    }
    let number: f64 = text[..end].parse().map_err(|_| error())?;
    if !number.is_finite() {
        return Err(error());
    }
    Ok((number, text[end..].trim()))
}

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rate(u64);

impl Rate {
    const EXAMPLE: &'static str = "8Mbit/s";
    const RANGE: &'static str = "0bit/s, or 1bit/s to 1000000Gbit/s";

    /// A rate of `bits` bits per second.
    pub const fn from_bits_per_sec(bits: u64) -> Rate {
        Rate(bits)
    }

    /// Bits per second.
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// How long `bytes` take to be sent at this rate, rounded up to the nanosecond so that no
    /// queue drains faster than its line. [`Duration::MAX`] at rate zero.
    pub fn time_for(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        const BITS: u64 = 8 * 1_000_000_000;
        // 64 bits do for up to 2.3 GB, and divide several times faster than 128.
        let nanos = match bytes.checked_mul(BITS) {
            Some(nanobits) => Some(nanobits.div_ceil(self.0)),
            None => {
                let nanobits = u128::from(bytes) * u128::from(BITS);
                u64::try_from(nanobits.div_ceil(u128::from(self.0))).ok()
            }
        };
        nanos.map_or(Duration::MAX, Duration::from_nanos)
    }

    /// How many whole bytes this rate carries in `span`.
    pub fn bytes_in(self, span: Duration) -> u64 {
        let bits = u128::from(self.0) * span.as_nanos() / 1_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Rate, ParseError> {
        let (number, unit) = number_and_unit(text, Self::EXAMPLE)?;
        let factor = match unit {
            "bit/s" | "bps" => 1.0,
            "kbit/s" | "Kbit/s" | "kbps" | "Kbps" => 1e3,
            "Mbit/s" | "Mbps" => 1e6,
            "Gbit/s" | "Gbps" => 1e9,
            _ => return Err(ParseError::Unit { text: text.into(), example: Self::EXAMPLE }),
        };
        let bits = number * factor;
        if bits > 1e15 || (bits < 1.0 && bits > 0.0) {
            return Err(ParseError::Range { text: text.into(), range: Self::RANGE });
        }
        Ok(Rate(bits.round() as u64))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0 as f64;
        match self.0 {
            1_000_000_000.. => write!(f, "{}Gbit/s", bits / 1e9),
            1_000_000.. => write!(f, "{}Mbit/s", bits / 1e6),
            1_000.. => write!(f, "{}kbit/s", bits / 1e3),
            _ => write!(f, "{}bit/s", self.0),
        }
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A count of bytes: a size, a window, a distance in a stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(u64);

impl Bytes {
    const EXAMPLE: &'static str = "64KiB";

    /// `count` bytes.
    pub const fn new(count: u64) -> Bytes {
        Bytes(count)
    }

    /// How many.
    pub const fn count(self) -> u64 {
        self.0
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Bytes, ParseError> {
        let (number, unit) = number_and_unit(text, Self::EXAMPLE)?;
        let factor = match unit {
            "B" | "" => 1.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(ParseError::Unit { text: text.into(), example: Self::EXAMPLE }),
        };
        let bytes = number * factor;
        if bytes > 1e18 {
            return Err(ParseError::Range { text: text.into(), range: "0B to 1000000000GB" });
        }
        Ok(Bytes(bytes.round() as u64))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KIB: u64 = 1024;
        const MIB: u64 = 1024 * KIB;
        match self.0 {
            n if n >= MIB && n % MIB == 0 => write!(f, "{}MiB", n / MIB),
            n if n >= KIB && n % KIB == 0 => write!(f, "{}KiB", n / KIB),
            n if n >= 1_000_000 => write!(f, "{}MB", n as f64 / 1e6),
            n if n >= 1_000 => write!(f, "{}KB", n as f64 / 1e3),
            n => write!(f, "{n}B"),
        }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A probability, 0 to 1.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

impl Probability {
    const EXAMPLE: &'static str = "1e-6";
    /// Never.
    pub const ZERO: Probability = Probability(0.0);
    /// Always.
    pub const ONE: Probability = Probability(1.0);

    /// A probability, if `value` lies in 0 to 1.
    pub fn new(value: f64) -> Option<Probability> {
        (0.0..=1.0).contains(&value).then_some(Probability(value))
    }

    /// The number between 0 and 1.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl FromStr for Probability {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Probability, ParseError> {
        let (number, unit) = number_and_unit(text, Self::EXAMPLE)?;
        let value = match unit {
            "" => number,
            "%" => number / 100.0,
            _ => return Err(ParseError::Unit { text: text.into(), example: Self::EXAMPLE }),
        };
        Probability::new(value)
            .ok_or_else(|| ParseError::Range { text: text.into(), range: "0 to 1, or 0% to 100%" })
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 != 0.0 && self.0 < 1e-3 {
            write!(f, "{:e}", self.0)
        } else {
            write!(f, "{}", self.0)
        }
    }
}

impl fmt::Debug for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads a span of time such as "250ms", "1.5s" or "20us".
///
/// # Errors
/// [`ParseError`] if there is no number, no known unit, or the span exceeds a century.
pub fn parse_duration(text: &str) -> Result<Duration, ParseError> {
    const EXAMPLE: &str = "250ms";
    let (number, unit) = number_and_unit(text, EXAMPLE)?;
    let nanos_per_unit = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        _ => return Err(ParseError::Unit { text: text.into(), example: EXAMPLE }),
    };
    let nanos = number * nanos_per_unit;
    if nanos > 3.2e18 {
        return Err(ParseError::Range { text: text.into(), range: "0s to 880000h" });
    }
    Ok(Duration::from_nanos(nanos.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms_are_read_and_written_back() {
        let rate: Rate = "1.5Mbit/s".parse().unwrap();
        assert_eq!(rate, Rate::from_bits_per_sec(1_500_000));
        assert_eq!(rate.to_string(), "1.5Mbit/s");
        assert_eq!("64KiB".parse(), Ok(Bytes::new(65_536)));
        assert_eq!("10 MB".parse(), Ok(Bytes::new(10_000_000)));
        assert_eq!("1e-6".parse::<Probability>().unwrap().value(), 1e-6);
        assert_eq!("0.5%".parse::<Probability>().unwrap().value(), 0.005);
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("1e-3s"), Ok(Duration::from_millis(1)));
        for bytes in [0, 1, 1023, 65_536, 10_000_000] {
            assert_eq!(Bytes::new(bytes).to_string().parse(), Ok(Bytes::new(bytes)));
        }
    }

    #[test]
    fn bad_text_is_named_with_an_example() {
        assert!(matches!("fast".parse::<Rate>(), Err(ParseError::Number { .. })));
        assert!(matches!("8".parse::<Rate>(), Err(ParseError::Unit { .. })));
        assert!(matches!("-1Mbit/s".parse::<Rate>(), Err(ParseError::Negative { .. })));
        assert!(matches!("--1Mbit/s".parse::<Rate>(), Err(ParseError::Number { .. })));
        assert!(matches!("-fast".parse::<Rate>(), Err(ParseError::Number { .. })));
        let negative = parse_duration("-5ms").unwrap_err().to_string();
        assert!(negative.starts_with("`-5ms` is negative"), "{negative}");
        assert!(matches!("1.5".parse::<Probability>(), Err(ParseError::Range { .. })));
        let range = "1.5".parse::<Probability>().unwrap_err().to_string();
        assert_eq!(range, "`1.5` is out of range (expected 0 to 1, or 0% to 100%)");
        let message = parse_duration("250").unwrap_err().to_string();
        assert!(message.contains("250ms"), "{message}");
    }

    #[test]
    fn serialisation_time_is_exact() {
        let rate = Rate::from_bits_per_sec(8_000_000);
        assert_eq!(rate.time_for(1500), Duration::from_micros(1500));
        assert_eq!(Rate::from_bits_per_sec(3).time_for(1), Duration::from_nanos(2_666_666_667));
        assert_eq!(rate.bytes_in(Duration::from_millis(500)), 500_000);
        assert_eq!(Rate::from_bits_per_sec(0).time_for(1), Duration::MAX);
    }
}
