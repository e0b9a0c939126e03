//! Packets that arrive at a host: to their connection, to a new one, or answered as nobody's.

use super::{Application, Host, SessionKey, isn_at, stray};
use crate::packet::{Body, Content, CorruptionNotice, Datagram, Packet};
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::tcp::connection::{Connection, Opening, State};
use bentpipe_core::tcp::ecn::Ecn;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{IcmpError, IpHeader, TcpHeader};

impl<A: Application> Host<A> {
    /// The session of this name, by its index.
    fn find(&mut self, key: &SessionKey) -> Option<usize> {
        match self.latest {
            Some((latest, index)) if latest == *key => Some(index),
            _ => {
                let index = *self.table.get(key)?;
                self.latest = Some((*key, index));
                Some(index)
            }
        }
    }

    /// Takes a packet that has arrived.
    pub(crate) fn handle(&mut self, now: Instant, packet: &Packet) {
        match &packet.content {
            Content::Tcp(tcp, body) => {
                if let CorruptionNotice::Holes(holes) = &packet.corruption {
                    self.hear_of(&(tcp.dst_port, packet.ip.src, tcp.src_port), holes);
                }
                self.handle_segment(now, &packet.ip, tcp, body);
            }
            Content::Udp(Datagram { dst_port, .. }) => {
                self.datagrams.entry(*dst_port).or_default().add(packet);
            }
            Content::Error(bytes) => self.handle_error(now, bytes),
            // The world answers pings: routers and gateways are pinged as well.
            Content::Echo(_) => {}
        }
    }

    /// An ICMP error goes to the connection that it is about.
    fn handle_error(&mut self, now: Instant, bytes: &[u8]) {
        let Ok(error) = IcmpError::parse(bytes) else { return };
        let quoted = &error.quoted;
        if quoted.src == self.address
            && let Some(index) = self.find(&(quoted.src_port, quoted.dst, quoted.dst_port))
        {
            self.sessions[index].connection.on_icmp_error(now, &error);
            self.act(now, index);
        }
    }

    fn handle_segment(&mut self, now: Instant, ip: &IpHeader, tcp: &TcpHeader, body: &Body) {
        let key = (tcp.dst_port, ip.src, tcp.src_port);
        let found = self.find(&key);
        if let Some(index) = found
            && let session = &mut self.sessions[index]
            && session.connection.state() != State::Closed
        {
            if Ecn::of(ip.traffic_class) == Ecn::Experienced {
                session.connection.mark_congestion_experienced();
            }
            session.connection.handle_segment(now, tcp, body.payload());
            return self.act(now, index);
        }
        let listener = || self.listeners.get(&tcp.dst_port);
        if let Some(plan) = self.expected.get(&key).or_else(listener)
            && found.is_none_or(|_| self.may_reuse(&key, tcp.seq))
            && let isn = plan.isn.unwrap_or_else(|| isn_at(now, &key))
            && let open = plan.config.transactions.then(|| self.tao.passive(key.1, tcp)).flatten()
            && let Some(connection) =
                Connection::accept_transaction(now, plan.config, isn, tcp, body.payload(), open)
        {
            let (config, application) = (plan.config, plan.application.clone());
            // Without a handshake, a late segment would be taken for another connection.
            if config.opening == Opening::Prearranged {
                self.expected.remove(&key);
            }
            // Another connection of the same name has another number (RFC 9293, 3.4.1).
            if let Some(listener) = self.listeners.get_mut(&tcp.dst_port) {
                listener.isn = None;
            }
            self.free_port(&key);
            let slot = self.insert(now, key, config, connection, application);
            return self.act(now, slot.index);
        }
        if let Some(tcp) = stray::answer(tcp, body.len()) {
            let header = self.header_to(ip.src);
            self.replies.push_back(Packet::sent(header, tcp, Body::EMPTY, Cause::Reset));
        }
    }
}
