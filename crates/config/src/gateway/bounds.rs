//! What keys take between a minimum and a maximum that make sense, and how both are said.

use crate::document::Node;
use crate::reader::{Context, FromNode, Result};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate};
use std::fmt;
use std::ops::RangeInclusive;

/// A link slower than this does not carry a packet within TCP's longest timeout, and no machine
/// that this runs on fills a faster one.
pub(super) const RATES: RangeInclusive<Rate> =
    Rate::from_bits_per_sec(1_000)..=Rate::from_bits_per_sec(100_000_000_000);

/// From a cable to half of TCP's usual longest timeout.
pub(super) const ROUND_TRIPS: RangeInclusive<Span> =
    Span(Duration::from_micros(100))..=Span(Duration::from_secs(30));

/// A span of time as it is written: `250ms`, `10min`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span(pub(super) Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u128); 5] = [
            ("h", 3_600_000_000_000),
            ("min", 60_000_000_000),
            ("s", 1_000_000_000),
            ("ms", 1_000_000),
            ("us", 1_000),
        ];
        let nanos = self.0.as_nanos();
        match UNITS.into_iter().find(|(_, unit)| nanos != 0 && nanos.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{}{name}", nanos / unit),
            None if nanos == 0 => f.write_str("0s"),
            None => write!(f, "{nanos}ns"),
        }
    }
}

impl FromNode for Span {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Span> {
        Duration::from_node(context, node).map(Span)
    }
}

impl FromNode for Size {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Size> {
        Bytes::from_node(context, node).map(|bytes| Size(bytes.count()))
    }
}

/// Says what would do, unless `value` does.
pub(super) fn check_range<T: PartialOrd + fmt::Display>(
    key: &str,
    value: &T,
    range: &RangeInclusive<T>,
) -> std::result::Result<(), String> {
    if range.contains(value) {
        return Ok(());
    }
    Err(format!("{key}: {value} is out of range ({} to {})", range.start(), range.end()))
}

/// Bytes as text: `64KB to 1GiB` rather than `64000B to 1024MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Size(pub(super) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const GIB: u64 = 1 << 30;
        match self.0 {
            count if count >= GIB && count.is_multiple_of(GIB) => write!(f, "{}GiB", count / GIB),
            count if count < 1 << 20 && count.is_multiple_of(1_000) && count > 0 => {
                write!(f, "{}KB", count / 1_000)
            }
            count if count < 1_024 => write!(f, "{count}B"),
            count => Bytes::new(count).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::units::parse_duration;

    #[test]
    fn spans_and_sizes_are_written_as_they_are_read() {
        for text in ["0s", "1h", "90s", "10min", "250ms", "100us", "7ns"] {
            assert_eq!(Span(parse_duration(text).unwrap()).to_string(), text);
        }
        for text in ["0B", "64KB", "63KiB", "1MiB", "1GiB", "1023B"] {
            assert_eq!(Size(text.parse::<Bytes>().unwrap().count()).to_string(), text);
        }
    }
}
