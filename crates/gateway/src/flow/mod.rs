//! One connection through the gateway: two legs and two streams.
//!
//! Leg 0 looks towards the client (the host that sent the SYN), leg 1 towards the server. Stream
//! i holds what has arrived on leg i and is owed to the other leg. Sequence numbers are the same
//! everywhere, so a stream is one buffer: the receiver of one leg writes it, the sender of the
//! other reads it, and what it holds is the back-pressure.

mod closing;
mod early;
mod leaving;
mod leg;
mod opening;
mod silence;
mod sizing;
mod split;
mod terms;

pub(crate) use closing::Ending;
pub use leaving::Departure;
pub(crate) use leg::{CLIENT, SERVER};
pub(crate) use opening::{Opening, Relay};
pub(crate) use split::{Allowance, Packet, Split};

use crate::Side;
use crate::key::{Endpoint, FlowKey};
use bentpipe_core::time::Instant;

/// A flow in the table.
#[derive(Debug)]
pub(crate) struct Flow<B> {
    /// The host that sent the SYN.
    pub(crate) client: Endpoint,
    pub(crate) server: Endpoint,
    /// The side of each leg.
    pub(crate) sides: [Side; 2],
    pub(crate) phase: Phase<B>,
    /// When its SYN came.
    pub(crate) began: Instant,
    /// What each leg's sender wants of its link, as counted in the gateway's sum.
    pub(crate) demand: [u64; 2],
    /// The flow's end has been counted.
    pub(crate) end_noted: bool,
    /// When the gateway looks at this flow again; never later than what the flow needs.
    pub(crate) armed: Option<Instant>,
    /// The flow is in the queue of those that may have something to send.
    pub(crate) queued: bool,
}

/// How far a flow has come.
#[derive(Debug)]
pub(crate) enum Phase<B> {
    /// Between the SYN and the client's acknowledgment of the SYN-ACK.
    Opening(Box<Opening>),
    /// Both handshakes are complete as seen from here.
    Split(Box<Split<B>>),
}

impl<B> Flow<B> {
    /// The flow's name in the table.
    pub(crate) fn key(&self) -> FlowKey {
        FlowKey::between(self.client, self.server)
    }

    /// The hosts of the legs.
    pub(crate) fn ends(&self) -> [Endpoint; 2] {
        [self.client, self.server]
    }

    /// Which leg a packet came in on: that of the host which is its source. None if the packet
    /// is of another connection or came from the wrong side.
    pub(crate) fn leg_of(&self, packet: &Packet<'_>) -> Option<usize> {
        let src = (packet.ip.src, packet.tcp.src_port);
        let leg = if src == self.client { CLIENT } else { SERVER };
        (self.sides[leg] == packet.from).then_some(leg)
    }
}
