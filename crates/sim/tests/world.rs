//! The world itself: times against the closed form, and one run like another.

use bentpipe_core::link::LinkConfig;
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::receiver::AckPolicy;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Probability, Rate};
use bentpipe_core::wire::SeqNum;
use bentpipe_sim::{Close, Host, Line, Node, Script, SessionKey, World};
use std::net::IpAddr;

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);
const DELAY: Duration = Duration::from_millis(250);

fn line(packet_loss: f64, seed: u64) -> Line {
    let link = LinkConfig {
        rate: Some(RATE.into()),
        delay: DELAY.into(),
        packet_loss: Probability::new(packet_loss).unwrap().into(),
        seed,
        ..LinkConfig::IDEAL
    };
    Line::new(&link)
}

/// A client that sends `bytes` to a server, router and all; the world and the server's session.
fn upload(bytes: u64, loss: f64, seed: u64) -> (World, SessionKey) {
    let config = ConnectionConfig {
        sack: loss > 0.0,
        timestamps: false,
        ack_policy: AckPolicy::PerSegment,
        time_wait: Duration::from_secs(1),
        ..ConnectionConfig::default()
    };
    let (client, server) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let mut host = Host::new(client);
    let application = Script { bytes, key: 1, peer_key: 2, ..Script::default() };
    host.call(Instant::ZERO, (1000, server, 80), config, SeqNum(5), application);
    let mut peer = Host::new(server);
    let answer = Script { key: 2, peer_key: 1, close: Close::AfterPeer, ..Script::default() };
    peer.listen(80, config, SeqNum(7), answer);
    let cable = || [(); 2].map(|()| Line::new(&LinkConfig::IDEAL));
    let nodes = vec![Node::Host(host), Node::Router, Node::Router, Node::Host(peer)];
    let lines = vec![cable(), [line(loss, seed), line(loss, seed + 1)], cable()];
    (World::chain(nodes, lines), (80, client, 1000))
}

#[test]
fn a_transfer_takes_as_long_as_the_closed_form_says() {
    // Slow start from ten segments with an acknowledgment for each: flights of 10, 20 and 40
    // segments, each a round trip after the one before, then 30 segments back to back.
    let (mut world, session) = upload(100 * 1460, 0.0, 1);
    assert!(world.run(Duration::from_secs(60)));
    let on_wire = |bytes: u64| RATE.time_for(bytes);
    let (syn, data, ack) = (on_wire(20 + 20 + 8), on_wire(1500), on_wire(40));
    let handshake = syn + DELAY + syn + DELAY;
    // The first data segment is also the handshake's last acknowledgment.
    let first = data + DELAY + ack + DELAY;
    let last_flight = data * 30 + DELAY;
    let expected = handshake + first * 3 + last_flight;
    let report = world.host(3).report(&session).unwrap();
    assert_eq!((report.read, report.clean_end), (100 * 1460, true));
    assert_eq!(report.last_read, Some(Instant::ZERO + expected));
}

#[test]
fn a_long_transfer_fills_the_link() {
    let bytes = 8_000_000;
    let (mut world, session) = upload(bytes, 0.0, 1);
    assert!(world.run(Duration::from_secs(60)));
    let wire = bytes + 40 * bytes.div_ceil(1460);
    let min = RATE.time_for(wire) + DELAY * 3;
    let took = world.host(3).report(&session).unwrap().last_read.unwrap();
    let took = took.saturating_since(Instant::ZERO);
    // Slow start reaches the link's 342 segments in its sixth flight.
    assert!(took > min && took < min + DELAY * 12, "{took:?} for {min:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let trace = |seed| {
        let (mut world, _) = upload(300_000, 0.02, seed);
        assert!(world.run(Duration::from_secs(600)));
        (world.trace(), world.packets(), world.now())
    };
    assert_eq!(trace(3), trace(3));
    assert_ne!(trace(3), trace(4));
}
