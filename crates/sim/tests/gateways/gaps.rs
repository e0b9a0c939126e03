//! Packets that go past a gateway for a while, in both directions: its rules were gone, and are
//! there again. What becomes of the connections that it carries.

use super::*;
use bentpipe_sim::{Close, Pace};

const GAP_AT: Duration = Duration::from_secs(3);

/// Who talks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Talk {
    Up,
    Down,
    /// A little now and then, from either host, the other one being silent.
    Drops(bool),
}

fn plain(delay: Duration) -> [Line; 2] {
    let link = LinkConfig {
        delay: delay.into(),
        rate: Some(Rate::from_bits_per_sec(20_000_000).into()),
        ..LinkConfig::IDEAL
    };
    [(); 2].map(|()| Line::new(&link))
}

/// Whether both hosts got everything, when the last byte came, and what the gateway counted.
fn through_a_gap(
    talk: Talk,
    timestamps: bool,
    gap: Duration,
) -> (bool, Duration, bentpipe_gateway::Summary) {
    let tcp = ConnectionConfig { timestamps, ..ConnectionConfig::preset("linux").unwrap() };
    let bulk = Script { bytes: 8_000_000, ..Script::default() };
    let drops = Script {
        bytes: 100_000,
        write: Pace { chunk: 5_000, every: Duration::from_millis(330) },
        ..Script::default()
    };
    let silent = Script { close: Close::AfterPeer, ..Script::default() };
    let (near, far) = match talk {
        Talk::Up => (bulk, silent),
        Talk::Down => (silent, bulk),
        Talk::Drops(true) => (drops, silent),
        Talk::Drops(false) => (silent, drops),
    };
    let (mut h1, mut h2) = (Host::new(HOSTS[0]), Host::new(HOSTS[1]));
    let (client, server) = ((1000, HOSTS[1], 80), (80, HOSTS[0], 1000));
    h1.call(Instant::ZERO, client, tcp, SeqNum(5), Script { key: 1, peer_key: 2, ..near });
    h2.listen(80, tcp, SeqNum(7), Script { key: 2, peer_key: 1, ..far });
    let mut config = Config { super_segments: false, ..Config::default() };
    config.satellite.rate = Some(Rate::from_bits_per_sec(20_000_000));
    config.satellite.round_trip = Some(Duration::from_millis(500));
    let nodes =
        vec![Node::Host(h1), Node::Router, gateway(config, 0), Node::Router, Node::Host(h2)];
    let short = Duration::from_millis(1);
    let lines = vec![plain(short), plain(short), plain(short), plain(Duration::from_millis(250))];
    let mut world = World::chain(nodes, lines);
    let [there, back] = plain(2 * short);
    world.join((1, 2), (3, 2), there, back);
    world.start();
    let until = |world: &mut World, at: Instant| {
        while world.next_event().is_some_and(|next| next <= at) {
            world.step(at);
        }
    };
    until(&mut world, Instant::ZERO + GAP_AT);
    world.set_route(1, HOSTS[1], Some(2));
    world.set_route(3, HOSTS[0], Some(2));
    until(&mut world, Instant::ZERO + GAP_AT + gap);
    world.set_route(1, HOSTS[1], Some(1));
    world.set_route(3, HOSTS[0], Some(0));
    world.release_all(2);
    world.run(Duration::from_secs(1200));
    let report = |node, key| *world.host(node).report(&key).expect("it was connected");
    let (h1, h2) = (report(0, client), report(4, server));
    let whole = h1.clean_end && h2.clean_end && h1.read == far.bytes && h2.read == near.bytes;
    let last = h1.last_read.max(h2.last_read).unwrap_or(Instant::ZERO);
    let summary = world.gateways().next().expect("there is one").summary();
    (whole, last.saturating_since(Instant::ZERO), summary)
}

/// Left alone, a gateway waits for ever for what went past it, unless somebody's segments show that
/// (for want of timestamps they may not), and acknowledges nothing more: of those without
/// timestamps here, downloads would end in a time-out after gaps of 100 ms, and what a server says
/// now and then after gaps of 250 ms. So all connections are released whenever packets may have
/// gone past.
#[test]
fn connections_that_are_released_after_a_gap_end_whole() {
    for talk in [Talk::Up, Talk::Down, Talk::Drops(true), Talk::Drops(false)] {
        for timestamps in [true, false] {
            for gap in [100, 250, 500] {
                let (whole, last, summary) =
                    through_a_gap(talk, timestamps, Duration::from_millis(gap));
                println!("{talk:?}, timestamps {timestamps}, {gap} ms: {last:?}");
                assert!(whole, "{talk:?}, timestamps {timestamps}, {gap} ms: {summary:?}");
                assert_eq!(summary.lost_bytes, 0);
            }
        }
    }
}
