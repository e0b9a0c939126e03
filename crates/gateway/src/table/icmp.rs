//! ICMP errors about flows' segments: each leg has a path of its own.
//!
//! What a leg sends bears another host's address as its source, so routers complain to that host,
//! and their errors come in on the leg's side on their way to the other. They are looked up by the
//! segment that they quote. Those about what the gateway has sent end here: the host whose address
//! they go to has not sent it, and its own path is another one.

use super::broken::Whose;
use super::flow::Phase;
use super::{Disposition, Gateway};
use crate::Side;
use crate::handshake::Obstacle;
use crate::key::FlowKey;
use crate::leg::Leg;
use crate::observe::{Event, Reason};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::MIN_PATH_MTU;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{IcmpError, IcmpErrorKind};

impl<B: Buffer> Gateway<B> {
    /// Takes an ICMP error about a TCP segment that came in from `from` in a packet of `bytes`.
    ///
    /// A packet too big for a router (RFC 1191, RFC 8201) makes the leg's segments shorter; what
    /// was too long goes again at once. That a destination cannot be reached is a soft error on a
    /// leg whose handshake is over (RFC 1122, 4.2.3.9; RFC 5927, 5.2): its timers decide. During
    /// the handshake the client hears of it, as without a gateway.
    pub fn handle_icmp(
        &mut self,
        now: Instant,
        from: Side,
        error: &IcmpError,
        bytes: usize,
    ) -> Disposition {
        let quoted = &error.quoted;
        let key = FlowKey::between((quoted.src, quoted.src_port), (quoted.dst, quoted.dst_port));
        let whose = Whose::Key(key);
        let verdict = self.guarded(now, whose, |gateway| gateway.icmp(now, from, error));
        let verdict = verdict.unwrap_or(Disposition::Consumed);
        if let Disposition::Forward(reason) = verdict {
            self.summary.count_forwarded(reason, bytes);
        }
        verdict
    }

    fn icmp(&mut self, now: Instant, from: Side, error: &IcmpError) -> Disposition {
        let quoted = &error.quoted;
        let (src, dst) = ((quoted.src, quoted.src_port), (quoted.dst, quoted.dst_port));
        let key = FlowKey::between(src, dst);
        let is_unreachable = matches!(error.kind, IcmpErrorKind::Unreachable { .. });
        let Some(&id) = self.table.get(&key) else {
            let Some(syn) = self.half_open.get_mut(&key) else {
                return Disposition::Forward(Reason::NotTcp);
            };
            // Of the SYN, by a router on its way.
            let is_refused = is_unreachable
                && syn.is_from(&key, src)
                && syn.sides()[Leg::Server] == from
                && quoted.seq == syn.isn();
            if !is_refused {
                return Disposition::Forward(Reason::NotOpened);
            }
            syn.note(Obstacle::Unreachable);
            return Disposition::Forward(Reason::Unreachable);
        };
        let flow = &self.flows[id];
        let hosts = flow.ends().into();
        // The quoted segment went to the host of this leg.
        let leg = if dst == flow.client() { Leg::Client } else { Leg::Server };
        if flow.sides()[leg] != from {
            return Disposition::Forward(Reason::Route);
        }
        match flow.phase() {
            // A handshake is the hosts' own, segment by segment.
            Phase::Opening(_) | Phase::Broken(_) => return Disposition::Forward(Reason::NotOpened),
            Phase::Spliced(spliced) if !spliced.is_open() => {
                return Disposition::Forward(Reason::NotTcp);
            }
            Phase::Spliced(_) | Phase::Hibernated(_) => {}
        }
        let released = self.with_flow(id, |flow, context| {
            let released = flow.released_for();
            let tcb = &mut flow.leg_mut(leg).tcb;
            match error.kind {
                IcmpErrorKind::PacketTooBig { .. } => {
                    if tcb.on_icmp_error(now, error.kind, quoted, MIN_PATH_MTU) {
                        let (to, smss) = (dst.0, tcb.sender.smss());
                        context.summary.path_mtu_falls += 1;
                        context.events.push(Event::PathMtuFell(hosts, to, smss.count()));
                    }
                }
                IcmpErrorKind::Unreachable { code } => {
                    if tcb.is_outstanding(quoted) {
                        context.events.push(Event::Unreachable(hosts, dst.0, code));
                    }
                }
            }
            released
        });
        match released.flatten() {
            // The hosts' own segments go the same way by now.
            Some(why) => Disposition::Forward(why.into()),
            None => Disposition::Consumed,
        }
    }
}
