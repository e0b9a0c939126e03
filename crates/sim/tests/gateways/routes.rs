//! A route that changes in one direction while a gateway holds nothing: nobody can see it, until
//! one host sends more than the gateway knows the other one to take, and waits for the answer.

use super::*;
use bentpipe_core::units::Bytes;
use bentpipe_sim::{Close, Pace, Start};

/// Before the change, in several round trips.
const FIRST: u64 = 60_000;
/// Behind it, at once: three of the server's windows.
const BURST: u64 = 60_000;
const REPLY: u64 = 1000;
const CHANGE: Duration = Duration::from_secs(6);
const SEND: Duration = Duration::from_secs(8);

fn plain(delay: Duration) -> [Line; 2] {
    let link = LinkConfig { delay: delay.into(), ..LinkConfig::IDEAL };
    [(); 2].map(|()| Line::new(&link))
}

/// What client and server report, and what the gateway counted. `both`: the other direction
/// changes, too.
fn burst_behind_a_change(timestamps: bool, both: bool) -> ([Report; 2], bentpipe_gateway::Summary) {
    let config = ConnectionConfig {
        timestamps,
        receive_buffer: Bytes::new(BURST / 3),
        send_buffer: Bytes::new(2 * FIRST),
        time_wait: Duration::from_secs(1),
        ..ConnectionConfig::default()
    };
    let write = Pace { chunk: FIRST, every: SEND };
    let (client, server) = ((1000, HOSTS[1], 80), (80, HOSTS[0], 1000));
    let (mut near, mut far) = (Host::new(HOSTS[0]), Host::new(HOSTS[1]));
    let close = Close::AfterPeer;
    let ask =
        Script { bytes: FIRST + BURST, key: 1, peer_key: 2, write, close, ..Script::default() };
    near.call(Instant::ZERO, client, config, SeqNum(5), ask);
    let start = Start::AfterReading(FIRST + BURST);
    let answer = Script { bytes: REPLY, key: 2, peer_key: 1, start, ..Script::default() };
    far.listen(80, config, SeqNum(7), answer);
    let gateway = Gateway::new(Config::default());
    let nodes = vec![
        Node::Host(near),
        Node::Router,
        Node::Gateway(Box::new(gateway), vec![0]),
        Node::Router,
        Node::Host(far),
    ];
    let (short, long) = (Duration::from_millis(1), Duration::from_millis(250));
    let lines = vec![plain(short), plain(short), plain(long), plain(short)];
    let mut world = World::chain(nodes, lines);
    let [there, back] = plain(long);
    world.join((1, 2), (3, 2), there, back);
    world.start();
    let change = Instant::ZERO + CHANGE;
    while world.next_event().is_some_and(|at| at <= change) {
        world.step(change);
    }
    let held: usize = world.gateways().map(Gateway::held).sum();
    assert_eq!(held, 0, "all before has been delivered");
    world.set_route(3, HOSTS[0], Some(2));
    if both {
        world.set_route(1, HOSTS[1], Some(2));
    }
    world.run(Duration::from_secs(3600));
    let report = |node, key| *world.host(node).report(&key).expect("it was connected");
    let summary = world.gateways().next().expect("there is one").summary();
    ([report(0, client), report(4, server)], summary)
}

/// The gateway knows nothing of the windows that the server has opened since, and sends beyond the
/// last one that it has heard of. Then the answer shows that the route has changed.
#[test]
fn a_burst_behind_an_unseen_change_of_route_arrives() {
    for timestamps in [true, false] {
        let ([client, server], summary) = burst_behind_a_change(timestamps, false);
        assert_eq!((summary.split, summary.route_changes), (1, 1), "timestamps {timestamps}");
        assert_eq!((server.read, server.clean_end), (FIRST + BURST, true), "{server:?}");
        assert_eq!((client.read, client.clean_end), (REPLY, true), "{client:?}");
        let took = client.last_read.unwrap().saturating_since(Instant::ZERO + SEND);
        println!("timestamps {timestamps}: the answer came {took:?} after the burst");
        assert!(took < Duration::from_secs(30), "{took:?}");
    }
}

/// If nothing comes through the gateway any more, it is as if there was none.
#[test]
fn a_burst_behind_a_change_of_both_directions_is_the_hosts_own() {
    let ([client, server], summary) = burst_behind_a_change(true, true);
    assert_eq!(summary.route_changes, 0);
    assert_eq!((server.read, server.clean_end), (FIRST + BURST, true), "{server:?}");
    assert_eq!((client.read, client.clean_end), (REPLY, true), "{client:?}");
}
