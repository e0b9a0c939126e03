//! Connections that the gateway does not split are the hosts' own, end to end, and complete.

use bentpipe_core::link::LinkConfig;
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Rate;
use bentpipe_core::wire::SeqNum;
use bentpipe_gateway::policy::{Action, Policy, Rule};
use bentpipe_gateway::{Config, Gateway, Reason, Summary};
use bentpipe_sim::{Close, Host, Line, Node, Script, World};
use std::net::IpAddr;

const BYTES: u64 = 50_000;

/// A client behind the gateway calls the server's `ports` at once, from ports 1000 on, and sends to
/// each. All must arrive whole; what the gateway counted.
fn uploads(config: Config, ports: &[u16]) -> Summary {
    let tcp = ConnectionConfig { time_wait: Duration::from_secs(1), ..ConnectionConfig::default() };
    let (client, server) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 9, 0, 1]));
    let (mut near, mut far) = (Host::new(client), Host::new(server));
    let script = Script { bytes: BYTES, key: 1, peer_key: 2, ..Script::default() };
    let answer = Script { key: 2, peer_key: 1, close: Close::AfterPeer, ..Script::default() };
    for (own, port) in (1000..).zip(ports) {
        near.call(Instant::ZERO, (own, server, *port), tcp, SeqNum(5), script);
        far.listen(*port, tcp, SeqNum(7), answer);
    }
    let line = |link: &LinkConfig| [(); 2].map(|()| Line::new(link));
    let satellite = LinkConfig {
        rate: Some(Rate::from_bits_per_sec(8_000_000).into()),
        delay: Duration::from_millis(250).into(),
        ..LinkConfig::IDEAL
    };
    let gateway = Node::Gateway(Box::new(Gateway::new(config)), vec![0]);
    let nodes = vec![Node::Host(near), gateway, Node::Host(far)];
    let mut world = World::chain(nodes, vec![line(&LinkConfig::IDEAL), line(&satellite)]);
    assert!(world.run(Duration::from_secs(120)));
    for (own, port) in (1000..).zip(ports) {
        let report = world.host(2).report(&(*port, client, own)).expect("it was opened");
        assert_eq!((report.read, report.clean_end), (BYTES, true), "to port {port}");
    }
    let gateway = world.gateways().next().expect("it is there");
    assert_eq!((gateway.flows(), gateway.held()), (0, 0));
    gateway.summary()
}

fn counts(summary: &Summary, reason: Reason) -> (u64, u64) {
    (summary.split, summary.forwarded_flows(reason))
}

/// G01-D-14: rules select which connections are split; the others are forwarded end to end.
#[test]
fn what_rules_exclude_is_forwarded_and_complete() {
    let port = vec!["22".parse().unwrap(), "5000-5999".parse().unwrap()];
    let rules = vec![Rule { port, action: Action::Forward, ..Rule::default() }];
    let config = Config { policy: Policy { rules, ..Policy::default() }, ..Config::default() };
    let summary = uploads(config, &[80, 22, 443, 5500]);
    assert_eq!(counts(&summary, Reason::Policy), (2, 2));
}

#[test]
fn observing_forwards_all() {
    let policy = Policy { observe: true, ..Policy::default() };
    let summary = uploads(Config { policy, ..Config::default() }, &[80, 22, 443]);
    assert_eq!(counts(&summary, Reason::Observed), (0, 3));
}

/// G01-D-14 and G99-D-9: with a limit reached, new connections are forwarded end to end and
/// complete.
#[test]
fn connections_beyond_each_limit_are_forwarded_and_complete() {
    let limits = [
        (Reason::NoRoom, Config { max_flows: 2, ..Config::default() }),
        (Reason::ClientLimit, Config { max_flows_per_client: 2, ..Config::default() }),
        (Reason::HalfOpen, Config { max_half_open: 2, ..Config::default() }),
    ];
    for (reason, config) in limits {
        let summary = uploads(config, &[1, 2, 3, 4, 5]);
        assert_eq!(counts(&summary, reason), (2, 3), "{reason:?}");
    }
}
