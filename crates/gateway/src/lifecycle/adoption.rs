//! A flow that begins in mid-life: its hosts have spoken to each other, and go on with us; and one
//! that is released in mid-life, so that it may begin once more.

use super::SplicedFlow;
use super::closing::CloseState;
use crate::Side;
use crate::config::Config;
use crate::handshake::{Added, Completed, PassedSyn, SessionRecord};
use crate::key::Endpoint;
use crate::leg::{Leg, PerLeg};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;

impl<B: Buffer> SplicedFlow<B> {
    /// `streams` hold what has come from each host and is not acknowledged by the other one: all of
    /// that was forwarded. The leg of its sender acknowledges it now, and the other one sees that
    /// it arrives.
    pub(crate) fn adopt(
        now: Instant,
        config: &Config,
        begun: Completed,
        streams: PerLeg<B>,
        first: Bytes,
    ) -> Self {
        let mut flow = SplicedFlow::new(now, config, begun, first);
        flow.splice.adopt(now, streams);
        for leg in Leg::BOTH {
            let delivered = flow.splice.tcb(leg.other()).sender.snd_una();
            flow.tuners[leg].begin_at(delivered);
            flow.keep_ahead(leg);
            if !flow.splice.undelivered(leg).is_zero() {
                flow.splice.tcb_mut(leg).receiver.ack_now(Cause::Segments);
            }
        }
        flow
    }

    /// What the hosts have agreed on, for when they go on without us. None if a host has closed its
    /// direction, is heard on another path, or has agreed on something with us alone.
    pub(crate) fn record(
        &self,
        sides: PerLeg<Side>,
        ends: PerLeg<Endpoint>,
    ) -> Option<SessionRecord> {
        let ending = match self.closing.state() {
            CloseState::Open => false,
            CloseState::Releasing(releasing) => releasing.ends || releasing.unheard.is_some(),
            _ => true,
        };
        let tcbs = PerLeg::of(|leg| self.splice.tcb(leg));
        let fins = tcbs.iter().any(|tcb| tcb.receiver.fin_received());
        if ending || fins || self.added != Added::Nothing || self.is_unconfirmed() {
            return None;
        }
        let [client, server] = tcbs.into_array();
        let agreed = |leg: Leg| {
            let tcb = tcbs[leg];
            (tcb.receiver.sack(), tcb.handshake().timestamps.is_some())
        };
        let shifts = PerLeg::of(|leg| tcbs[leg].handshake().snd_shift);
        let relayed = shifts[Leg::Client] == server.receiver.window_shift()
            && shifts[Leg::Server] == client.receiver.window_shift();
        if !relayed || agreed(Leg::Client) != agreed(Leg::Server) {
            return None;
        }
        let (sack, stamped) = agreed(Leg::Client);
        let scaled = shifts.iter().any(|shift| *shift > 0);
        let syns = PerLeg::of(|leg| {
            let tcb = tcbs[leg];
            // No more than the host has offered.
            let mss = (tcb.sender.smss() + tcb.options_len()).count().min(u64::from(u16::MAX));
            let shift = scaled.then_some(shifts[leg]);
            let isn = tcb.handshake().rcv_isn;
            PassedSyn::known(isn, Some(mss as u16), shift, [sack, stamped])
        });
        let traffic_class = self.splice.leg(Leg::Server).ip.traffic_class;
        let next = PerLeg::of(|leg| tcbs[leg].receiver.rcv_nxt());
        Some(SessionRecord { ends, from: sides[Leg::Client], traffic_class, syns, next })
    }
}
