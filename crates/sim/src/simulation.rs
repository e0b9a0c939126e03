//! A world and the workloads that use it.

mod call;
mod waiting;

pub use call::{Call, Service, Socket};

use self::call::SERVICE_PORTS;
use crate::barrier::Barriers;
use crate::capture::Name;
use crate::host::SessionKey;
use crate::measurement::{FlowMeters, SequenceLog};
use crate::middleboxes::WebCache;
use crate::packet::{Content, Datagram, Echo};
use crate::stream::Stream;
use crate::workload::Workload;
use crate::world::{Endpoint, NodeId, World};
use bentpipe_core::tcp::connection::Opening;
use bentpipe_core::time::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;

/// A world, workloads that open its connections, and their clock.
#[derive(Debug, Default)]
pub struct Simulation {
    net: Net,
    workloads: Vec<Option<Box<dyn Workload>>>,
    started: bool,
    /// Over when all flows are that are not background.
    ends_with_flows: bool,
    sequence: Option<SequenceLog>,
}

/// What a workload acts upon.
#[derive(Debug, Default)]
pub struct Net {
    world: World<Stream>,
    /// What flows have done.
    pub meters: FlowMeters,
    /// Moment, order of setting, workload, and the workload's own mark.
    timers: BTreeSet<(Instant, u64, usize, u64)>,
    timers_set: u64,
    /// Whose turn it is.
    owner: usize,
    /// By caller and called host: how many connections have been given names.
    calls: BTreeMap<(NodeId, NodeId), u64>,
    /// Who sends datagrams, and is told of their arrival.
    sockets: BTreeMap<Socket, usize>,
    /// By node: the last number given to a socket or to pings.
    numbers: BTreeMap<NodeId, u32>,
    /// Who asked, by the identifier of its pings.
    pinging: BTreeMap<(NodeId, u16), usize>,
    web_caches: Vec<WebCache>,
    barriers: Barriers,
}

/// The first port that connections are called from, and how many there are (RFC 6056, 3.2).
const FIRST_PORT: u16 = 1024;
const PORTS: u64 = 64_512;

impl Net {
    /// The time.
    pub fn now(&self) -> Instant {
        self.world.now()
    }

    /// The world, for a look.
    pub fn world(&self) -> &World<Stream> {
        &self.world
    }

    /// Opens a connection. The called host accepts it, and no other, on the service's port; or a
    /// Web cache does, if there is one on the way.
    pub fn open(&mut self, call: Call) -> Endpoint {
        let Call { from, to, service, tags: [tag, callee_tag], send, close, .. } = call;
        let [tcp_from, tcp_to] = call.tcp;
        let (key, mirrored) = self.free_key(from, to, service);
        let called = Stream::new(self.owner, callee_tag);
        // A connection without a handshake is with the one host that knows of it.
        if service == Service::Web && tcp_from.opening == Opening::Handshake {
            for cache in &self.web_caches {
                if let Some(face) = cache.faces.get(&to) {
                    self.world.host_mut(*face).expect(mirrored, cache.tcp, called.clone());
                }
            }
        }
        self.world.host_mut(to).expect(mirrored, tcp_to, called);
        let mut stream = Stream::new(self.owner, tag);
        stream.callee = Some((to, mirrored));
        if send > 0 {
            stream.send(send);
        }
        if close {
            stream.close();
        }
        let caller = self.world.host(from).address();
        self.world.name(self.owner, Name::tcp([(caller, key.0), (key.1, key.2)]));
        self.world.open(from, key, tcp_from, stream)
    }

    /// The Web cache whose face the host `face` is.
    pub(crate) fn web_cache(&self, face: NodeId) -> Option<&WebCache> {
        self.web_caches.iter().find(|cache| cache.faces.values().any(|known| *known == face))
    }

    /// The hosts that may be reached by the address of `host`: itself, and Web caches' faces.
    fn hosts_as(&self, host: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let faces = self.web_caches.iter().filter_map(move |cache| cache.faces.get(&host));
        iter::once(host).chain(faces.copied())
    }

    /// The name of a connection, seen from `end`: own port, peer, peer's port.
    pub fn key(&self, end: Endpoint) -> Option<SessionKey> {
        self.world.host(end.host).key(end.slot)
    }

    /// The end of a connection at `host`, by its name there.
    pub fn end(&self, host: NodeId, key: &SessionKey) -> Option<Endpoint> {
        self.world.host(host).slot(key).map(|slot| Endpoint { host, slot })
    }

    /// Gives the end to another mark.
    pub fn mark(&mut self, end: Endpoint, tag: u64) {
        self.world.with(end, |stream, _| stream.tag = tag);
    }

    /// Sends `bytes` more from `end`.
    pub fn send(&mut self, end: Endpoint, bytes: u64) {
        self.world.with(end, |stream, _| stream.send(bytes));
    }

    /// Gives notice when `end` has read `bytes` in all.
    pub fn expect(&mut self, end: Endpoint, bytes: u64) {
        self.world.with(end, |stream, _| stream.expect(bytes));
    }

    /// Closes `end` after what it still has to send.
    pub fn close(&mut self, end: Endpoint) {
        self.world.with(end, |stream, _| stream.close());
    }

    /// Resets the connection of `end`.
    pub fn abort(&mut self, end: Endpoint) {
        self.world.with(end, |_, connection| connection.abort());
    }

    /// Calls [`Workload::on_timer`] at `at`, with `mark`.
    pub fn set_timer(&mut self, at: Instant, mark: u64) {
        self.timers_set += 1;
        self.timers.insert((at, self.timers_set, self.owner, mark));
    }

    /// Ends both what `end` does and what it counts for, as if its process had been killed.
    pub fn quit(&mut self, end: Endpoint) {
        if let Some((connection, stream)) = self.world.session(end) {
            self.meters.depart(end, stream, connection);
        }
        self.abort(end);
    }

    /// A way to send datagrams from one host to another, whose arrivals [`Workload::on_datagram`]
    /// is told.
    pub fn socket(&mut self, from: NodeId, to: NodeId) -> Socket {
        let number = self.number(to);
        let [high, low] = [number >> 16, number & 0xFFFF].map(|half| half as u16);
        let socket = Socket { from, to, src_port: high, dst_port: low };
        if let (Some(src), Some(dst)) = (self.world.address(from), self.world.address(to)) {
            self.world.name(self.owner, Name::udp([(src, high), (dst, low)]));
        }
        self.sockets.insert(socket, self.owner);
        socket
    }

    /// Sends a UDP datagram of `len` payload bytes.
    pub fn datagram(&mut self, socket: Socket, len: u16) {
        let Socket { from, to, src_port, dst_port } = socket;
        self.send_to(from, to, Content::Udp(Datagram { src_port, dst_port, len }));
    }

    /// An identifier for pings from node `from`, which no other workload has: their answers come
    /// to [`Workload::on_echo`]. Two of more than 65,536 such workloads share one.
    pub fn echo_identifier(&mut self, from: NodeId) -> u16 {
        let identifier = self.number(from) as u16;
        self.pinging.insert((from, identifier), self.owner);
        if let Some(address) = self.world.address(from) {
            self.world.name(self.owner, Name::Echo(address, identifier));
        }
        identifier
    }

    /// Sends a ping of `len` payload bytes.
    pub fn ping(&mut self, from: NodeId, to: NodeId, identifier: u16, sequence: u16, len: u16) {
        let content = Content::Echo(Echo { reply: false, identifier, sequence, len });
        self.send_to(from, to, content);
    }

    /// Counts the sockets and identifiers of a node.
    fn number(&mut self, node: NodeId) -> u32 {
        let next = self.numbers.entry(node).or_default();
        *next += 1;
        *next
    }

    fn socket_of(&self, to: NodeId, datagram: &Datagram) -> Option<(Socket, usize)> {
        let Datagram { src_port, dst_port, .. } = *datagram;
        let first = Socket { to, dst_port, src_port, from: 0 };
        let (&socket, &owner) = self.sockets.range(first..).next()?;
        let same = (socket.to, socket.dst_port, socket.src_port) == (to, dst_port, src_port);
        same.then_some((socket, owner))
    }

    fn send_to(&mut self, from: NodeId, to: NodeId, content: Content) {
        if let Some(dst) = self.world.address(to) {
            self.world.emit(from, dst, content);
        }
    }

    /// The next name that is free at both ends, as the caller and as the called host see it.
    fn free_key(&mut self, from: NodeId, to: NodeId, service: Service) -> (SessionKey, SessionKey) {
        let (caller, callee) = (self.world.host(from).address(), self.world.host(to).address());
        let mut last = self.calls.get(&(from, to)).copied().unwrap_or_default();
        loop {
            // All ports that RFC 6056, 3.2, has for callers; then the service's next port, as if
            // the server had another address. So a name comes again after 60 million connections.
            let own = FIRST_PORT + (last % PORTS) as u16;
            let turn = last / PORTS % u64::from(SERVICE_PORTS);
            let service = service.ports().start() + turn as u16;
            last += 1;
            let names = ((own, callee, service), (service, caller, own));
            let free = !self.world.host(from).knows(&names.0);
            if free && !self.hosts_as(to).any(|host| self.world.host(host).knows(&names.1)) {
                self.calls.insert((from, to), last);
                return names;
            }
        }
    }
}

impl Simulation {
    /// Nothing has happened yet in `world`.
    pub fn new(world: World<Stream>) -> Simulation {
        Simulation { net: Net { world, ..Net::default() }, ..Simulation::default() }
    }

    /// The world has these Web caches.
    pub(crate) fn set_web_caches(&mut self, caches: Vec<WebCache>) {
        self.net.web_caches = caches;
    }

    /// Adds a workload; returns its number.
    pub fn add(&mut self, workload: impl Workload + 'static) -> usize {
        self.workloads.push(Some(Box::new(workload)));
        self.workloads.len() - 1
    }

    /// What the flows have done.
    pub fn meters(&self) -> &FlowMeters {
        &self.net.meters
    }

    /// What the flows have done, to add flows.
    pub fn meters_mut(&mut self) -> &mut FlowMeters {
        &mut self.net.meters
    }

    /// The world, to break something in it.
    pub fn world_mut(&mut self) -> &mut World<Stream> {
        &mut self.net.world
    }

    /// The world.
    pub fn world(&self) -> &World<Stream> {
        &self.net.world
    }

    /// Takes down the segments and acknowledgments of flows from now on.
    pub(crate) fn record_sequence(&mut self, log: SequenceLog) {
        self.net.world.tap();
        self.sequence = Some(log);
    }

    /// Takes down no more of them.
    pub(crate) fn end_sequence(&mut self) {
        self.sequence = None;
    }

    /// Whether it is over, from now on, in the moment in which all flows are that are not
    /// background.
    pub(crate) fn end_with_flows(&mut self, ends: bool) {
        self.ends_with_flows = ends;
    }

    /// Whether all flows are over that it waits for.
    pub(crate) fn is_over(&self) -> bool {
        self.ends_with_flows && self.net.meters.all_done()
    }

    /// A workload, by its number.
    pub fn workload(&self, number: usize) -> &dyn Workload {
        self.workloads[number].as_deref().expect("none is at work between two steps")
    }

    /// Runs up to the moment `until`, or to its end. False if nothing is left to happen.
    pub fn run(&mut self, until: Instant) -> bool {
        if !self.started {
            self.started = true;
            self.net.world.start();
            for owner in 0..self.workloads.len() {
                self.call(owner, |workload, net| workload.start(net));
            }
            self.notify();
        }
        loop {
            if self.is_over() {
                return false;
            }
            let timer = self.net.timers.first().map(|&(at, ..)| at);
            // What the network does at a moment comes before what workloads do.
            if !self.net.world.step(timer.map_or(until, |at| at.min(until))) {
                if timer.is_none_or(|at| at > until) {
                    self.net.world.advance(until);
                    return self.net.world.next_event().is_some() || timer.is_some();
                }
                let (at, _, owner, mark) = self.net.timers.pop_first().expect("one was just seen");
                self.net.world.advance(at);
                self.call(owner, |workload, net| workload.on_timer(net, mark));
            }
            self.notify();
        }
    }

    /// Tells the workloads what has happened, until nothing is left to tell. Most events are the
    /// network's alone.
    #[inline]
    fn notify(&mut self) {
        if self.net.world.has_news() {
            self.tell_workloads();
        }
        if let Some(log) = &mut self.sequence {
            log.record(&mut self.net.world, &self.net.meters);
        }
    }

    #[inline(never)]
    fn tell_workloads(&mut self) {
        loop {
            if let Some((end, (owner, tag, notice))) = self.net.world.poll_notice() {
                self.call(owner, |workload, net| workload.on_notice(net, end, tag, notice));
            } else if let Some((end, stream, connection)) = self.net.world.poll_departed() {
                self.net.meters.depart(end, &stream, &connection);
                if let Some((host, key)) = &stream.callee {
                    for host in self.net.hosts_as(*host).collect::<Vec<_>>() {
                        self.net.world.host_mut(host).expect_no_more(key);
                    }
                }
            } else if let Some((to, datagram)) = self.net.world.poll_datagram() {
                if let Some((socket, owner)) = self.net.socket_of(to, &datagram) {
                    self.call(owner, |workload, net| {
                        workload.on_datagram(net, socket, datagram.len);
                    });
                }
            } else if let Some((host, at, echo)) = self.net.world.poll_echo() {
                if let Some(&owner) = self.net.pinging.get(&(host, echo.identifier)) {
                    self.call(owner, |workload, net| workload.on_echo(net, at, echo));
                }
            } else {
                break;
            }
        }
    }

    fn call(&mut self, owner: usize, act: impl FnOnce(&mut dyn Workload, &mut Net)) {
        // Out of its place, so that it may act upon everything else.
        let mut workload = self.workloads[owner].take().expect("one acts at a time");
        self.net.owner = owner;
        act(workload.as_mut(), &mut self.net);
        self.workloads[owner] = Some(workload);
    }
}
