//! Packets and connections at an interface: those of a host, or of a gateway's side.
//!
//! A capture there would have them. A packet is sent when it is handed to the link, in front of the
//! link's queue. It is received when it comes out of the line.

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

/// The direction in which a packet passed an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the host or gateway.
    Sent,
    /// To it.
    Received,
}

/// The place of a capture: a host, or a side of a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interface {
    /// The number of the host or gateway in the scenario.
    pub node: NodeIndex,
    /// Of a gateway: which side.
    pub side: Option<Side>,
}

/// A packet at an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// When.
    pub at: Instant,
    /// The place.
    pub interface: Interface,
    /// The direction.
    pub direction: Direction,
    /// The bytes of its headers, whose checksums are those of the whole packet.
    pub headers: Headers,
    /// The whole packet's length in bytes.
    pub len: u64,
    /// Of a TCP segment that the host or gateway itself sends: why. A segment that a gateway
    /// forwards as it came has none.
    pub cause: Option<Cause>,
    /// Of a TCP segment with a SYN: which flow's connection begins.
    pub flow: Option<Arc<str>>,
}

/// One end of a connection: a host, or a gateway's leg in its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// The place; of a leg, the side towards which it sends.
    pub interface: Interface,
    /// Its own address and port.
    pub local: SocketAddr,
    /// Its peer's.
    pub remote: SocketAddr,
}

/// A TCP segment at an interface.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    /// The direction.
    pub direction: Direction,
    /// Its header.
    pub tcp: &'a TcpHeader,
    /// Length of its payload in bytes.
    pub len: usize,
    /// If it is sent: why.
    pub cause: Option<Cause>,
}

/// The results of a leg's handshake: first the leg's own, then its host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreed {
    /// Initial sequence numbers.
    pub isns: [SeqNum; 2],
    /// By how much window fields are shifted.
    pub shifts: [u8; 2],
}

/// One end of a connection, after an event or at the end of its sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// Its state; a gateway's leg has none.
    pub state: Option<State>,
    /// The limit that keeps its next segment back; None while it may have one.
    pub limiter: Option<Limiter>,
    /// Its synchronised part.
    pub tcb: Option<Observation>,
    /// Of a gateway's leg.
    pub agreed: Option<Agreed>,
    /// The host forgets it.
    pub over: bool,
}

/// A receiver of what connections do at hosts and gateways. It comes in the order of time.
pub trait EventSink: fmt::Debug {
    /// A segment passes the interface. What it has changed follows.
    fn segment(&mut self, at: Instant, end: &End, segment: Passage<'_>);

    /// What may have changed.
    fn observed(&mut self, at: Instant, end: &End, observed: &Observed);
}

/// A receiver of captured packets. They come in the order of time.
pub trait PacketSink: fmt::Debug {
    /// Takes a packet. What goes wrong in doing so is the sink's own to tell.
    fn packet(&mut self, packet: &Captured);
}
