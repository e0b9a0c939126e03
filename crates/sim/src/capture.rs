//! Packets as they pass the hosts, for whoever writes them down: what a capture at each host's
//! interface would have, with the simulator's time.
//!
//! A packet is sent when its host hands it to the link, in front of the link's queue, and received
//! when it comes out of the line.

use crate::packet::Packet;
use crate::world::NodeId;
use bentpipe_core::link::Packet as _;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::Headers;
use bentpipe_scenario::NodeIndex;
use std::fmt;

/// Which way a packet passed a host's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the host.
    Sent,
    /// To the host.
    Received,
}

/// A packet at a host's interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// When.
    pub at: Instant,
    /// At which of the scenario's hosts.
    pub host: NodeIndex,
    /// Which way.
    pub direction: Direction,
    /// The bytes of its headers; see [`Packet::headers`].
    pub headers: Headers,
    /// The whole packet's length in bytes.
    pub len: u64,
}

/// Where captured packets go. They come in the order of time.
pub trait PacketSink: fmt::Debug {
    /// Takes a packet. What goes wrong in doing so is the sink's own to tell.
    fn packet(&mut self, packet: &Captured);
}

/// A sink, and whose packets it gets.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) sink: Box<dyn PacketSink>,
    /// By node of the world: the scenario's host that it is.
    pub(crate) hosts: Vec<Option<NodeIndex>>,
}

impl Capture {
    pub(crate) fn take(&mut self, at: Instant, node: NodeId, way: Direction, packet: &Packet) {
        if let Some(Some(host)) = self.hosts.get(node) {
            let (headers, len) = (packet.headers(), packet.wire_len());
            self.sink.packet(&Captured { at, host: *host, direction: way, headers, len });
        }
    }
}
