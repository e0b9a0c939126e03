//! What a link is made of, and the text form of its queue's limit.

use crate::time::Duration;
use crate::units::{Bytes, ParseError, Probability, Rate};
use std::fmt;
use std::str::FromStr;

/// The parameters of one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkConfig {
    /// Bottleneck rate; `None` sends in no time.
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Limit of the drop-tail queue, the packet being sent included.
    pub queue: QueueLimit,
    /// Probability that a packet is lost.
    pub packet_loss: Probability,
    /// Probability that a bit is wrong; one wrong bit loses its packet.
    pub bit_errors: Probability,
    /// Seed of the losses.
    pub seed: u64,
}

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
