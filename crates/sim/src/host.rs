//! A host: connections by their ports and peers, an application for each, and what a host says
//! to segments of no connection.

use crate::application::{Application, Report, Run};
use crate::packet::Packet;
use bentpipe_core::tcp::buffer::{Chunks, Payload};
use bentpipe_core::tcp::connection::{Connection, ConnectionConfig, State};
use bentpipe_core::tcp::ecn::Ecn;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Flags, IpHeader, SeqNum, TcpHeader};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// A connection's name at its host: own port, peer's address and port.
pub type SessionKey = (u16, IpAddr, u16);

/// A host with one address.
#[derive(Debug)]
pub struct Host {
    address: IpAddr,
    sessions: BTreeMap<SessionKey, Session>,
    listeners: BTreeMap<u16, Plan>,
    /// Connections to be opened, by the moment and their own names.
    calls: BTreeMap<(Instant, SessionKey), Plan>,
    replies: VecDeque<Packet>,
}

/// How a connection is to be made and used.
#[derive(Debug, Clone, Copy)]
struct Plan {
    config: ConnectionConfig,
    isn: SeqNum,
    application: Application,
}

#[derive(Debug)]
struct Session {
    connection: Connection<Chunks>,
    run: Run,
    config: ConnectionConfig,
}

impl Host {
    /// A host that neither calls nor listens.
    pub fn new(address: IpAddr) -> Host {
        Host {
            address,
            sessions: BTreeMap::new(),
            listeners: BTreeMap::new(),
            calls: BTreeMap::new(),
            replies: VecDeque::new(),
        }
    }

    /// Its address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Listens on `port` and runs `application` on every connection that comes.
    pub fn listen(
        &mut self,
        port: u16,
        config: ConnectionConfig,
        isn: SeqNum,
        application: Application,
    ) {
        self.listeners.insert(port, Plan { config, isn, application });
    }

    /// Opens a connection at `at`.
    pub fn call(
        &mut self,
        at: Instant,
        key: SessionKey,
        config: ConnectionConfig,
        isn: SeqNum,
        application: Application,
    ) {
        self.calls.insert((at, key), Plan { config, isn, application });
    }

    /// What the applications have done and seen.
    pub fn reports(&self) -> impl Iterator<Item = (&SessionKey, &Report)> {
        self.sessions.iter().map(|(key, session)| (key, session.run.report()))
    }

    /// What the application of one connection has done and seen, if it exists yet.
    pub fn report(&self, key: &SessionKey) -> Option<&Report> {
        self.sessions.get(key).map(|session| session.run.report())
    }

    /// A connection, for a look at its state.
    pub fn connection(&self, key: &SessionKey) -> Option<&Connection<Chunks>> {
        self.sessions.get(key).map(|session| &session.connection)
    }

    pub(crate) fn handle(&mut self, now: Instant, packet: &Packet) {
        let key = (packet.tcp.dst_port, packet.ip.src, packet.tcp.src_port);
        if let Some(session) = self.sessions.get_mut(&key)
            && session.connection.state() != State::Closed
        {
            let payload = Payload::Bytes(&packet.payload);
            if Ecn::of(packet.ip.traffic_class) == Ecn::Experienced {
                session.connection.mark_congestion_experienced();
            }
            session.connection.handle_segment(now, &packet.tcp, payload);
            session.run.act(now, &mut session.connection);
            return;
        }
        if let Some(plan) = self.listeners.get(&packet.tcp.dst_port)
            && !self.sessions.contains_key(&key)
            && let Some(connection) = Connection::accept(now, plan.config, plan.isn, &packet.tcp)
        {
            let run = Run::new(plan.application, now);
            self.sessions.insert(key, Session { connection, run, config: plan.config });
            return;
        }
        if let Some(tcp) = answer_to_stray(packet) {
            self.replies.push_back(self.address_to(packet.ip.src, tcp));
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some((&(at, key), _)) = self.calls.first_key_value() {
            if at > now {
                break;
            }
            let (_, plan) = self.calls.pop_first().expect("just seen");
            let connection = Connection::connect(now, plan.config, plan.isn);
            let run = Run::new(plan.application, now);
            self.sessions.insert(key, Session { connection, run, config: plan.config });
        }
        for session in self.sessions.values_mut() {
            if session.connection.poll_timeout().is_some_and(|at| at <= now) {
                session.connection.handle_timeout(now);
            }
            session.run.act(now, &mut session.connection);
        }
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if let Some(reply) = self.replies.pop_front() {
            return Some(reply);
        }
        for (&(port, peer, peer_port), session) in &mut self.sessions {
            let Some(out) = session.connection.poll_transmit(now) else { continue };
            let mut payload = Vec::with_capacity((out.data.end - out.data.start) as usize);
            session.connection.payload(out.data, |piece| {
                let Payload::Bytes(bytes) = piece else { unreachable!("chunks hold bytes") };
                payload.extend_from_slice(bytes);
            });
            let tcp = TcpHeader { src_port: port, dst_port: peer_port, ..out.tcp };
            let mut packet = Packet { payload, ..self.address_to(peer, tcp) };
            packet.ip.traffic_class = out.ecn.bits();
            return Some(packet);
        }
        None
    }

    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        let sessions = self.sessions.values().flat_map(|session| {
            [session.connection.poll_timeout(), session.run.next(now)].into_iter().flatten()
        });
        let call = self.calls.first_key_value().map(|(&(at, _), _)| at);
        sessions.chain(call).min()
    }

    /// Checks each connection; panics if one does not keep what every TCP must.
    pub(crate) fn check(&self) {
        for (key, session) in &self.sessions {
            let Some(tcb) = session.connection.tcb() else { continue };
            assert!(tcb.sender.cwnd() >= tcb.sender.smss(), "{key:?}: cwnd below one segment");
            let held = session.connection.readable() + tcb.receiver.beyond().covered();
            let unit = 1 << session.config.window_scale.unwrap_or(0);
            assert!(held < session.connection.receive_buffer() + unit, "{key:?} holds {held}");
            let application = session.run.application();
            assert!(session.run.report().written <= application.bytes);
        }
    }

    fn address_to(&self, dst: IpAddr, tcp: TcpHeader) -> Packet {
        let ip =
            IpHeader { src: self.address, dst, hop_limit: 64, traffic_class: 0, flow_label: 0 };
        Packet { ip, tcp, payload: Vec::new() }
    }
}

/// RFC 9293, 3.10.7.1: a segment of no connection is answered with a RST, unless it is one.
fn answer_to_stray(packet: &Packet) -> Option<TcpHeader> {
    let tcp = &packet.tcp;
    if tcp.has(Flags::RST) {
        return None;
    }
    let occupied = packet.payload.len() as u64
        + u64::from(tcp.has(Flags::SYN))
        + u64::from(tcp.has(Flags::FIN));
    let (seq, ack, flags) = if tcp.has(Flags::ACK) {
        (tcp.ack, SeqNum(0), Flags::RST)
    } else {
        (SeqNum(0), tcp.seq + occupied, Flags::RST | Flags::ACK)
    };
    let (src_port, dst_port) = (tcp.dst_port, tcp.src_port);
    Some(TcpHeader { src_port, dst_port, seq, ack, flags, ..TcpHeader::default() })
}
