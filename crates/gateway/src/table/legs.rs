//! The legs of a flow for those who record what they do: read only.

use super::Gateway;
use super::flow::{Flow, Phase};
use crate::Side;
use crate::key::FlowKey;
use crate::leg::Leg;
use crate::lifecycle::SplicedFlow;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::tcp::observation::Observation;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::SeqNum;
use std::net::SocketAddr;

/// A leg of a flow at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegObservation {
    /// The side towards which it sends.
    pub side: Side,
    /// The host in whose name it sends.
    pub local: SocketAddr,
    /// The host to which it does.
    pub remote: SocketAddr,
    /// What keeps its next segment back; None if one may leave.
    pub limiter: Option<Limiter>,
    /// Its TCP.
    pub tcb: Observation,
    /// The numbers of its own SYN and of its host's.
    pub isns: [SeqNum; 2],
    /// By how much the window fields of its own segments and of its host's are shifted.
    pub shifts: [u8; 2],
}

impl<B: Buffer> Gateway<B> {
    /// The legs towards the client and the server of the connection between these two, if it is
    /// split and does not hibernate.
    pub fn observe(&self, one: SocketAddr, other: SocketAddr) -> Option<[LegObservation; 2]> {
        let [one, other] = [one, other].map(|end| (end.ip(), end.port()));
        let flow = self.flows.get(*self.table.get(&FlowKey::between(one, other))?)?;
        let Phase::Spliced(spliced) = flow.phase() else { return None };
        Some(Leg::BOTH.map(|leg| LegObservation::of(flow, spliced, leg)))
    }

    /// The hosts of the flows whose timers are due at `now`: those that [`Gateway::handle_timeout`]
    /// may change.
    pub fn due(&self, now: Instant) -> impl Iterator<Item = [SocketAddr; 2]> {
        let due = self.timers.iter().take_while(move |(at, _)| *at <= now);
        due.map(|&(_, id)| [self.flows[id].client().into(), self.flows[id].server().into()])
    }

    /// The client of a flow one of whose legs is silent though nothing limits it: a defect, if all
    /// that there is to be sent has been asked for.
    pub fn unlimited(&self) -> Option<SocketAddr> {
        let unlimited = |flow: &Flow<B>| match flow.phase() {
            Phase::Spliced(spliced) => {
                Leg::BOTH.into_iter().any(|leg| spliced.limiter(leg).is_none())
            }
            _ => false,
        };
        self.flows.iter().find(|(_, flow)| unlimited(flow)).map(|(_, flow)| flow.client().into())
    }
}

impl LegObservation {
    fn of<B: Buffer>(flow: &Flow<B>, spliced: &SplicedFlow<B>, leg: Leg) -> LegObservation {
        let tcb = spliced.splice().tcb(leg);
        let handshake = tcb.handshake();
        let (client, server) = (flow.client().into(), flow.server().into());
        let (local, remote) = match leg {
            Leg::Client => (server, client),
            Leg::Server => (client, server),
        };
        LegObservation {
            side: flow.sides()[leg],
            local,
            remote,
            limiter: spliced.limiter(leg),
            tcb: Observation::of(tcb),
            isns: [handshake.snd_isn, handshake.rcv_isn],
            shifts: [tcb.receiver.window_shift(), handshake.snd_shift],
        }
    }
}
