//! A connection's name: its two endpoints, whichever of them a packet comes from.

use bentpipe_core::wire::{IpHeader, TcpHeader};
use std::net::IpAddr;

/// An address and a port.
pub(crate) type Endpoint = (IpAddr, u16);

/// The two endpoints of a connection, in an order that does not depend on the direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowKey {
    low: Endpoint,
    high: Endpoint,
}

impl FlowKey {
    pub(crate) fn of(ip: &IpHeader, tcp: &TcpHeader) -> FlowKey {
        Self::between((ip.src, tcp.src_port), (ip.dst, tcp.dst_port))
    }

    /// The lower of the two, or the other.
    pub(crate) fn end(&self, low: bool) -> Endpoint {
        if low { self.low } else { self.high }
    }

    /// Whether `end` is the lower of the two.
    pub(crate) fn is_low(&self, end: Endpoint) -> bool {
        end == self.low
    }

    pub(crate) fn between(one: Endpoint, other: Endpoint) -> FlowKey {
        FlowKey { low: one.min(other), high: one.max(other) }
    }
}
