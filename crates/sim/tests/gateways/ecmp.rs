//! Pairs of gateways side by side, between routers that spread flows over them (ECMP).

use super::*;
use bentpipe_core::link::Outages;
use bentpipe_gateway::Reason;
use bentpipe_sim::{EqualWay, FlowHash, Spread};
use std::collections::BTreeSet;
use std::net::SocketAddr;

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);
const FLOWS: usize = 24;
const LEN: u64 = 500_000;

/// The routers next to the near and to the far host.
const ROUTERS: [usize; 2] = [2, 3];

/// A gateway's port towards its router, and towards its peer.
const LAN: usize = 0;
const SATELLITE: usize = 1;

/// The near (0) or far (1) gateway of a pair.
fn gateway_of(pair: usize, end: usize) -> usize {
    4 + 2 * pair + end
}

/// A router's port towards its gateway of a pair.
fn port_to(pair: usize) -> usize {
    1 + pair
}

/// Which pair a router takes for a way with this label, and how it hashes.
struct Router {
    hash: FlowHash,
    /// By label.
    pairs: Vec<usize>,
}

impl Router {
    fn spread(&self) -> Spread {
        let ways = self.pairs.iter().zip(0..);
        let way = |(&pair, label)| EqualWay { label, port: port_to(pair) };
        Spread::new(self.hash, ways.map(way).collect())
    }
}

/// `pairs` side by side between `routers`; [`FLOWS`] connections, which the near host opens within
/// half a second and in which each end sends [`LEN`] bytes. From `lost` on pair 0's satellite link
/// carries nothing.
fn world(pairs: usize, routers: &[Router; 2], lost: Option<Instant>) -> World {
    let tcp = ConnectionConfig::preset("linux").unwrap();
    let mut hosts = HOSTS.map(Host::new);
    for number in 0..FLOWS {
        let [near, far] = &mut hosts;
        let isn = SeqNum(u32::MAX - 1_000 * number as u32);
        let [mine, theirs] = [0, 1].map(|end| 2 * number as u64 + end);
        let script = |key, peer_key| Script {
            bytes: LEN,
            key,
            peer_key,
            abort_after: Some(Duration::from_secs(1800)),
            ..Script::default()
        };
        let at = Instant::ZERO + Duration::from_millis(20 * number as u64);
        let key = (1_000 + number as u16, HOSTS[1], port(number));
        near.call(at, key, tcp, isn, script(mine, theirs));
        far.listen(port(number), tcp, isn + 7, script(theirs, mine));
    }
    let mut world = World::default();
    for host in hosts {
        world.add(host);
    }
    for router in ROUTERS {
        assert_eq!(world.add(Node::Router), router);
    }
    let join = |world: &mut World, a, b, link: &LinkConfig| {
        let line = || Line::new(link);
        world.join(a, b, line(), line());
    };
    for end in [0, 1] {
        join(&mut world, (end, 0), (ROUTERS[end], 0), &cable());
    }
    for pair in 0..pairs {
        for end in [0, 1] {
            let node = world.add(gateway(knowing(RATE), LAN));
            assert_eq!(node, gateway_of(pair, end));
            join(&mut world, (ROUTERS[end], port_to(pair)), (node, LAN), &cable());
        }
        let mut link = satellite(RATE);
        if let Some(lost) = lost.filter(|_| pair == 0) {
            link.outages = Outages::listed(vec![lost..Instant::FAR_FUTURE]).unwrap();
        }
        let [near, far] = [0, 1].map(|end| (gateway_of(pair, end), SATELLITE));
        join(&mut world, near, far, &link);
    }
    world.route();
    for (end, router) in routers.iter().enumerate() {
        world.set_spread(ROUTERS[end], HOSTS[1 - end], router.spread());
    }
    world
}

/// Routers that hash symmetrically and call each pair by the same label.
fn symmetric(pairs: usize) -> [Router; 2] {
    [(); 2].map(|()| Router { hash: FlowHash::Symmetric, pairs: (0..pairs).collect() })
}

fn gateway_at(world: &World, pair: usize, end: usize) -> &Gateway {
    match world.node(gateway_of(pair, end)) {
        Node::Gateway(gateway, _) => gateway,
        other => panic!("{other:?} is no gateway"),
    }
}

/// The clients whose flows a gateway splits now.
fn clients(world: &World, pair: usize, end: usize) -> BTreeSet<SocketAddr> {
    gateway_at(world, pair, end).flow_views(world.now()).map(|flow| flow.client).collect()
}

/// The connections that each pair splits now: the same at both of its ends, and each by one pair.
fn shares(world: &World, pairs: usize) -> Vec<BTreeSet<SocketAddr>> {
    let shares: Vec<_> = (0..pairs).map(|pair| clients(world, pair, 0)).collect();
    for (pair, share) in shares.iter().enumerate() {
        assert_eq!(share, &clients(world, pair, 1), "pair {pair}");
    }
    let all: BTreeSet<_> = shares.iter().flatten().collect();
    assert_eq!(shares.iter().map(BTreeSet::len).sum::<usize>(), all.len(), "one pair each");
    shares
}

fn play_until(world: &mut World, end: Instant) {
    while world.step(end) {}
    world.advance(end);
}

/// Plays it out; nothing is left in any gateway.
fn play_out(world: &mut World) {
    assert!(world.run(Duration::from_secs(4 * 3600)));
    assert!(world.gateways().all(|gateway| gateway.flows() == 0 && gateway.held() == 0));
}

#[test]
fn each_flow_is_split_by_one_of_several_pairs_and_whole() {
    for pairs in 2..=4 {
        let mut world = world(pairs, &symmetric(pairs), None);
        world.start();
        // All have been opened, and none is over.
        play_until(&mut world, Instant::ZERO + Duration::from_millis(1_500));
        let shares = shares(&world, pairs);
        assert_eq!(shares.iter().map(BTreeSet::len).sum::<usize>(), FLOWS);
        assert!(shares.iter().all(|share| share.len() >= FLOWS / pairs / 3), "{shares:?}");
        play_out(&mut world);
        (0..FLOWS).for_each(|number| assert_whole(&world, number));
        for (pair, share) in shares.iter().enumerate() {
            for end in [0, 1] {
                let summary = gateway_at(&world, pair, end).summary();
                let split = share.len() as u64;
                assert_eq!((summary.split, summary.closed, summary.lost_bytes), (split, split, 0));
                assert_eq!(summary.all_forwarded_flows(), 0);
            }
        }
    }
}

/// How a pair leaves the others.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Failure {
    /// The routers use it no more; it sends what it holds.
    TakenOut,
    /// Nor do they, and its satellite link is dead: what it holds goes back to the routers.
    LinkLost,
    /// Both gateways crash; the routers notice at once.
    Crashed,
}

#[test]
fn when_a_pair_fails_its_flows_move_and_none_ends_cleanly_with_bytes_missing() {
    let at = Instant::ZERO + Duration::from_millis(2_100);
    for failure in [Failure::TakenOut, Failure::LinkLost, Failure::Crashed] {
        let pairs = 3;
        let mut world =
            world(pairs, &symmetric(pairs), Some(at).filter(|_| failure == Failure::LinkLost));
        world.start();
        play_until(&mut world, at);
        let moved = shares(&world, pairs)[0].clone();
        for end in [0, 1] {
            let ways = [1, 2].map(|pair| EqualWay { label: pair as u32, port: port_to(pair) });
            let spread = Spread::new(FlowHash::Symmetric, ways.to_vec());
            world.set_spread(ROUTERS[end], HOSTS[1 - end], spread);
            let node = gateway_of(0, end);
            match failure {
                Failure::TakenOut => {}
                Failure::LinkLost => world.set_route(node, HOSTS[1 - end], Some(LAN)),
                Failure::Crashed => world.replace(node, Node::Router),
            }
        }
        play_out(&mut world);
        let (mut whole, mut broken) = (0, 0);
        for number in 0..FLOWS {
            let client = SocketAddr::new(HOSTS[0], 1_000 + number as u16);
            if !moved.contains(&client) {
                assert_whole(&world, number);
                continue;
            }
            let [near, far] = reports(&world, number);
            for (mine, peer) in [(near, far), (far, near)] {
                assert!(mine.read <= peer.written);
                assert!(!mine.clean_end || mine.read == peer.written, "{mine:?}, {peer:?}");
                assert!(mine.clean_end || mine.reset || mine.timed_out || mine.aborted);
            }
            match near.clean_end && far.clean_end {
                true => whole += 1,
                false => broken += 1,
            }
        }
        println!("{failure:?}: of {} flows {whole} whole, {broken} broken", moved.len());
        // The others split what they have seen opened, and nothing since.
        for pair in 1..pairs {
            let summary = gateway_at(&world, pair, 0).summary();
            assert_eq!((summary.split, summary.lost_bytes), (summary.closed, 0));
            assert!(summary.forwarded_packets(Reason::UnknownFlow) > 0, "{failure:?}");
        }
        // To a pair that lives, a change of both directions is silence: it sends what it holds once
        // more and gives up in the end. What the hosts' windows do not allow is lost, and counted.
        match failure {
            Failure::Crashed => assert!(broken > 0),
            Failure::TakenOut | Failure::LinkLost => {
                let lost = |end| gateway_at(&world, 0, end).summary().lost_bytes;
                assert!(whole > 0, "{failure:?}");
                assert!(broken == 0 || lost(0) + lost(1) > 0, "{failure:?}");
            }
        }
    }
}

/// G01-D-15: SYN-ACKs and acknowledgments go past the gateways that have seen the SYN.
#[test]
fn flows_whose_directions_are_hashed_apart_are_forwarded_whole() {
    // Each router calls the other one's first pair its second: no flow keeps to one pair.
    let crossed = [vec![0, 1], vec![1, 0]];
    let crossed = crossed.map(|pairs| Router { hash: FlowHash::Symmetric, pairs });
    let directed = [(); 2].map(|()| Router { hash: FlowHash::Directed, pairs: vec![0, 1] });
    for (routers, kept) in [(crossed, 0..=0), (directed, 1..=FLOWS as u64 - 1)] {
        let mut world = world(2, &routers, None);
        play_out(&mut world);
        (0..FLOWS).for_each(|number| assert_whole(&world, number));
        let mut split = 0;
        for pair in [0, 1] {
            let [near, far] = [0, 1].map(|end| gateway_at(&world, pair, end).summary());
            assert_eq!((near.split, near.closed), (far.split, far.closed));
            assert_eq!((near.split, near.lost_bytes), (near.closed, 0));
            split += near.split;
        }
        println!("{split} of {FLOWS} kept to one pair");
        assert!(kept.contains(&split), "{split}");
    }
}
