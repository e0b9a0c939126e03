//! Gateways in a path of the simulated world: how they answer, what they hold, where they stand.

mod adoption;
mod buffers;
mod bursts;
mod busy;
mod chains;
mod cleared_df;
mod congestion;
mod crashes;
mod discards;
mod ecmp;
mod fast;
mod flood;
mod full_window;
mod gaps;
mod handover;
mod hops;
mod initial_windows;
mod modes;
mod one_way;
mod overload;
mod port_reuse;
mod pull;
mod remotes;
mod return_channel;
mod routes;
mod uplinks;

use bentpipe_core::link::LinkConfig;
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Rate;
use bentpipe_core::wire::{Flags, SeqNum, TcpHeader};
use bentpipe_gateway::{Config, Gateway};
use bentpipe_sim::{Content, Host, Line, Middlebox, Node, Packet, Report, Script, World};
use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

/// The near host and the far one.
const HOSTS: [IpAddr; 2] = [
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)),
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)),
];

/// The port at which connection `number` listens.
fn port(number: usize) -> u16 {
    80 + number as u16
}

/// A segment that passed the probe beside the near host.
#[derive(Debug, Clone)]
struct ProbedSegment {
    at: Instant,
    /// It comes from the near host.
    leaves: bool,
    tcp: TcpHeader,
    len: usize,
}

/// Takes down what passes.
#[derive(Debug, Clone, Default)]
struct Probe(Rc<RefCell<Vec<ProbedSegment>>>);

impl Middlebox for Probe {
    fn handle(
        &mut self,
        now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        if let Content::Tcp(tcp, body) = &packet.content {
            let seen =
                ProbedSegment { at: now, leaves: port == 0, tcp: tcp.clone(), len: body.len() };
            self.0.borrow_mut().push(seen);
        }
        send(1 - port, packet);
    }
}

/// The near host, a probe, boxes with links between them, and the far host.
struct Path {
    boxes: Vec<Node>,
    links: Vec<LinkConfig>,
    /// The rate of a link's way back, where that is another: which link, and the rate.
    back: Option<(usize, Rate)>,
    tcp: ConnectionConfig,
    /// By connection, which the near host opens: when, and what runs at the near and the far host.
    calls: Vec<(Instant, [Script; 2])>,
}

impl Path {
    /// Two gateways at the ends of a satellite link of so much, half a second there and back.
    fn geo(rate: Rate, configs: [Config; 2]) -> Path {
        let [near, far] = configs;
        Path {
            boxes: vec![gateway(near, 0), gateway(far, 1)],
            links: vec![cable(), satellite(rate), cable()],
            back: None,
            tcp: ConnectionConfig::preset("linux").unwrap(),
            calls: Vec::new(),
        }
    }

    /// With one more connection, from the beginning on.
    fn call(mut self, near: Script, far: Script) -> Path {
        let name = 2 * self.calls.len() as u64;
        let keyed = |script, end| Script { key: name + end, peer_key: name + 1 - end, ..script };
        self.calls.push((Instant::ZERO, [keyed(near, 0), keyed(far, 1)]));
        self
    }

    /// The world, before anything has happened in it. The probe is node 1.
    fn build(self) -> (World, Probe) {
        let mut hosts = HOSTS.map(Host::new);
        for (number, (at, scripts)) in self.calls.iter().enumerate() {
            let [near, far] = &mut hosts;
            let isn = SeqNum(u32::MAX - 1_000 * number as u32);
            let key = (1_000 + number as u16, HOSTS[1], port(number));
            near.call(*at, key, self.tcp, isn, scripts[0]);
            far.listen(port(number), self.tcp, isn + 7, scripts[1]);
        }
        let [near, far] = hosts;
        let probe = Probe::default();
        let mut nodes = vec![Node::Host(near), Node::Middlebox(Box::new(probe.clone()))];
        nodes.extend(self.boxes);
        nodes.push(Node::Host(far));
        let ideal = std::iter::once(&LinkConfig::IDEAL);
        let line = |link: &LinkConfig, seed| Line::new(&LinkConfig { seed, ..link.clone() });
        let lines = ideal.chain(&self.links).map(|l| [line(l, l.seed), line(l, l.seed + 1)]);
        let mut lines: Vec<_> = lines.collect();
        if let Some((link, rate)) = self.back {
            let link_back = LinkConfig { rate: Some(rate.into()), ..self.links[link].clone() };
            lines[link + 1][1] = line(&link_back, link_back.seed + 1);
        }
        (World::chain(nodes, lines), probe)
    }
}

/// What the near and the far end of connection `number` have seen.
fn reports(world: &World, number: usize) -> [Report; 2] {
    let far = (0..).find(|&id| id > 0 && matches!(world.node(id), Node::Host(_))).unwrap();
    let near = world.host(0).report(&(1_000 + number as u16, HOSTS[1], port(number)));
    let far = world.host(far).report(&(port(number), HOSTS[0], 1_000 + number as u16));
    [near, far].map(|report| *report.expect("there was a connection"))
}

/// Both ends have read all, and the end of it.
fn assert_whole(world: &World, number: usize) {
    let [near, far] = reports(world, number);
    for (mine, peer) in [(near, far), (far, near)] {
        assert!(mine.clean_end && mine.read == peer.written, "{mine:?}, peer {peer:?}");
        assert!(!mine.reset && !mine.timed_out, "{mine:?}");
    }
}

/// A gateway whose LAN is at `lan` (port 0: towards the near host).
fn gateway(config: Config, lan: usize) -> Node {
    Node::Gateway(Box::new(Gateway::new(config)), vec![lan])
}

/// 100 Mbit/s, 1 ms.
fn cable() -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bits_per_sec(100_000_000).into()),
        delay: Duration::from_millis(1).into(),
        ..LinkConfig::IDEAL
    }
}

/// 250 ms each way.
fn satellite(rate: Rate) -> LinkConfig {
    LinkConfig {
        rate: Some(rate.into()),
        delay: Duration::from_millis(250).into(),
        ..LinkConfig::IDEAL
    }
}

/// A gateway's parameters where links take packets of one MTU, and the satellite link is known.
fn knowing(rate: Rate) -> Config {
    let mut config = Config { super_segments: false, ..Config::default() };
    config.satellite.rate = Some(rate);
    config.satellite.round_trip = Some(Duration::from_millis(510));
    config
}
