//! What a workload asks for: connections, and ways of datagrams.

use crate::world::NodeId;
use bentpipe_core::tcp::connection::ConnectionConfig;
use std::ops::RangeInclusive;

/// How many ports a service has: one, and those that stand for other servers' addresses.
pub(super) const SERVICE_PORTS: u16 = 1000;

/// What is called: which ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// The Web: port 80 and on. Web caches take its connections.
    Web,
    /// All else: port 5001 and on.
    Other,
}

impl Service {
    /// Its ports.
    pub fn ports(self) -> RangeInclusive<u16> {
        let first = match self {
            Service::Web => 80,
            Service::Other => 5001,
        };
        first..=first + (SERVICE_PORTS - 1)
    }
}

/// A connection to be opened. Of each pair, the caller's comes first.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// The host that calls.
    pub from: NodeId,
    /// The host that is called.
    pub to: NodeId,
    /// For what.
    pub service: Service,
    /// TCP at both.
    pub tcp: [ConnectionConfig; 2],
    /// The marks of both ends' notices.
    pub tags: [u64; 2],
    /// What the caller sends at once: with its SYN if both speak T/TCP.
    pub send: u64,
    /// The caller closes behind that.
    pub close: bool,
}

/// A way of datagrams from one host to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Socket {
    pub(super) to: NodeId,
    pub(super) dst_port: u16,
    pub(super) src_port: u16,
    pub(super) from: NodeId,
}
