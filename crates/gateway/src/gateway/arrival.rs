//! Packets as they come in: to their flow, to a new one, or onwards unchanged.

use super::{Disposition, Gateway};
use crate::Side;
use crate::announce::Announcement;
use crate::config::Handshake;
use crate::flow::{Departure, Flow, Opening, Packet, Phase, SERVER};
use crate::key::FlowKey;
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
        let verdict = match self.table.get(&FlowKey::of(ip, tcp)) {
            Some(&id) => self.handle_known(now, id, packet),
            None => self.handle_new(now, packet),
        };
        let bytes = ip.wire_len() + tcp.wire_len() + payload.len();
        match verdict {
            Disposition::Taken => self.summary.count_taken(bytes),
            Disposition::Forward(reason) => {
                self.summary.count_forwarded(reason, bytes, is_syn(tcp));
            }
        }
        verdict
    }

    fn handle_known(&mut self, now: Instant, id: usize, packet: Packet<'_>) -> Disposition {
        let flow = &mut self.flows[id];
        let Some(leg) = flow.leg_of(&packet) else {
            return Disposition::Forward(Reason::Route);
        };
        match &flow.phase {
            Phase::Opening(_) => self.handle_opening(now, id, leg, packet),
            Phase::Split(split) if is_syn(packet.tcp) && !split.is_open() => {
                // The port is used again (RFC 9293, 3.6.1).
                self.remove(id);
                self.handle_new(now, packet)
            }
            Phase::Split(_) => self.handle_split(now, id, leg, packet),
        }
    }

    /// A packet of no flow: a SYN may open one.
    fn handle_new(&mut self, now: Instant, packet: Packet<'_>) -> Disposition {
        let Packet { from, ip, tcp, payload } = packet;
        let unsplittable = Flags::ACK.0 | Flags::RST.0 | Flags::FIN.0 | Flags::URG.0;
        if !tcp.has(Flags::SYN) || tcp.flags.0 & unsplittable != 0 {
            return Disposition::Forward(Reason::UnknownFlow);
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
        if !self.has_room_for_flow() {
            return Disposition::Forward(Reason::NoRoom);
        }
        let (opening, relay) = Opening::new(now, &self.config, from, self.peer_known, ip, tcp);
        let id = self.flows.insert(Flow {
            client: (ip.src, tcp.src_port),
            server: (ip.dst, tcp.dst_port),
            sides: [from, from.other()],
            phase: Phase::Opening(Box::new(opening)),
            began: now,
            demand: [0; 2],
            end_noted: false,
            armed: None,
            queued: false,
        });
        self.table.insert(FlowKey::of(ip, tcp), id);
        self.relays.push_back((from.other(), relay));
        self.arm(id);
        Disposition::Taken
    }

    fn handle_opening(
        &mut self,
        now: Instant,
        id: usize,
        leg: usize,
        packet: Packet<'_>,
    ) -> Disposition {
        let Packet { from, ip, tcp, payload } = packet;
        let flow = &mut self.flows[id];
        let sides = flow.sides;
        let Phase::Opening(opening) = &mut flow.phase else {
            unreachable!("checked by the caller")
        };
        if tcp.has(Flags::RST) {
            if opening.refused_by(leg, tcp) {
                self.remove(id);
            }
            return Disposition::Forward(Reason::NotOpened);
        }
        match (leg, tcp.has(Flags::SYN), tcp.has(Flags::ACK)) {
            (SERVER, true, true) => {
                match opening.on_synack(now, &self.config, sides, &mut self.peer_known, ip, tcp) {
                    Some(relay) => self.relays.push_back((sides[0], relay)),
                    None => return Disposition::Forward(Reason::NotOpened),
                }
                if self.config.handshake == Handshake::DownstreamFirst {
                    let split = opening.complete(now, &self.config, sides, None);
                    flow.phase = Phase::Split(Box::new(split));
                    self.note_split(id);
                    self.attend(id);
                    return Disposition::Taken;
                }
            }
            (SERVER, true, false) => {
                // Simultaneous open: the hosts do it between themselves.
                self.remove(id);
                return Disposition::Forward(Reason::NotOpened);
            }
            // It comes again: the client could not take it, nor acknowledge it through us.
            (SERVER, false, _) if opening.is_early_data(tcp, payload.len()) => {}
            (SERVER, false, _) => return Disposition::Forward(Reason::NotOpened),
            (_, true, false) if opening.is_repeated_syn(tcp) => {
                let relay = opening.relay_syn(now, &self.config, from, ip, tcp);
                self.relays.push_back((sides[1], relay));
            }
            (_, true, _) => {
                // Another SYN on the same ports: the old attempt is over.
                self.remove(id);
                return self.handle_new(now, packet);
            }
            (_, false, _) if opening.completes(tcp) => {
                let split = opening.complete(now, &self.config, sides, Some(tcp));
                flow.phase = Phase::Split(Box::new(split));
                self.note_split(id);
                let disposition = self.handle_split(now, id, leg, packet);
                if self.draining {
                    self.dismiss(now, id, Departure::Drain, None);
                }
                return disposition;
            }
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
        leg: usize,
        packet: Packet<'_>,
    ) -> Disposition {
        let sides = self.flows[id].sides;
        let allowance = self.allowance(sides, packet.payload.len());
        let flow = &mut self.flows[id];
        let Phase::Split(split) = &mut flow.phase else { unreachable!("checked by the caller") };
        let leaving = split.leaving_for();
        let before = split.held();
        let unconfirmed = split.is_unconfirmed();
        let progress = split.on_packet(now, leg, packet, allowance);
        let confirmed = unconfirmed && !split.is_unconfirmed();
        self.held = self.held + split.held() - before;
        let stats = self.summary.side_mut(sides[leg]);
        stats.received_bytes += progress.received;
        stats.delivered_bytes += progress.delivered;
        match progress.bypassed {
            Some(bypass) => self.on_bypass(now, id, leg, bypass),
            None => self.attend(id),
        }
        if confirmed && self.draining {
            self.dismiss(now, id, Departure::Drain, None);
        }
        match leaving {
            Some(why) if progress.forward => Disposition::Forward(why.into()),
            _ => Disposition::Taken,
        }
    }
}

/// Whether a segment asks for a connection.
fn is_syn(tcp: &TcpHeader) -> bool {
    tcp.has(Flags::SYN) && !tcp.has(Flags::ACK)
}
