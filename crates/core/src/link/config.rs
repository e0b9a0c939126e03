//! The parameters of one direction of a link.

use super::{Framing, LossKind, Order, Outages, QueueKind, QueueLimit, Varying};
use crate::time::Duration;
use crate::units::{Probability, Rate};

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
