//! A download through a router whose next link carries less than the hosts' own.

use bentpipe_core::link::{LinkConfig, QueueLimit};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::SeqNum;
use bentpipe_sim::{Close, Faults, Host, Line, Narrow, Node, Report, Script, World};
use std::net::IpAddr;

const BYTES: u64 = 300_000;

/// A download through `router`; the client's report.
fn download(addresses: [IpAddr; 3], mtu: u32, silent: bool) -> Report {
    let [client, middle, server] = addresses;
    let config = ConnectionConfig { time_wait: Duration::from_secs(1), ..Default::default() };
    let key = (1000, server, 80);
    let mut left = Host::new(client);
    let reader = Script { key: 1, peer_key: 2, close: Close::AfterPeer, ..Script::default() };
    left.call(Instant::ZERO, key, config, SeqNum(5), reader);
    let mut right = Host::new(server);
    let writer = Script { bytes: BYTES, key: 2, peer_key: 1, ..Script::default() };
    right.listen(80, config, SeqNum(7), writer);
    let cable = || {
        let link = LinkConfig {
            delay: Duration::from_millis(25).into(),
            queue: QueueLimit::Unlimited.into(),
            seed: 1,
            ..LinkConfig::IDEAL
        };
        [Line::new(&link, Faults::default()), Line::new(&link, Faults::default())]
    };
    let router = Narrow { address: middle, mtu, silent };
    let nodes = vec![Node::Host(left), Node::Helper(Box::new(router)), Node::Host(right)];
    let mut world = World::chain(nodes, vec![cable(), cable()]);
    world.run(Duration::from_secs(3600));
    *world.host(0).report(&key).unwrap()
}

fn v4() -> [IpAddr; 3] {
    [1, 2, 3].map(|host| IpAddr::from([10, 0, 0, host]))
}

fn v6() -> [IpAddr; 3] {
    [1, 2, 3].map(|host| IpAddr::from([0xFD00, 0, 0, 0, 0, 0, 0, host]))
}

#[test]
fn a_smaller_mtu_costs_a_few_round_trips() {
    let whole = download(v4(), 1500, false).last_read.unwrap();
    for (addresses, mtu) in [(v4(), 1000), (v4(), 600), (v6(), 1280)] {
        let report = download(addresses, mtu, false);
        assert_eq!((report.read, report.clean_end), (BYTES, true), "{mtu}");
        let more = report.last_read.unwrap().saturating_since(whole);
        // One way for the message; and shorter segments let the window grow more slowly.
        assert!(more <= Duration::from_millis(500), "{mtu}: {more:?} more");
    }
}

#[test]
fn a_black_hole_is_not_found_out() {
    // RFC 4821 would find the size by probing; it is not implemented.
    let report = download(v4(), 1000, true);
    assert!(report.connected.is_some());
    assert_eq!((report.read, report.clean_end), (0, false));
}
