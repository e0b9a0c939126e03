//! The limit of a queue, and its text form.

use super::{Count, LinkPacket};
use crate::time::Duration;
use crate::units::{Bytes, ParseError, Rate};
use std::fmt;
use std::str::FromStr;

/// How much a queue holds, the packet being sent included. A limit smaller than one packet passes
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// So many packets, whatever their lengths.
    Packets(u64),
    /// So many bytes, in wire lengths.
    Bytes(Bytes),
    /// No limit.
    Unlimited,
}

impl QueueLimit {
    /// One bandwidth-delay product: what `rate` carries in a round trip of twice `delay`.
    pub fn bandwidth_delay_product(rate: Rate, delay: Duration) -> QueueLimit {
        QueueLimit::Bytes(Bytes::new(rate.bytes_in(delay.saturating_mul(2))))
    }

    /// Whether `packet` fits where so much is held.
    #[inline]
    pub(super) fn admits(&self, held: Count, packet: &impl LinkPacket) -> bool {
        match self {
            QueueLimit::Packets(limit) => held.packets < *limit,
            QueueLimit::Bytes(limit) => held.bytes + packet.wire_len() <= limit.count(),
            QueueLimit::Unlimited => true,
        }
    }

    /// Whether so much is more than it lets in.
    pub(super) fn exceeded(&self, held: Count) -> bool {
        match self {
            QueueLimit::Packets(limit) => held.packets > *limit,
            QueueLimit::Bytes(limit) => held.bytes > limit.count(),
            QueueLimit::Unlimited => false,
        }
    }
}

impl QueueLimit {
    /// The limit that `text` describes, before a `line` if there is one, which `1bdp` refers to.
    /// None if it is no limit, or one that holds nothing: such a queue would pass nothing.
    pub(super) fn of_text(text: &str, line: Option<Line>) -> Option<QueueLimit> {
        if let Some(share) = text.strip_suffix("bdp") {
            let share: f64 = share.trim().parse().ok()?;
            return (share > 0.0 && share <= 1e6).then(|| line.map(|line| line.limit(share)))?;
        }
        match text.parse().ok()? {
            QueueLimit::Packets(0) => None,
            QueueLimit::Bytes(bytes) if bytes.count() == 0 => None,
            limit => Some(limit),
        }
    }
}

/// The line behind a queue, which limits in bandwidth-delay products (`1bdp`) refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Its rate; None: it sends in no time.
    pub rate: Option<Rate>,
    /// Its delay, one way.
    pub delay: Duration,
}

/// A queue holds ten full-sized packets even where the delay is next to nothing.
const MIN_PRODUCT: u64 = 15_000;

impl Line {
    /// `share` of rate × 2 × delay, of which a whole one is 15 KB at least.
    pub fn limit(self, share: f64) -> QueueLimit {
        let Some(rate) = self.rate else { return QueueLimit::Unlimited };
        let product = rate.bytes_in(self.delay.saturating_mul(2)).max(MIN_PRODUCT);
        QueueLimit::Bytes(Bytes::new((product as f64 * share).round() as u64))
    }
}

/// Why the text of a queue limit was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueLimitError {
    /// A number of packets that is not a whole number.
    #[error("`{0}` is not a whole number of packets (expected something like `345packets`)")]
    Packets(String),
    /// Not a number of bytes either.
    #[error(transparent)]
    Bytes(#[from] ParseError),
}

impl FromStr for QueueLimit {
    type Err = QueueLimitError;
    fn from_str(text: &str) -> Result<QueueLimit, QueueLimitError> {
        if text.trim() == "unlimited" {
            return Ok(QueueLimit::Unlimited);
        }
        let number = ["packets", "packet", "pkts"].iter().find_map(|unit| text.strip_suffix(unit));
        match number {
            Some(number) => number
                .trim()
                .parse()
                .map(QueueLimit::Packets)
                .map_err(|_| QueueLimitError::Packets(text.to_owned())),
            None => Ok(QueueLimit::Bytes(text.parse()?)),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLimit::Packets(limit) => write!(f, "{limit}packets"),
            QueueLimit::Bytes(limit) => write!(f, "{limit}"),
            QueueLimit::Unlimited => write!(f, "unlimited"),
        }
    }
}
