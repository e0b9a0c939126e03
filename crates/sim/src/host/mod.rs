//! A host: connections by their ports and peers, an application for each, and what a host says
//! to packets of no connection.

mod arrival;
mod causes;
mod port_reuse;
pub(crate) mod script;
mod session;
mod sharing;
mod stray;
mod watch;

pub use session::Application;

use crate::event_queue::EventQueue;
use crate::packet::{Body, Packet};
use crate::packet_pool::PacketPool;
use bentpipe_core::link::Count;
use bentpipe_core::tcp::connection::{Connection, ConnectionConfig};
use bentpipe_core::tcp::tcb::Tcb;
use bentpipe_core::tcp::transaction::TaoCache;
use bentpipe_core::time::{Instant, earliest};
use bentpipe_core::wire::{IpHeader, SeqNum, TcpHeader};
use bentpipe_results::Observed;
use bentpipe_scenario::Sharing;
use port_reuse::PortReuse;
use script::Run;
use session::Session;
use sharing::{Part, Shared};
use slab::Slab;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// A connection's name at its host: own port, peer's address and port.
pub type SessionKey = (u16, IpAddr, u16);

/// A connection at its host, for as long as it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    index: usize,
    serial: u64,
}

/// A host with one address.
#[derive(Debug)]
pub struct Host<A: Application = Run> {
    address: IpAddr,
    /// Of the next packet.
    identification: u16,
    sessions: Slab<Session<A>>,
    table: BTreeMap<SessionKey, usize>,
    /// The session that the last segment was for: mostly the next one is, too.
    latest: Option<(SessionKey, usize)>,
    opened: u64,
    listeners: BTreeMap<u16, SessionConfig<A>>,
    /// Connections that are accepted from one caller only, by their names here.
    expected: BTreeMap<SessionKey, SessionConfig<A>>,
    /// Connections to be opened, by the moment and their own names.
    calls: BTreeMap<(Instant, SessionKey), SessionConfig<A>>,
    event_queue: EventQueue,
    /// Sessions that may have something to send.
    ready: VecDeque<usize>,
    replies: VecDeque<Packet>,
    notices: VecDeque<(Slot, A::Notice)>,
    /// Connections that are over, and what used them.
    departed: VecDeque<(Slot, A, Connection<A::Buffer>)>,
    /// Datagrams that have arrived, by port.
    datagrams: BTreeMap<u16, Count>,
    /// What T/TCP remembers of other hosts.
    tao: TaoCache,
    /// What connections to the same peer tell each other.
    shared: Shared,
    /// What connections have done, if anyone wants to know.
    observed: Option<Vec<(SessionKey, Observed)>>,
    reuse: PortReuse,
}

/// How a connection is to be made and used.
#[derive(Debug, Clone)]
struct SessionConfig<A> {
    config: ConnectionConfig,
    /// None: drawn from the clock, as RFC 9293, 3.4.1 has it.
    isn: Option<SeqNum>,
    application: A,
}

impl<A: Application> Host<A> {
    /// A host that neither calls nor listens.
    pub fn new(address: IpAddr) -> Host<A> {
        Host {
            address,
            identification: 0,
            sessions: Slab::new(),
            table: BTreeMap::new(),
            latest: None,
            opened: 0,
            listeners: BTreeMap::new(),
            expected: BTreeMap::new(),
            calls: BTreeMap::new(),
            event_queue: EventQueue::default(),
            ready: VecDeque::new(),
            replies: VecDeque::new(),
            notices: VecDeque::new(),
            departed: VecDeque::new(),
            datagrams: BTreeMap::new(),
            tao: TaoCache::default(),
            shared: Shared::default(),
            observed: None,
            reuse: PortReuse::default(),
        }
    }

    /// Its address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// A connection, by its name.
    pub fn connection(&self, key: &SessionKey) -> Option<&Connection<A::Buffer>> {
        self.table.get(key).map(|&index| &self.sessions[index].connection)
    }

    /// What uses a connection, by the connection's name.
    pub fn application(&self, key: &SessionKey) -> Option<&A> {
        self.table.get(key).map(|&index| &self.sessions[index].application)
    }

    /// A connection and what uses it, while it lives.
    pub fn session(&self, slot: Slot) -> Option<(&Connection<A::Buffer>, &A)> {
        let session = self.sessions.get(slot.index)?;
        (session.serial == slot.serial).then_some((&session.connection, &session.application))
    }

    /// The connection of this name.
    pub fn slot(&self, key: &SessionKey) -> Option<Slot> {
        let &index = self.table.get(key)?;
        Some(Slot { index, serial: self.sessions[index].serial })
    }

    /// The name of a connection, while it lives.
    pub fn key(&self, slot: Slot) -> Option<SessionKey> {
        let session = self.sessions.get(slot.index)?;
        (session.serial == slot.serial).then_some(session.key)
    }

    /// All connections, those among them that nobody has planned.
    pub(crate) fn connections(&self) -> impl Iterator<Item = &Connection<A::Buffer>> {
        self.sessions.iter().map(|(_, session)| &session.connection)
    }

    /// How many connections there are.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// UDP datagrams that have come to `port`.
    pub fn datagrams(&self, port: u16) -> Count {
        self.datagrams.get(&port).copied().unwrap_or_default()
    }

    /// Listens on `port` and runs `application` on every connection that comes. The first one has
    /// the initial sequence number `isn`; without it, and later, they come from the clock.
    pub fn serve(
        &mut self,
        port: u16,
        config: ConnectionConfig,
        isn: Option<SeqNum>,
        application: A,
    ) {
        self.listeners.insert(port, SessionConfig { config, isn, application });
    }

    /// Accepts the connection of this name, without listening to anybody else.
    pub(crate) fn expect(&mut self, key: SessionKey, config: ConnectionConfig, application: A) {
        self.expected.insert(key, SessionConfig { config, isn: None, application });
    }

    /// Accepts the connection of this name no more.
    pub(crate) fn expect_no_more(&mut self, key: &SessionKey) {
        self.expected.remove(key);
    }

    /// Whether a connection of this name exists or may come.
    pub(crate) fn knows(&self, key: &SessionKey) -> bool {
        self.table.contains_key(key) || self.expected.contains_key(key)
    }

    /// Opens a connection to the peer and port of `key`, from its own port.
    ///
    /// # Panics
    /// If the connection exists already.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        key: SessionKey,
        config: ConnectionConfig,
        isn: Option<SeqNum>,
        application: A,
    ) -> Slot {
        let isn = isn.unwrap_or_else(|| isn_at(now, &key));
        let connection = if config.transactions {
            Connection::connect_transaction(now, config, isn, self.tao.active(key.1))
        } else {
            Connection::connect(now, config, isn)
        };
        self.free_port(&key);
        let slot = self.insert(now, key, config, connection, application);
        self.act(now, slot.index);
        slot
    }

    /// Lets `application` do something with its connection, if it still lives.
    pub(crate) fn with(
        &mut self,
        now: Instant,
        slot: Slot,
        act: impl FnOnce(&mut A, &mut Connection<A::Buffer>),
    ) {
        if let Some(session) = self.sessions.get_mut(slot.index)
            && session.serial == slot.serial
        {
            act(&mut session.application, &mut session.connection);
            self.act(now, slot.index);
        }
    }

    /// Whether there are notices or departed connections.
    pub(crate) fn tells(&self) -> bool {
        !(self.notices.is_empty() && self.departed.is_empty())
    }

    /// A connection that is over, with what used it.
    pub(crate) fn poll_departed(&mut self) -> Option<(Slot, A, Connection<A::Buffer>)> {
        self.departed.pop_front()
    }

    /// What an application has told, and at which connection.
    pub(crate) fn poll_notice(&mut self) -> Option<(Slot, A::Notice)> {
        self.notices.pop_front()
    }

    fn insert(
        &mut self,
        now: Instant,
        key: SessionKey,
        config: ConnectionConfig,
        connection: Connection<A::Buffer>,
        mut application: A,
    ) -> Slot {
        application.begin(now);
        self.opened += 1;
        let serial = self.opened;
        let session = Session {
            key,
            connection,
            application,
            config,
            queued: false,
            rung: false,
            losses: causes::Losses::default(),
            part: Part::default(),
            serial,
        };
        let index = self.sessions.insert(session);
        let former = self.table.insert(key, index);
        assert!(former.is_none(), "{key:?} is in use");
        Slot { index, serial }
    }

    /// Lets expire what is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some((&(at, key), _)) = self.calls.first_key_value() {
            if at > now {
                break;
            }
            let (_, plan) = self.calls.pop_first().expect("just seen");
            self.open(now, key, plan.config, plan.isn, plan.application);
        }
        while let Some((_, index)) = self.event_queue.pop(now) {
            let Some(session) = self.sessions.get_mut(index) else { continue };
            session.rung = true;
            if session.connection.poll_timeout().is_some_and(|at| at <= now) {
                session.connection.handle_timeout(now);
            }
            self.act(now, index);
        }
    }

    /// Lets a session's application act, and gives the session its turn to send.
    fn act(&mut self, now: Instant, index: usize) {
        if self.shared.kind != Sharing::Off {
            self.share(index);
        }
        let Session { key, connection, application, serial, queued, .. } =
            &mut self.sessions[index];
        let slot = Slot { index, serial: *serial };
        let notices = &mut self.notices;
        application.act(now, connection, &mut |notice| notices.push_back((slot, notice)));
        if let Some(lesson) = connection.poll_lesson() {
            self.tao.learn(key.1, lesson);
        }
        if !*queued {
            *queued = true;
            self.ready.push_back(index);
        }
        if self.observed.is_some() {
            self.observe(index);
        }
    }

    /// The next packet to be sent, and the most payload that a wire packet of its connection
    /// carries. Sessions send all that they have, one after the other.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        packet_pool: &mut PacketPool,
    ) -> Option<(Box<Packet>, usize)> {
        if let Some(reply) = self.replies.pop_front() {
            return Some((packet_pool.fill(reply), usize::MAX));
        }
        while let Some(&index) = self.ready.front() {
            let session = &mut self.sessions[index];
            session.judge_losses();
            let Ok(out) = session.connection.poll_transmit(now) else {
                self.ready.pop_front();
                self.rest(now, index);
                continue;
            };
            let (src_port, peer, dst_port) = session.key;
            let corruption = session.holes();
            let len = (out.data.end - out.data.start).as_len();
            let connection = &session.connection;
            let body = Body::collect(len, |visit| connection.payload(out.data, visit));
            let mss = connection.tcb().map_or(usize::MAX, |tcb| tcb.sender.smss().as_len());
            let packets = if len <= mss { 1 } else { len.div_ceil(mss) as u16 };
            let identification = self.identification;
            self.identification = identification.wrapping_add(packets);
            let plain = IpHeader::between(self.address, peer);
            let traffic_class = out.ecn.bits();
            let dont_fragment = !connection.tcb().is_some_and(Tcb::is_fragmented);
            let ip = IpHeader { traffic_class, identification, dont_fragment, ..plain };
            let tcp = TcpHeader { src_port, dst_port, ..out.tcp };
            let packet = Packet { corruption, ..Packet::sent(ip, tcp, body, out.cause) };
            return Some((packet_pool.fill(packet), mss));
        }
        None
    }

    /// A session has nothing more to send: sets its alarm, or forgets it.
    fn rest(&mut self, now: Instant, index: usize) {
        let session = &mut self.sessions[index];
        session.queued = false;
        session.application.check(&session.connection, &session.config);
        if self.observed.is_some() {
            self.observe(index);
        }
        let session = &mut self.sessions[index];
        if session.application.done() {
            let Session { key, serial, application, connection, .. } = self.sessions.remove(index);
            self.table.remove(&key);
            self.latest = None;
            self.departed.push_back((Slot { index, serial }, application, connection));
            return self.event_queue.set(index, None);
        }
        let next = session.next(now);
        // What was due has expired: a deadline that stays would fire for ever.
        if let Some(at) = next.filter(|_| session.rung) {
            assert!(at > now, "{:?} has a deadline in the past: {at:?}", session.key);
        }
        session.rung = false;
        self.event_queue.set(index, next.map(|at| at.max(now)));
    }

    /// When [`Host::handle_timeout`] is to be called.
    pub(crate) fn next(&mut self) -> Option<Instant> {
        let call = self.calls.first_key_value().map(|(&(at, _), _)| at);
        earliest(self.event_queue.next(), call)
    }

    /// An IP header from here to `dst`.
    pub(crate) fn header_to(&self, dst: IpAddr) -> IpHeader {
        IpHeader::between(self.address, dst)
    }
}

/// An initial sequence number from the clock, one every 4 µs, and the connection's ports
/// (RFC 9293, 3.4.1).
fn isn_at(now: Instant, key: &SessionKey) -> SeqNum {
    let clock = (now.as_nanos() / 4_000) as u32;
    let ports = u32::from(key.0) << 16 | u32::from(key.2);
    SeqNum(clock.wrapping_add(ports.wrapping_mul(0x9E37_79B1)))
}
