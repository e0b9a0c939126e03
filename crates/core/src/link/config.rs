//! What a link is made of, and the text form of its queue's limit.

use super::{Count, Framing, LinkPacket, LossKind, Order, Outages, QueueKind, Varying};
use crate::time::Duration;
use crate::units::{Bytes, ParseError, Probability, Rate};
use std::fmt;
use std::str::FromStr;

/// The parameters of one direction of a link.
///
/// Rate, delay and loss are constant or follow a [`Schedule`](super::Schedule). A fade is a
/// schedule of `bit_errors`, or, with a modem that adapts, of `rate`.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkConfig {
    /// Bottleneck rate; `None` sends in no time. The packet being sent goes on at the new rate when
    /// it changes.
    pub rate: Option<Varying<Rate>>,
    /// What the link layer adds to each packet on the line.
    pub framing: Framing,
    /// One-way propagation delay.
    pub delay: Varying<Duration>,
    /// What a shrinking delay does to the order of packets.
    pub order: Order,
    /// The queue before the bottleneck.
    pub queue: QueueKind,
    /// How packets are lost.
    pub packet_loss: LossKind,
    /// Probability that a bit is wrong; one wrong bit loses its packet.
    pub bit_errors: Varying<Probability>,
    /// When nothing arrives.
    pub outages: Outages,
    /// Seed of the losses and of the queue.
    pub seed: u64,
}

impl LinkConfig {
    /// A link that is nothing but a cable: every packet arrives in the moment in which it is sent.
    pub const IDEAL: LinkConfig = LinkConfig {
        rate: None,
        framing: Framing::NONE,
        delay: Varying::Constant(Duration::ZERO),
        order: Order::Kept,
        queue: QueueKind::DropTail(QueueLimit::Unlimited),
        packet_loss: LossKind::NONE,
        bit_errors: Varying::Constant(Probability::ZERO),
        outages: Outages::NONE,
        seed: 0,
    };
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

    /// Whether `packet` fits where so much is held.
    #[inline]
    pub(super) fn admits(&self, held: Count, packet: &impl LinkPacket) -> bool {
        match self {
            QueueLimit::Packets(limit) => held.packets < *limit,
            QueueLimit::Bytes(limit) => held.bytes + packet.wire_len() <= limit.count(),
            QueueLimit::Unlimited => true,
        }
    }
}

impl QueueLimit {
    /// Whether so much is more than it lets in.
    pub(super) fn exceeded(&self, held: Count) -> bool {
        match self {
            QueueLimit::Packets(limit) => held.packets > *limit,
            QueueLimit::Bytes(limit) => held.bytes > limit.count(),
            QueueLimit::Unlimited => false,
        }
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
