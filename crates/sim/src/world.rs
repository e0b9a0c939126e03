//! Nodes, the lines between them, and the clock.

mod act;
mod digest;
mod gateways;
mod look;
mod losses;
mod medium;
mod meter;
mod routes;
mod send;
mod tap;
mod watch;

pub(crate) use tap::{Passed, SequenceEvent, Tap};
pub(crate) use watch::{Segment, SegmentEvent, Touched};

use crate::event_queue::EventQueue;
use crate::host::script::Run;
use crate::host::{Application, Slot};
use crate::line::Line;
use crate::listener::Listener;
use crate::node::Node;
use crate::packet::{Body, Content, CorruptionNotice, Datagram, Echo, Packet};
use crate::packet_pool::PacketPool;
use bentpipe_core::link::Medium;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_gateway::{Gateway, Side};
use digest::Digest;
use meter::Meter;
use routes::Route;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// Index of a node in its world.
pub type NodeId = usize;
/// Index of a line (one direction of a cable) in its world.
pub type LineId = usize;

/// One end of a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The host's node.
    pub host: NodeId,
    /// The connection there.
    pub slot: Slot,
}

/// Everything, at one moment. `A` is what uses the connections of its hosts.
#[derive(Debug)]
pub struct World<A: Application = Run> {
    now: Instant,
    event_queue: EventQueue,
    nodes: Vec<Node<A>>,
    /// Each direction of each cable.
    lines: Vec<Egress>,
    /// What several lines share.
    media: Vec<Medium>,
    /// By node and port: the line that leaves from there.
    exits: Vec<Vec<Option<LineId>>>,
    /// By node: the way to each host's address.
    routes: Vec<BTreeMap<IpAddr, Route>>,
    /// Hosts whose applications may have told something.
    told: Vec<NodeId>,
    /// By node: its address, if it has one.
    addresses: Vec<Option<IpAddr>>,
    /// By node: what it has held and counted as a gateway.
    meters: Vec<Meter>,
    /// Answers to pings.
    echoes: VecDeque<(NodeId, Instant, Echo)>,
    /// UDP datagrams that have come to hosts.
    datagrams: VecDeque<(NodeId, Datagram)>,
    trace: Digest,
    packet_pool: PacketPool,
    packets: u64,
    /// Hears of every packet that arrives.
    listener: Option<Listener>,
    /// Records what passes the hosts, if anyone wants to know.
    tap: Option<Tap>,
    /// Records what each event touches, if anyone wants to know.
    touched: Option<Touched>,
}

/// A line and where it leads.
#[derive(Debug)]
struct Egress {
    line: Line,
    node: NodeId,
    port: usize,
    /// What it shares with others.
    medium: Option<usize>,
}

/// What has an alarm in the event queue: nodes, lines and media in turn, by fours, which are
/// quickly told apart.
const fn node_element(id: NodeId) -> usize {
    4 * id
}

const fn line_element(id: LineId) -> usize {
    4 * id + 1
}

const fn medium_element(id: usize) -> usize {
    4 * id + 2
}

impl<A: Application> Default for World<A> {
    fn default() -> World<A> {
        World {
            now: Instant::ZERO,
            event_queue: EventQueue::default(),
            nodes: Vec::new(),
            lines: Vec::new(),
            media: Vec::new(),
            exits: Vec::new(),
            routes: Vec::new(),
            told: Vec::new(),
            addresses: Vec::new(),
            meters: Vec::new(),
            echoes: VecDeque::new(),
            datagrams: VecDeque::new(),
            trace: Digest::default(),
            packet_pool: PacketPool::default(),
            packets: 0,
            listener: None,
            tap: None,
            touched: None,
        }
    }
}

impl<A: Application> World<A> {
    /// A chain: each node's port 1 is joined to the next one's port 0, but a host's only port is
    /// 0. `lines` are the two directions (onwards and back) between neighbours.
    pub fn chain(nodes: Vec<Node<A>>, lines: Vec<[Line; 2]>) -> World<A> {
        assert_eq!(nodes.len(), lines.len() + 1, "one cable between each two neighbours");
        let mut world = World::default();
        for node in nodes {
            world.add(node);
        }
        for (left, [onwards, back]) in lines.into_iter().enumerate() {
            let exit = usize::from(left > 0);
            world.join((left, exit), (left + 1, 0), onwards, back);
        }
        world.route();
        world
    }

    /// Adds a node.
    pub fn add(&mut self, node: impl Into<Node<A>>) -> NodeId {
        let node = node.into();
        self.addresses.push(match &node {
            Node::Host(host) => Some(host.address()),
            _ => None,
        });
        self.nodes.push(node);
        self.exits.push(Vec::new());
        self.routes.push(BTreeMap::new());
        self.meters.push(Meter::default());
        self.nodes.len() - 1
    }

    /// Gives an address to a router, a gateway or a middlebox, so that it can be pinged.
    pub fn set_address(&mut self, id: NodeId, address: IpAddr) {
        self.addresses[id] = Some(address);
    }

    /// The address of a node, if it has one.
    pub fn address(&self, id: NodeId) -> Option<IpAddr> {
        self.addresses[id]
    }

    /// Joins port `a` to port `b` (node and port number) by a line each way, whose numbers it
    /// returns.
    pub fn join(
        &mut self,
        a: (NodeId, usize),
        b: (NodeId, usize),
        a_to_b: Line,
        b_to_a: Line,
    ) -> [LineId; 2] {
        [(a, b, a_to_b), (b, a, b_to_a)].map(|(from, to, line)| {
            let exits = &mut self.exits[from.0];
            exits.resize(exits.len().max(from.1 + 1), None);
            let id = self.lines.len();
            assert_eq!(exits[from.1].replace(id), None, "port {from:?} is free");
            self.lines.push(Egress { line, node: to.0, port: to.1, medium: None });
            id
        })
    }

    /// The lowest port of node `id` that has no cable yet.
    pub fn free_port(&self, id: NodeId) -> usize {
        let exits = &self.exits[id];
        exits.iter().position(Option::is_none).unwrap_or(exits.len())
    }

    /// Runs until nothing is left to happen, or until `limit`. True if nothing is left.
    pub fn run(&mut self, limit: Duration) -> bool {
        self.start();
        while self.step(Instant::ZERO + limit) {}
        self.next_event().is_none()
    }

    /// Gives every node its first turn. Nothing happens in a world before this.
    pub fn start(&mut self) {
        for id in 0..self.nodes.len() {
            self.settle(id, false);
        }
    }

    /// When something happens next.
    pub fn next_event(&mut self) -> Option<Instant> {
        self.event_queue.next()
    }

    /// Lets the next thing happen, if it does so by `end`. False if nothing did.
    pub fn step(&mut self, end: Instant) -> bool {
        let Some((at, element)) = self.event_queue.pop(end) else { return false };
        assert!(at >= self.now, "time goes back from {:?} to {at:?}", self.now);
        self.now = at;
        match element % 4 {
            0 => self.on_timer(element / 4),
            1 => self.deliver(element / 4),
            _ => self.take_turns(element / 4),
        }
        true
    }

    /// Moves the clock on to `now`; nothing may be due before.
    pub fn advance(&mut self, now: Instant) {
        let next = self.next_event();
        assert!(now >= self.now && next.is_none_or(|next| next >= now), "{next:?} before {now:?}");
        self.now = now;
    }

    fn on_timer(&mut self, id: NodeId) {
        let now = self.now;
        match &mut self.nodes[id] {
            Node::Host(host) => host.handle_timeout(now),
            Node::Router => {}
            Node::Gateway(..) => self.expire_gateway(id),
            Node::Middlebox(middlebox) => {
                let mut out = Vec::new();
                middlebox.handle_timeout(now, &mut |port, packet| out.push((port, packet)));
                self.send_all(id, out);
            }
        }
        self.settle(id, true);
    }

    /// Hands over what has arrived on a line.
    fn deliver(&mut self, id: LineId) {
        let now = self.now;
        let Egress { node, port, .. } = self.lines[id];
        if let Some(touched) = &mut self.touched {
            touched.line(id);
        }
        while let Some(mut packet) = self.lines[id].line.pop(now) {
            self.note(id, &packet);
            if self.lines[id].line.direction().has_lost() {
                self.tell_losses(id);
            }
            // Middleboxes stand in a row before their link; to all others it means nothing.
            packet.urgent &= matches!(self.nodes[node], Node::Middlebox(_));
            self.record(node, SegmentEvent::Received, &packet);
            self.arrive(node, port, packet);
            // Mostly nothing has come with it, which costs less to see than another look inside.
            if self.arm_line(id).is_none_or(|at| at > now) {
                return;
            }
        }
        self.arm_line(id);
    }

    /// Hands a packet that has come in by `port` to its node.
    fn arrive(&mut self, node: NodeId, port: usize, packet: Box<Packet>) {
        let now = self.now;
        if packet.corruption == CorruptionNotice::Damaged {
            return self.arrive_damaged(node, packet);
        }
        if let Some(tap) = &mut self.tap
            && let Node::Host(_) = self.nodes[node]
        {
            tap.arrived(now, node, &packet);
        }
        if let Content::Echo(echo) = packet.content
            && self.addresses[node] == Some(packet.ip.dst)
        {
            if echo.reply {
                self.echoes.push_back((node, now, echo));
            } else {
                self.emit(node, packet.ip.src, Content::Echo(Echo { reply: true, ..echo }));
            }
            return;
        }
        match &mut self.nodes[node] {
            Node::Host(host) => {
                if let Content::Udp(datagram) = packet.content {
                    self.datagrams.push_back((node, datagram));
                }
                host.handle(now, &packet);
                self.packet_pool.take_back(packet);
            }
            Node::Router => return self.forward(node, packet),
            Node::Gateway(..) => self.arrive_at_gateway(node, port, packet),
            Node::Middlebox(middlebox) => {
                let mut out = Vec::new();
                let send = &mut |port, packet| out.push((port, packet));
                middlebox.handle(now, port, *packet, send);
                self.send_all(node, out);
            }
        }
        self.settle(node, false);
    }

    /// Sends all that a node has to send, and sets its alarm. `expired`: its timers have just
    /// expired.
    fn settle(&mut self, id: NodeId, expired: bool) {
        let now = self.now;
        if let Some(touched) = &mut self.touched {
            touched.node(id);
        }
        let mut sent = 0;
        while let Some((packet, mss, side)) = self.poll_node(id) {
            packet.cut(mss, |packet| {
                self.record(id, SegmentEvent::Sent, &packet);
                match side {
                    None => self.send_from_host(id, packet),
                    Some(side) => self.send_from_gateway(id, side, packet),
                }
            });
            sent += 1;
            assert!(sent < 1_000_000, "node {id} sends without end at {now:?}");
        }
        if self.tap.is_some() {
            self.tell_observed(id);
        }
        let next = match &mut self.nodes[id] {
            Node::Host(host) => {
                if host.tells() && !self.told.contains(&id) {
                    self.told.push(id);
                }
                host.next()
            }
            Node::Router => return,
            Node::Gateway(gateway, _) => {
                while let Some(event) = gateway.poll_event() {
                    if let Some(listener) = &mut self.listener {
                        listener.tell(format!("{:.6} gateway {id}: {event}", now.as_secs_f64()));
                    }
                }
                // A deployed gateway goes on without the flow; here it is a finding.
                assert_eq!(gateway.panicked(), 0, "a flow of gateway {id} panicked at {now:?}");
                self.meters[id].read(now, gateway);
                gateway.poll_timeout()
            }
            Node::Middlebox(middlebox) => middlebox.next(),
        };
        // What was due has expired: a deadline that stays would fire for ever.
        if let Some(at) = next.filter(|_| expired) {
            assert!(at > now, "node {id} has a deadline in the past: {at:?} at {now:?}");
        }
        self.event_queue.set(node_element(id), next.map(|at| at.max(now)));
    }

    /// What node `id` sends next, how much payload a wire packet takes, and towards which side of a
    /// gateway.
    #[inline]
    fn poll_node(&mut self, id: NodeId) -> Option<(Box<Packet>, usize, Option<Side>)> {
        let now = self.now;
        match &mut self.nodes[id] {
            Node::Host(host) => {
                let (packet, mss) = host.poll_transmit(now, &mut self.packet_pool)?;
                Some((packet, mss, None))
            }
            Node::Router | Node::Middlebox(_) => None,
            Node::Gateway(gateway, _) => poll_gateway(gateway, now, &mut self.packet_pool),
        }
    }
}

/// Apart from [`World::poll_node`], where hosts would carry its variables on their stack.
#[inline(never)]
fn poll_gateway<B: Buffer>(
    gateway: &mut Gateway<B>,
    now: Instant,
    packet_pool: &mut PacketPool,
) -> Option<(Box<Packet>, usize, Option<Side>)> {
    let transmit = gateway.poll_transmit(now)?;
    let body = Body::collect(transmit.payload_len(), |visit| gateway.payload(&transmit, visit));
    let mss = transmit.gso_size.map_or(usize::MAX, usize::from);
    let packet = Packet::sent(transmit.ip, transmit.tcp, body, transmit.cause);
    Some((packet_pool.fill(packet), mss, Some(transmit.to)))
}
