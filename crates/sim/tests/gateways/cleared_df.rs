//! A router on the satellite link clears DF and cuts what is too long for it; some of the pieces are lost. What is left of a
//! packet is put together with a piece of another that has its identification, and no checksum finds it.

use super::*;
use bentpipe_core::wire::{self, IpHeader, Verify};
use bentpipe_sim::Body;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

const BYTES: u64 = 400_000;
/// The longest packet that passes whole.
const MTU: usize = 1300;
const HEADER: usize = 20;
/// How long a host keeps a piece (Linux's `ipfrag_time`).
const PATIENCE: Duration = Duration::from_secs(30);

/// Which packet a piece is of, as hosts see it.
type Name = (IpAddr, IpAddr, u16);

/// The two pieces of a packet, as far as they have come.
#[derive(Debug, Default, Clone)]
struct Pieces([Option<Vec<u8>>; 2]);

#[derive(Debug)]
struct ClearsDf {
    rng: Pcg64Mcg,
    loss: f64,
    waiting: BTreeMap<Name, (Instant, Pieces)>,
    mixtures: Rc<RefCell<u64>>,
}

impl ClearsDf {
    /// Whether both pieces have come with this one.
    fn keep(&mut self, now: Instant, name: Name, number: usize, piece: Vec<u8>) -> Option<Vec<u8>> {
        self.waiting.retain(|_, (since, _)| now < *since + PATIENCE);
        let (_, Pieces(pieces)) =
            self.waiting.entry(name).or_insert_with(|| (now, Pieces::default()));
        if pieces[number].is_some() {
            // Another one was there already: both packets are given up (RFC 5722).
            self.waiting.remove(&name);
            return None;
        }
        pieces[number] = Some(piece);
        let [Some(head), Some(tail)] = pieces else { return None };
        let whole = [&head[..], tail].concat();
        self.waiting.remove(&name);
        Some(whole)
    }
}

impl Middlebox for ClearsDf {
    fn handle(
        &mut self,
        now: Instant,
        port: usize,
        mut packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        packet.ip.dont_fragment = false;
        let bytes = packet.to_bytes().filter(|bytes| bytes.len() > MTU);
        let Some(bytes) = bytes else { return send(1 - port, packet) };
        let name = (packet.ip.src, packet.ip.dst, packet.ip.identification);
        let cut = HEADER + (MTU - HEADER) / 8 * 8;
        for (number, piece) in [&bytes[..cut], &bytes[cut..]].into_iter().enumerate() {
            if self.rng.random::<f64>() < self.loss {
                continue;
            }
            let Some(mut whole) = self.keep(now, name, number, piece.to_vec()) else { continue };
            if whole == bytes {
                send(1 - port, packet.clone());
                continue;
            }
            *self.mixtures.borrow_mut() += 1;
            let len = (whole.len() as u16).to_be_bytes();
            whole[2..4].copy_from_slice(&len);
            let mixed =
                wire::Packet::parse(&whole, Verify::Skip).expect("the head has all headers");
            let body = Body::Bytes(mixed.payload.to_vec());
            send(1 - port, Packet::tcp(mixed.ip, mixed.tcp, body));
        }
    }
}

#[test]
fn pieces_of_different_packets_never_meet() {
    for seed in 0..12 {
        let mixtures = Rc::new(RefCell::new(0));
        let loss = [0.01, 0.05][seed as usize % 2];
        let router = ClearsDf {
            rng: Pcg64Mcg::seed_from_u64(seed),
            loss,
            waiting: BTreeMap::new(),
            mixtures: Rc::clone(&mixtures),
        };
        let [client, server] = transfer(vec![gateway(0), boxed(router), gateway(1)]);
        assert_eq!((client.read, server.read), (BYTES, BYTES), "seed {seed}");
        assert!(client.clean_end && server.clean_end, "seed {seed}");
        assert_eq!(*mixtures.borrow(), 0, "seed {seed}");
        let end = client.last_read.max(server.last_read).unwrap();
        assert!(end < Instant::ZERO + Duration::from_secs(60), "seed {seed}: {end:?}");
    }
}

/// How a fake is told from the segment that it precedes.
#[derive(Debug, Clone, Copy)]
enum Fake {
    LowHopLimit,
    Signed,
}

/// The hop limit of a fake.
const LOW: u8 = 4;

/// Sends fakes ahead of some segments of the client, with other bytes.
#[derive(Debug)]
struct Fakes {
    rng: Pcg64Mcg,
    fake: Fake,
    sent: Rc<RefCell<u64>>,
}

impl Middlebox for Fakes {
    fn handle(
        &mut self,
        _now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        if let Content::Tcp(tcp, body) = &packet.content
            && port == 0
            && !tcp.has(Flags::SYN)
            && !body.is_empty()
            && self.rng.random::<f64>() < 0.3
        {
            *self.sent.borrow_mut() += 1;
            let bytes = body.to_bytes().into_iter().map(|byte| !byte).collect();
            let (mut ip, mut tcp) = (packet.ip, tcp.clone());
            match self.fake {
                Fake::LowHopLimit => ip = IpHeader { hop_limit: LOW, ..ip },
                Fake::Signed => tcp.options.other = [&[19, 18][..], &[1; 16]].concat(),
            }
            send(1, Packet::tcp(ip, tcp, Body::Bytes(bytes)));
        }
        send(1 - port, packet);
    }
}

/// Where fakes end: hops before the server, or in its TCP, which knows signatures.
#[derive(Debug)]
struct Refuses;

impl Middlebox for Refuses {
    fn handle(
        &mut self,
        _now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        let signed = match &packet.content {
            Content::Tcp(tcp, _) => tcp.options.is_signed(),
            _ => false,
        };
        if port == 1 || !signed && packet.ip.hop_limit > LOW {
            send(1 - port, packet);
        }
    }
}

#[test]
fn fakes_that_the_server_would_not_take_do_not_reach_its_stream() {
    for (seed, fake) in (0..4).flat_map(|seed| [(seed, Fake::LowHopLimit), (seed, Fake::Signed)]) {
        let sent = Rc::new(RefCell::new(0));
        let rng = Pcg64Mcg::seed_from_u64(seed);
        let fakes = Fakes { rng, fake, sent: Rc::clone(&sent) };
        let between = vec![boxed(fakes), gateway(0), gateway(1), boxed(Refuses)];
        let [client, server] = transfer(between);
        assert!(*sent.borrow() > 20, "seed {seed}, {fake:?}");
        assert_eq!((client.read, server.read), (BYTES, BYTES), "seed {seed}, {fake:?}");
        assert!(client.clean_end && server.clean_end, "seed {seed}, {fake:?}");
        let end = client.last_read.max(server.last_read).unwrap();
        assert!(end < Instant::ZERO + Duration::from_secs(20), "seed {seed}, {fake:?}: {end:?}");
    }
}

fn boxed(middlebox: impl Middlebox + 'static) -> Node {
    Node::Middlebox(Box::new(middlebox))
}

fn gateway(lan: usize) -> Node {
    Node::Gateway(Box::new(Gateway::new(Config::default())), vec![lan])
}

/// Both hosts send [`BYTES`] to each other, through what is `between` them.
fn transfer(between: Vec<Node>) -> [Report; 2] {
    let config = ConnectionConfig { time_wait: Duration::from_secs(1), ..Default::default() };
    let key = (1000, HOSTS[1], 80);
    let mut client = Host::new(HOSTS[0]);
    let script = Script { bytes: BYTES, key: 1, peer_key: 2, ..Script::default() };
    client.call(Instant::ZERO, key, config, SeqNum(5), script);
    let mut server = Host::new(HOSTS[1]);
    let script = Script { bytes: BYTES, key: 2, peer_key: 1, ..Script::default() };
    server.listen(80, config, SeqNum(7), script);
    let cable = || {
        let rate = Some(Rate::from_bits_per_sec(10_000_000).into());
        let delay = Duration::from_millis(20).into();
        let link = LinkConfig { rate, delay, seed: 1, ..LinkConfig::IDEAL };
        [Line::new(&link, Faults::default()), Line::new(&link, Faults::default())]
    };
    let mut nodes = vec![Node::Host(client)];
    nodes.extend(between);
    nodes.push(Node::Host(server));
    let (last, cables) = (nodes.len() - 1, (1..nodes.len()).map(|_| cable()).collect());
    let mut world = World::chain(nodes, cables);
    world.run(Duration::from_secs(600));
    let report = |node: usize, key: (u16, IpAddr, u16)| {
        *world.host(node).report(&key).expect("it was connected")
    };
    [report(0, key), report(last, (80, HOSTS[0], 1000))]
}
