//! Transfers through a router whose next link carries less than the hosts' own, with and without
//! gateways in front of it.

use bentpipe_core::link::{LinkConfig, QueueLimit};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::SeqNum;
use bentpipe_gateway::{Config, Gateway};
use bentpipe_sim::{Close, Host, Line, Narrow, Node, Report, Script, World};
use std::net::IpAddr;

const BYTES: u64 = 300_000;

/// A download through a router; the client's report.
fn download(addresses: [IpAddr; 3], mtu: u32, silent: bool) -> Report {
    let (narrow, bytes) = (Narrow { address: addresses[1], mtu, silent }, [0, BYTES]);
    let mut world = world(addresses, bytes, vec![Node::Middlebox(Box::new(narrow))]);
    world.run(Duration::from_secs(3600));
    *world.host(0).report(&(1000, addresses[2], 80)).unwrap()
}

/// A client and a server that send each other `bytes`, and what is between them.
fn world(addresses: [IpAddr; 3], bytes: [u64; 2], between: Vec<Node>) -> World {
    let [client, _, server] = addresses;
    let config = ConnectionConfig { time_wait: Duration::from_secs(1), ..Default::default() };
    let key = (1000, server, 80);
    let mut left = Host::new(client);
    let close = if bytes[0] == 0 { Close::AfterPeer } else { Close::default() };
    let reader = Script { bytes: bytes[0], key: 1, peer_key: 2, close, ..Script::default() };
    left.call(Instant::ZERO, key, config, SeqNum(5), reader);
    let mut right = Host::new(server);
    let writer = Script { bytes: bytes[1], key: 2, peer_key: 1, ..Script::default() };
    right.listen(80, config, SeqNum(7), writer);
    let cable = || {
        let link = LinkConfig {
            delay: Duration::from_millis(25).into(),
            queue: QueueLimit::Unlimited.into(),
            seed: 1,
            ..LinkConfig::IDEAL
        };
        [Line::new(&link), Line::new(&link)]
    };
    let mut nodes = vec![Node::Host(left)];
    nodes.extend(between);
    nodes.push(Node::Host(right));
    let cables = (1..nodes.len()).map(|_| cable()).collect();
    World::chain(nodes, cables)
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
    for (addresses, mtu) in [(v4(), 1000), (v4(), 600), (v4(), 500), (v4(), 256), (v6(), 1280)] {
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

/// A gateway whose LAN is on its left (port 0) or on its right.
fn gateway(lan: usize) -> Node {
    Node::Gateway(Box::new(Gateway::new(Config::default())), vec![lan])
}

#[test]
fn each_leg_of_a_split_flow_learns_its_own_path() {
    for (addresses, mtu) in [(v4(), 1000), (v4(), 600), (v4(), 500), (v4(), 256), (v6(), 1280)] {
        let narrow =
            || Node::Middlebox(Box::new(Narrow { address: addresses[1], mtu, silent: false }));
        // Behind one gateway, between two (the space segment), and on both sides of one.
        for (place, between, falls) in [
            ("behind", vec![gateway(0), narrow()], vec![(1, 1)]),
            ("before", vec![narrow(), gateway(0)], vec![(2, 1)]),
            ("between", vec![gateway(0), narrow(), gateway(1)], vec![(1, 1), (3, 1)]),
            // A host whose own path is narrower than is believed lets routers cut, and so does the
            // gateway for it.
            (
                "around",
                vec![narrow(), gateway(0), narrow()],
                vec![(2, if addresses == v4() && mtu < 552 { 0 } else { 2 })],
            ),
        ] {
            let mut world = world(addresses, [BYTES, BYTES], between);
            world.run(Duration::from_secs(3600));
            let key = (1000, addresses[2], 80);
            let client = *world.host(0).report(&key).unwrap();
            assert_eq!((client.read, client.clean_end), (BYTES, true), "{place} {mtu}");
            let end = client.last_read.unwrap();
            assert!(end < Instant::ZERO + Duration::from_secs(3), "{place} {mtu}: {end:?}");
            for (node, times) in falls {
                let Node::Gateway(gateway, _) = world.node(node) else { panic!("a gateway") };
                let summary = gateway.summary();
                assert_eq!((summary.split, summary.path_mtu_falls), (1, times), "{place} {mtu}");
                assert_eq!((summary.closed, summary.lost_bytes), (1, 0), "{place} {mtu}");
            }
        }
    }
}
