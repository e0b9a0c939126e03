//! Packets and connections at an interface: what a capture at each host, or at each side of a gateway, would have.
//!
//! A packet is sent when it is handed to the link, in front of the link's queue, and received
//! when it comes out of the line.

use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::tcp::connection::State;
use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::tcp::observation::Observation;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Headers, SeqNum, TcpHeader};
use bentpipe_gateway::Side;
use bentpipe_scenario::NodeIndex;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// Which way a packet passed an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the host or gateway.
    Sent,
    /// To it.
    Received,
}

/// Where something is captured: at a host, or at a side of a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interface {
    /// Which of the scenario's hosts and gateways.
    pub node: NodeIndex,
    /// Of a gateway: which side.
    pub side: Option<Side>,
}

/// A packet at an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// When.
    pub at: Instant,
    /// Where.
    pub interface: Interface,
    /// Which way.
    pub direction: Direction,
    /// The bytes of its headers, whose checksums are those of the whole packet.
    pub headers: Headers,
    /// The whole packet's length in bytes.
    pub len: u64,
    /// Of a TCP segment that the host or gateway itself sends: why. What a gateway forwards as it came has none.
    pub cause: Option<Cause>,
    /// Of a TCP segment with a SYN: which flow's connection begins.
    pub flow: Option<Arc<str>>,
}

/// One end of a connection: at a host, or a leg of a gateway, which speaks in the name of the far host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// Where; of a leg, the side towards which it sends.
    pub interface: Interface,
    /// Its own address and port.
    pub local: SocketAddr,
    /// Its peer's.
    pub remote: SocketAddr,
}

/// A TCP segment at an interface.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    /// Which way.
    pub direction: Direction,
    /// Its header.
    pub tcp: &'a TcpHeader,
    /// Length of its payload in bytes.
    pub len: usize,
    /// If it is sent: why.
    pub cause: Option<Cause>,
}

/// What the ends of a gateway's leg have agreed on in its handshake: first the leg's own, then its host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreed {
    /// Initial sequence numbers.
    pub isns: [SeqNum; 2],
    /// By how much window fields are shifted.
    pub shifts: [u8; 2],
}

/// One end of a connection, after something has happened to it, or after it has sent all that it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// Its state; a gateway's leg has none.
    pub state: Option<State>,
    /// What keeps its next segment back; None while it may have one.
    pub limiter: Option<Limiter>,
    /// Its synchronised part.
    pub tcb: Option<Observation>,
    /// Of a gateway's leg.
    pub agreed: Option<Agreed>,
    /// The host forgets it.
    pub over: bool,
}

/// Where it goes what connections do at hosts and gateways. It comes in the order of time.
pub trait EventSink: fmt::Debug {
    /// A segment passes the interface. What it has changed follows.
    fn segment(&mut self, at: Instant, end: &End, segment: Passage<'_>);

    /// What may have changed.
    fn observed(&mut self, at: Instant, end: &End, observed: &Observed);
}

/// Where captured packets go. They come in the order of time.
pub trait PacketSink: fmt::Debug {
    /// Takes a packet. What goes wrong in doing so is the sink's own to tell.
    fn packet(&mut self, packet: &Captured);
}
