//! Packets as they come in: to their flow, to a new one, or onwards unchanged.

use super::{Disposition, Gateway, Standing, Whose};
use crate::Side;
use crate::announce::Announcement;
use crate::config::Handshake;
use crate::flow::{Departure, Flow, Opening, Packet, Phase, Syn};
use crate::key::FlowKey;
use crate::leg::Leg;
use crate::policy::Action;
use crate::stats::Reason;
use bentpipe_core::tcp::buffer::{Buffer, Payload};
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Flags, IpHeader, TcpHeader};

impl<B: Buffer> Gateway<B> {
    /// Takes a TCP packet that came in from `from`.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        from: Side,
        ip: &IpHeader,
        tcp: &TcpHeader,
        payload: Payload<'_>,
    ) -> Disposition {
        let packet = Packet { from, ip, tcp, payload };
        let key = FlowKey::of(ip, tcp);
        let verdict = self.guarded(now, Whose::Key(key), |gateway| match gateway.table.get(&key) {
            Some(&id) => gateway.handle_known(now, id, packet),
            None => gateway.handle_half_open(now, key, packet),
        });
        // Of a flow that has broken its hosts are reset; what has not become one is theirs.
        let verdict = verdict.unwrap_or_else(|| match self.table.contains_key(&key) {
            true => Disposition::Taken,
            false => Disposition::Forward(Reason::NotOpened),
        });
        let bytes = ip.wire_len() + tcp.wire_len() + payload.len();
        match verdict {
            Disposition::Taken => self.summary.count_taken(bytes),
            Disposition::Forward(reason) | Disposition::Amend(reason, _) => {
                self.summary.count_forwarded(reason, bytes, is_syn(tcp));
            }
        }
        verdict
    }

    fn handle_known(&mut self, now: Instant, id: usize, packet: Packet<'_>) -> Disposition {
        let Some(leg) = self.flows[id].leg_of(&packet) else {
            return Disposition::Forward(Reason::Route);
        };
        self.wake(id);
        match &self.flows[id].phase {
            Phase::Opening(_) => self.handle_opening(now, id, leg, packet),
            Phase::Split(split) if is_syn(packet.tcp) && !split.is_open() => {
                // The port is used again (RFC 9293, 3.6.1).
                self.remove(id);
                self.handle_new(now, packet)
            }
            Phase::Split(_) | Phase::Resting(_) => self.handle_split(now, id, leg, packet),
            Phase::Broken(_) if is_syn(packet.tcp) => {
                self.remove(id);
                self.handle_new(now, packet)
            }
            Phase::Broken(_) => {
                self.answer_for_broken(packet);
                Disposition::Taken
            }
        }
    }

    /// A packet of no flow: a SYN may open one.
    fn handle_new(&mut self, now: Instant, packet: Packet<'_>) -> Disposition {
        let Packet { from, ip, tcp, payload } = packet;
        let unsplittable = Flags::ACK.0 | Flags::RST.0 | Flags::FIN.0 | Flags::URG.0;
        if !tcp.has(Flags::SYN) || tcp.flags.0 & unsplittable != 0 {
            self.watch_forwarded(now, &packet);
            return Disposition::Forward(Reason::UnknownFlow);
        }
        let action = self.config.policy.action(&packet);
        if action == Action::Forward {
            return Disposition::Forward(Reason::Policy);
        }
        let mut options = tcp.options.clone();
        Announcement::strip(&mut options);
        // T/TCP's counts are the two hosts' own business: a leg could not keep them.
        if !payload.is_empty() || options.has_counts() || !options.other.is_empty() {
            return Disposition::Forward(Reason::Options);
        }
        if self.draining {
            return Disposition::Forward(Reason::Draining);
        }
        if action == Action::Observe {
            return Disposition::Forward(Reason::Observed);
        }
        if let Err(reason) = self.admit(ip.src) {
            self.make_room(now, reason, ip.src);
        }
        if let Err(reason) = self.admit(ip.src) {
            return Disposition::Forward(reason);
        }
        let mut syn = Syn::new(now, &self.config, from, self.peer_known, ip, tcp);
        let may_add = |gateway: &mut Self| {
            gateway.half_open.has_room_to_add(&gateway.config) && gateway.has_room_to_bind()
        };
        if !syn.is_as_it_came() && !may_add(self) {
            syn = syn.unadorned();
        }
        let relay = syn.relay(now, &self.config, ip, tcp);
        self.half_open.insert(&self.config, FlowKey::of(ip, tcp), syn);
        self.clients.add(ip.src);
        self.relays.push_back((from.other(), relay));
        Disposition::Taken
    }

    /// A packet of a connection without a SYN-ACK yet.
    fn handle_half_open(&mut self, now: Instant, key: FlowKey, packet: Packet<'_>) -> Disposition {
        let Packet { from, ip, tcp, .. } = packet;
        let Some(syn) = self.half_open.get_mut(&key) else {
            return self.handle_new(now, packet);
        };
        let sides = syn.sides();
        let leg = if syn.is_from(&key, (ip.src, tcp.src_port)) { Leg::Client } else { Leg::Server };
        if sides[leg] != from {
            return Disposition::Forward(Reason::Route);
        }
        if tcp.has(Flags::RST) {
            if syn.is_refused_by(leg, tcp) {
                self.forget_half_open(&key);
            }
            return Disposition::Forward(Reason::NotOpened);
        }
        match (leg, tcp.has(Flags::SYN), tcp.has(Flags::ACK)) {
            (Leg::Server, true, true) => {
                let syn = *syn;
                return self.handle_synack(now, key, &syn, packet);
            }
            (Leg::Client, true, _) if syn.is_repeated_by(tcp) => {
                let relay = syn.relay(now, &self.config, ip, tcp);
                self.relays.push_back((sides[Leg::Server], relay));
            }
            // Of a forgery the hosts make nothing, but they would be left with what we have added.
            (_, true, _) if !syn.is_as_it_came() => {
                return Disposition::Forward(Reason::NotOpened);
            }
            (Leg::Server, true, false) => {
                // Simultaneous open: the hosts do it between themselves.
                self.forget_half_open(&key);
                return Disposition::Forward(Reason::NotOpened);
            }
            (Leg::Client, true, _) => {
                // Another SYN on the same ports: the old attempt is over.
                self.forget_half_open(&key);
                return self.handle_new(now, packet);
            }
            (_, _, _) => return Disposition::Forward(Reason::NotOpened),
        }
        Disposition::Taken
    }

    /// The server has answered the SYN: a flow for the table.
    fn handle_synack(
        &mut self,
        now: Instant,
        key: FlowKey,
        syn: &Syn,
        packet: Packet<'_>,
    ) -> Disposition {
        let Packet { ip, tcp, .. } = packet;
        let early = self.config.handshake == Handshake::DownstreamFirst;
        let may_bind = (early || syn.is_added_to()) && self.has_room_to_bind();
        let known = &mut self.peer_known;
        let Some((opening, relay)) = Opening::new(now, &self.config, syn, may_bind, known, ip, tcp)
        else {
            return Disposition::Forward(Reason::NotOpened);
        };
        let bound = opening.is_bound();
        self.half_open.remove(&key);
        let sides = syn.sides();
        let id = self.flows.insert(Flow {
            client: (ip.dst, tcp.dst_port),
            server: (ip.src, tcp.src_port),
            sides,
            phase: Phase::Opening(Box::new(opening)),
            began: syn.sent_at(),
            standing: Standing::default(),
            turns: Default::default(),
            charged: 0,
            held: 0,
            end_noted: false,
            armed: None,
            queued: false,
        });
        self.table.insert(key, id);
        self.account(id);
        self.relays.push_back((sides[Leg::Client], relay));
        if early && may_bind {
            self.complete_downstream(now, id);
        } else {
            self.unanswered.wait(now, &self.config, id, &mut self.flows[id], bound);
            self.arm(id);
        }
        Disposition::Taken
    }

    /// The server is answered before its client has answered it.
    fn complete_downstream(&mut self, now: Instant, id: usize) {
        let first = self.first_promise(now);
        let flow = &mut self.flows[id];
        let ends = flow.ends();
        let Phase::Opening(opening) = &flow.phase else { return };
        flow.phase = Phase::Split(Box::new(opening.complete(now, &self.config, ends, None, first)));
        self.unanswered.wait(now, &self.config, id, flow, true);
        self.note_split(id);
        self.attend(id);
    }

    pub(super) fn forget_half_open(&mut self, key: &FlowKey) {
        if let Some(syn) = self.half_open.remove(key) {
            self.clients.remove(syn.client(key).0);
        }
    }

    /// A packet of a connection whose SYN-ACK has come.
    fn handle_opening(
        &mut self,
        now: Instant,
        id: usize,
        leg: Leg,
        packet: Packet<'_>,
    ) -> Disposition {
        let Packet { ip, tcp, payload, .. } = packet;
        let flow = &mut self.flows[id];
        let (ends, sides) = (flow.ends(), flow.sides);
        let Phase::Opening(opening) = &mut flow.phase else {
            unreachable!("checked by the caller")
        };
        if tcp.has(Flags::RST) {
            if opening.syn().is_refused_by(leg, tcp) {
                self.remove(id);
            }
            return Disposition::Forward(Reason::NotOpened);
        }
        match (leg, tcp.has(Flags::SYN), tcp.has(Flags::ACK)) {
            (Leg::Server, true, true) => match opening.relay_synack(now, tcp) {
                Some(relay) => self.relays.push_back((sides[Leg::Client], relay)),
                None => return Disposition::Forward(Reason::NotOpened),
            },
            (Leg::Client, true, _) if opening.syn().is_repeated_by(tcp) => {
                let relay = opening.relay_syn(now, &self.config, ip, tcp);
                self.relays.push_back((sides[Leg::Server], relay));
            }
            // The hosts would be left with what was added. If it is no forgery, the server's challenge (RFC
            // 5961, 4.2) is answered by the client with a RST, and the next SYN is a new connection.
            (_, true, _) if opening.is_bound() => {
                return Disposition::Forward(Reason::NotOpened);
            }
            (Leg::Server, true, false) => {
                // Simultaneous open: the hosts do it between themselves.
                self.remove(id);
                return Disposition::Forward(Reason::NotOpened);
            }
            // It comes again: the client could not take it, nor acknowledge it through us.
            (Leg::Server, false, _) if opening.is_early_data(tcp, payload.len()) => {}
            (Leg::Server, false, _) => return Disposition::Forward(Reason::NotOpened),
            (_, true, _) => {
                // Another SYN on the same ports: the old attempt is over.
                self.remove(id);
                return self.handle_new(now, packet);
            }
            (_, false, _) if opening.completes(tcp) => {
                let first = self.first_promise(now);
                let flow = &mut self.flows[id];
                let Phase::Opening(opening) = &mut flow.phase else {
                    unreachable!("it was one a moment ago")
                };
                self.relays.extend(opening.heed(tcp).map(|synack| (sides[Leg::Client], synack)));
                let split = opening.complete(now, &self.config, ends, Some(tcp), first);
                flow.phase = Phase::Split(Box::new(split));
                self.note_split(id);
                let disposition = self.handle_split(now, id, leg, packet);
                if self.draining {
                    self.dismiss(now, id, Departure::Drain, None);
                }
                return disposition;
            }
            (_, false, _) if opening.is_beyond_window(tcp) => {}
            (_, false, _) => return Disposition::Forward(Reason::NotOpened),
        }
        self.arm(id);
        Disposition::Taken
    }

    fn note_split(&mut self, id: usize) {
        let flow = &self.flows[id];
        tracing::debug!(client = ?flow.client, server = ?flow.server, "flow split");
        self.summary.split += 1;
    }

    fn handle_split(
        &mut self,
        now: Instant,
        id: usize,
        leg: Leg,
        packet: Packet<'_>,
    ) -> Disposition {
        let sides = self.flows[id].sides;
        let allowance = self.allowance();
        let flow = &mut self.flows[id];
        let Phase::Split(split) = &mut flow.phase else { unreachable!("checked by the caller") };
        let leaving = split.leaving_for();
        let unconfirmed = split.is_unconfirmed();
        if unconfirmed && leg == Leg::Client {
            split.accept_less(now, &self.config, sides[Leg::Client], packet.tcp);
        }
        let progress = split.on_packet(now, leg, packet, allowance);
        let confirmed = unconfirmed && !split.is_unconfirmed();
        let stats = self.summary.side_mut(sides[leg]);
        stats.received_bytes += progress.received;
        stats.delivered_bytes += progress.delivered;
        stats.discarded += u64::from(progress.discarded);
        self.watch_links(now, id);
        match progress.bypassed {
            Some(bypass) => self.on_bypass(now, id, leg, bypass),
            None => self.attend(id),
        }
        if confirmed && self.draining {
            self.dismiss(now, id, Departure::Drain, None);
        }
        match leaving {
            Some(why) if progress.forward => match progress.amendment {
                Some(amendment) => Disposition::Amend(why.into(), amendment),
                None => Disposition::Forward(why.into()),
            },
            _ => Disposition::Taken,
        }
    }
}

/// Whether a segment asks for a connection.
fn is_syn(tcp: &TcpHeader) -> bool {
    tcp.has(Flags::SYN) && !tcp.has(Flags::ACK)
}
