//! What becomes of a packet, and what is sent.

use super::scheduler::Sent;
use crate::Side;
use crate::leg::Leg;
use crate::observe::Reason;
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::units::Offset;
use bentpipe_core::wire::{AckRewrite, Flags, IpHeader, TcpHeader};
use std::ops::Range;

/// What is to become of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// The gateway has dealt with it.
    Consumed,
    /// Forward it as it is.
    Forward(Reason),
    /// Forward it with another acknowledgment than it came with.
    RewriteAck(Reason, AckRewrite),
}

/// A packet to be sent. Its payload is fetched with [`Gateway::payload`](super::Gateway::payload)
/// before anything else is asked of the gateway.
#[derive(Debug, Clone)]
pub struct Transmit {
    /// The side towards which it goes.
    pub to: Side,
    /// The IP header.
    pub ip: IpHeader,
    /// The TCP header.
    pub tcp: TcpHeader,
    /// Payload bytes in each wire segment, if the payload exceeds one.
    pub gso_size: Option<u16>,
    /// Why it is sent.
    pub cause: Cause,
    pub(super) source: Option<(usize, Leg)>,
    pub(super) data: Range<Offset>,
}

impl Transmit {
    /// Payload length in bytes.
    pub fn payload_len(&self) -> usize {
        (self.data.end - self.data.start).as_len()
    }

    /// Tells a bare acknowledgment from all others.
    pub fn is_bare_ack(&self) -> bool {
        self.tcp.flags == Flags::ACK && self.payload_len() == 0
    }

    /// How many packets it becomes.
    pub(super) fn packets(&self) -> usize {
        self.gso_size.map_or(1, |size| self.payload_len().div_ceil(usize::from(size)))
    }

    /// What it is for the link: all packets that it becomes.
    pub(super) fn sent(&self) -> Sent {
        let (payload, packets) = (self.payload_len(), self.packets());
        let bytes = packets * (self.ip.wire_len() + self.tcp.wire_len()) + payload;
        Sent { bytes: bytes as u64, payload: payload as u64 }
    }
}
