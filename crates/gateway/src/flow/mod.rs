//! One connection through the gateway: two legs and two streams.
//!
//! Leg 0 looks towards the client (the host that sent the SYN), leg 1 towards the server. Stream
//! i holds what has arrived on leg i and is owed to the other leg. Sequence numbers are the same
//! everywhere, so a stream is one buffer: the receiver of one leg writes it, the sender of the
//! other reads it, and what it holds is the back-pressure.
//!
//! # Blind attacks (RFC 5961)
//! - **RST (3.2).** Of a split flow, only one at exactly the expected number resets; another within the
//!   window is challenged, all others are dropped ([`Tcb::on_segment`]). Of a handshake, the server's must
//!   acknowledge the SYN and the client's must begin at it ([`Syn::is_refused_by`]).
//! - **SYN (4.2).** Of an open flow, every one is challenged ([`Tcb::on_segment`]). Before the handshake is
//!   complete another one takes the first one's place, as a client may begin anew: if it was forged, the
//!   true connection is forwarded from then on. Where options were added it is forwarded and changes nothing: a
//!   server that has answered the first one challenges it. After the flow's end it is a new connection.
//! - **Data (5.2).** The acknowledgment must lie between what was sent and the largest window below what was
//!   acknowledged last ([`Tcb::on_segment`]), in data as in all else.
//! - **Throttling (7).** Two challenges a second for each flow and leg. RFC 5961's limit for the whole host would
//!   be a channel that tells attackers about other flows (CVE-2016-5696).
//! - What shows that a host hears the other one by another way needs a number within the window as well
//!   ([`Bypass`](bentpipe_core::tcp::tcb::Bypass)). ICMP errors are forwarded and change nothing here.
//!
//! [`Tcb::on_segment`]: bentpipe_core::tcp::tcb::Tcb::on_segment

mod broken;
mod closing;
mod discard;
mod early;
mod leaving;
mod leg;
mod memory;
mod opening;
mod resting;
mod silence;
mod sizing;
mod split;
mod syn;
mod terms;

use crate::leg::{Leg, PerLeg};
pub(crate) use closing::Ending;
pub use leaving::Departure;
pub(crate) use leaving::Leave;
pub(crate) use memory::Allowance;
pub(crate) use opening::Opening;
pub(crate) use resting::Resting;
pub(crate) use split::{Packet, Split};
pub(crate) use syn::{Relay, Syn};

use crate::gateway::{Standing, Turn};
use crate::key::{Endpoint, FlowKey};
use crate::{PerSide, Side};
use bentpipe_core::time::Instant;

/// A flow in the table.
#[derive(Debug)]
pub(crate) struct Flow<B> {
    /// The host that sent the SYN.
    pub(crate) client: Endpoint,
    pub(crate) server: Endpoint,
    /// The side of each leg.
    pub(crate) sides: PerLeg<Side>,
    pub(crate) phase: Phase<B>,
    /// When its last SYN before the SYN-ACK came.
    pub(crate) began: Instant,
    /// Whether it waits for the client's acknowledgment of the SYN-ACK.
    pub(crate) standing: Standing,
    /// By side: where it stands among those that share the link.
    pub(crate) turns: PerSide<Turn>,
    /// What it takes of the pool and what it holds of that, in bytes, as last accounted for.
    pub(crate) charged: usize,
    pub(crate) held: usize,
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
    /// Between the SYN-ACK and the client's acknowledgment of it.
    Opening(Box<Opening>),
    /// Both handshakes are complete as seen from here.
    Split(Box<Split<B>>),
    /// The same, while nothing happens to it.
    Resting(Resting),
    /// A defect of ours has ended it; until then who still sends is reset.
    Broken(Instant),
}

impl<B> Flow<B> {
    /// The flow's name in the table.
    pub(crate) fn key(&self) -> FlowKey {
        FlowKey::between(self.client, self.server)
    }

    /// The hosts of the legs.
    pub(crate) fn ends(&self) -> PerLeg<Endpoint> {
        PerLeg::new(self.client, self.server)
    }

    /// Which leg a packet came in on: that of the host which is its source. None if the packet
    /// is of another connection or came from the wrong side.
    pub(crate) fn leg_of(&self, packet: &Packet<'_>) -> Option<Leg> {
        let src = (packet.ip.src, packet.tcp.src_port);
        let leg = if src == self.client { Leg::Client } else { Leg::Server };
        (self.sides[leg] == packet.from).then_some(leg)
    }
}
