//! Nodes, the lines between them, and the clock.

use crate::agenda::Agenda;
use crate::host::Host;
use crate::line::Line;
use crate::packet::Packet;
use bentpipe_core::tcp::buffer::{Chunks, Payload};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_gateway::{Disposition, Gateway, Side};

/// Index of a node in its world.
pub type NodeId = usize;

/// A box with ports. Hosts have one port (0); the others two, and pass packets from one to the
/// other.
#[derive(Debug)]
pub enum Node {
    /// An end.
    Host(Host),
    /// A router between its two ports.
    Forwarder,
    /// A gateway. The port given is the one towards its LAN.
    Gateway(Box<Gateway<Chunks>>, usize),
}

/// Where a line leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    node: NodeId,
    port: usize,
}

/// Everything, at one moment.
#[derive(Debug, Default)]
pub struct World {
    now: Instant,
    agenda: Agenda,
    nodes: Vec<Node>,
    /// Each direction of each cable, and where it ends.
    lines: Vec<(Line, Place)>,
    /// By node and port: the line that leaves from there.
    exits: Vec<[Option<usize>; 2]>,
    trace: u64,
    packets: u64,
    /// Print every packet that arrives.
    verbose: bool,
}

impl World {
    /// An empty world at the beginning of time.
    pub fn new() -> World {
        World { trace: 0xcbf2_9ce4_8422_2325, ..World::default() }
    }

    /// A chain: each node's port 1 is joined to the next one's port 0, but a host's only port is
    /// 0. `lines` are the two directions (onwards and back) between neighbours.
    pub fn chain(nodes: Vec<Node>, lines: Vec<[Line; 2]>) -> World {
        assert_eq!(nodes.len(), lines.len() + 1, "one cable between each two neighbours");
        let mut world = World::new();
        for node in nodes {
            world.add(node);
        }
        for (left, [onwards, back]) in lines.into_iter().enumerate() {
            let exit = usize::from(left > 0);
            world.join((left, exit), (left + 1, 0), onwards, back);
        }
        world
    }

    /// Adds a node.
    pub fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.exits.push([None; 2]);
        self.nodes.len() - 1
    }

    /// Joins port `a` to port `b` (node and port number) by a line each way.
    pub fn join(&mut self, a: (NodeId, usize), b: (NodeId, usize), a_to_b: Line, b_to_a: Line) {
        for (from, to, line) in [(a, b, a_to_b), (b, a, b_to_a)] {
            self.exits[from.0][from.1] = Some(self.lines.len());
            self.lines.push((line, Place { node: to.0, port: to.1 }));
        }
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// A digest of every packet that has arrived anywhere, and when.
    pub fn trace(&self) -> u64 {
        self.trace
    }

    /// Prints every packet that arrives anywhere, for the reader of a failed run.
    pub fn print_packets(&mut self) {
        self.verbose = true;
    }

    /// How many packets have arrived anywhere.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The host `id`.
    ///
    /// # Panics
    /// If that node is no host.
    pub fn host(&self, id: NodeId) -> &Host {
        match &self.nodes[id] {
            Node::Host(host) => host,
            other => panic!("node {id} is {other:?}, not a host"),
        }
    }

    /// The host `id`, to plan its connections.
    ///
    /// # Panics
    /// If that node is no host.
    pub fn host_mut(&mut self, id: NodeId) -> &mut Host {
        match &mut self.nodes[id] {
            Node::Host(host) => host,
            other => panic!("node {id} is {other:?}, not a host"),
        }
    }

    /// The gateways.
    pub fn gateways(&self) -> impl Iterator<Item = &Gateway<Chunks>> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Gateway(gateway, _) => Some(gateway.as_ref()),
            _ => None,
        })
    }

    /// A line, by its node and port of departure.
    pub fn line_from(&self, id: NodeId, port: usize) -> Option<&Line> {
        self.exits[id][port].map(|line| &self.lines[line].0)
    }

    /// Runs until nothing is left to happen, or until `limit`. True if nothing is left.
    pub fn run(&mut self, limit: Duration) -> bool {
        for id in 0..self.nodes.len() {
            self.settle(id, false);
        }
        let end = Instant::ZERO + limit;
        while let Some(next) = self.agenda.next() {
            if next > end {
                return false;
            }
            let (at, element) = self.agenda.pop().expect("just seen");
            assert!(at >= self.now, "time goes back from {:?} to {at:?}", self.now);
            self.now = at;
            match element.checked_sub(self.nodes.len()) {
                None => self.wake(element),
                Some(line) => self.deliver(line),
            }
        }
        true
    }

    fn wake(&mut self, id: NodeId) {
        let now = self.now;
        match &mut self.nodes[id] {
            Node::Host(host) => host.handle_timeout(now),
            Node::Forwarder => {}
            Node::Gateway(gateway, _) => gateway.handle_timeout(now),
        }
        self.settle(id, true);
    }

    /// Hands over what has arrived on a line.
    fn deliver(&mut self, line: usize) {
        let now = self.now;
        let Place { node, port } = self.lines[line].1;
        while let Some(packet) = self.lines[line].0.pop(now) {
            self.note(line, &packet);
            match &mut self.nodes[node] {
                Node::Host(host) => host.handle(now, &packet),
                Node::Forwarder => self.send(node, 1 - port, packet),
                Node::Gateway(gateway, lan) => {
                    let from = if port == *lan { Side::Lan } else { Side::Satellite };
                    let payload = Payload::Bytes(&packet.payload);
                    let verdict =
                        gateway.handle_packet(now, from, &packet.ip, &packet.tcp, payload);
                    if let Disposition::Forward(_) = verdict {
                        self.send(node, 1 - port, packet);
                    }
                }
            }
            self.settle(node, false);
        }
        self.arm_line(line);
    }

    /// Sends all that a node has to send, and sets its alarm. `woken`: its timers have just
    /// expired.
    fn settle(&mut self, id: NodeId, woken: bool) {
        let now = self.now;
        let mut sent = 0;
        while let Some((port, packets)) = self.poll_node(id) {
            for packet in packets {
                self.send(id, port, packet);
            }
            sent += 1;
            assert!(sent < 100_000, "node {id} sends without end at {now:?}");
        }
        let next = match &self.nodes[id] {
            Node::Host(host) => {
                host.check();
                host.next(now)
            }
            Node::Forwarder => None,
            Node::Gateway(gateway, _) => gateway.poll_timeout(),
        };
        // What was due has expired: a deadline that stays would wake the node for ever.
        if let Some(at) = next.filter(|_| woken) {
            assert!(at > now, "node {id} has a deadline in the past: {at:?} at {now:?}");
        }
        let next = next.map(|at| at.max(now));
        self.agenda.set(id, next);
    }

    /// What node `id` sends next, cut to wire packets, and out of which port.
    fn poll_node(&mut self, id: NodeId) -> Option<(usize, Vec<Packet>)> {
        let now = self.now;
        match &mut self.nodes[id] {
            Node::Host(host) => {
                let packet = host.poll_transmit(now)?;
                let key = (packet.tcp.src_port, packet.ip.dst, packet.tcp.dst_port);
                let tcb = host.connection(&key).and_then(|connection| connection.tcb());
                let mss = tcb.map_or(usize::MAX, |tcb| tcb.sender.smss() as usize);
                Some((0, packet.cut(mss)))
            }
            Node::Forwarder => None,
            Node::Gateway(gateway, lan) => {
                let emission = gateway.poll_transmit(now)?;
                let mut payload = Vec::with_capacity(emission.payload_len());
                gateway.payload(&emission, |piece| {
                    let Payload::Bytes(bytes) = piece else { unreachable!("chunks hold bytes") };
                    payload.extend_from_slice(bytes);
                });
                assert_eq!(payload.len(), emission.payload_len(), "the payload is there");
                let port = if emission.to == Side::Lan { *lan } else { 1 - *lan };
                let packet = Packet { ip: emission.ip, tcp: emission.tcp, payload };
                let mss = emission.gso_size.map_or(usize::MAX, usize::from);
                Some((port, packet.cut(mss)))
            }
        }
    }

    fn send(&mut self, id: NodeId, port: usize, packet: Packet) {
        if let Some(line) = self.exits[id][port] {
            self.lines[line].0.push(self.now, packet);
            self.arm_line(line);
        }
    }

    fn arm_line(&mut self, line: usize) {
        let next = self.lines[line].0.next().map(|at| at.max(self.now));
        self.agenda.set(self.nodes.len() + line, next);
    }

    /// FNV-1a over what arrives where and when.
    fn note(&mut self, line: usize, packet: &Packet) {
        self.packets += 1;
        if self.verbose {
            let (now, Place { node, port }, tcp) = (self.now, self.lines[line].1, &packet.tcp);
            let (len, options) = (packet.payload.len(), &tcp.options);
            let (src, dst) = (tcp.src_port, tcp.dst_port);
            eprintln!(
                "{now:?} at {node}.{port}: {src}>{dst} {:?} seq {:?} ack {:?} win {} len {len} {:?} {:?}",
                tcp.flags, tcp.seq, tcp.ack, tcp.window, options.timestamps, options.sack
            );
        }
        let words = [
            self.now.as_nanos(),
            line as u64,
            u64::from(packet.tcp.seq.0) << 32 | u64::from(packet.tcp.ack.0),
            u64::from(packet.tcp.flags.0) << 32 | packet.payload.len() as u64,
            u64::from(packet.tcp.window) << 16 | u64::from(packet.tcp.src_port),
        ];
        for byte in words.iter().flat_map(|word| word.to_le_bytes()) {
            self.trace = (self.trace ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
