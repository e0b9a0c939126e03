//! One request and one reply over a long path, as Henderson's Table 4.2 has web transfers: T/TCP
//! saves the round trip of the handshake.

use bentpipe_core::link::{LinkConfig, QueueLimit};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Probability;
use bentpipe_core::wire::SeqNum;
use bentpipe_sim::{Close, Host, Line, Node, Script, SessionKey, Start, World};
use std::net::IpAddr;

const REQUEST: u64 = 300;
/// No loss.
const QUIET: (f64, u64) = (0.0, 0);
const CALLS: [Duration; 2] = [Duration::ZERO, Duration::from_secs(100)];

/// How long two transactions take, one after the other, from the call to the reply's last byte,
/// over 250 ms each way. `loss` is
/// the share of packets lost, and the seed that draws which.
fn transactions(client: &str, server: &str, reply: u64, loss: (f64, u64)) -> [Duration; 2] {
    let (packet_loss, lines) = loss;
    let config = |text: &str| text.parse::<ConnectionConfig>().unwrap();
    let addresses = [IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])];
    let mut hosts = addresses.map(Host::new);
    let caller = Script { bytes: REQUEST, key: 1, peer_key: 2, ..Script::default() };
    let keys: [SessionKey; 2] = [(1000, addresses[1], 80), (1001, addresses[1], 80)];
    for (at, key) in CALLS.into_iter().zip(keys) {
        let at = Instant::ZERO + at;
        hosts[0].call(at, key, config(client), SeqNum(5), caller);
    }
    let answer = Script {
        bytes: reply,
        key: 2,
        peer_key: 1,
        start: Start::AfterReading(REQUEST),
        close: Close::AfterPeer,
        ..Script::default()
    };
    hosts[1].listen(80, config(server), SeqNum(7), answer);
    let line = |seed| {
        let link = LinkConfig {
            delay: Duration::from_millis(250).into(),
            queue: QueueLimit::Unlimited.into(),
            packet_loss: Probability::new(packet_loss).unwrap().into(),
            seed,
            ..LinkConfig::IDEAL
        };
        Line::new(&link)
    };
    let [left, right] = hosts;
    let nodes = vec![Node::Host(left), Node::Host(right)];
    let mut world = World::chain(nodes, vec![[line(2 * lines), line(2 * lines + 1)]]);
    assert!(world.run(Duration::from_secs(1000)), "it comes to an end");
    let took = |i: usize| {
        let report = world.host(0).report(&keys[i]).unwrap();
        assert_eq!((report.read, report.clean_end), (reply, true));
        report.last_read.unwrap().saturating_since(Instant::ZERO + CALLS[i])
    };
    [took(0), took(1)]
}

const fn round_trips(number: u64) -> Duration {
    Duration::from_millis(500 * number)
}

#[test]
fn a_reply_takes_one_round_trip_instead_of_two() {
    for (client, server, took) in [
        ("", "", [2, 2]),
        // The first acquaints the two.
        ("transactions=on", "transactions=on", [2, 1]),
        ("transactions=on", "", [2, 2]),
        ("", "transactions=on", [2, 2]),
    ] {
        let expected = took.map(round_trips);
        assert_eq!(transactions(client, server, 1000, QUIET), expected, "{client} and {server}");
        // A reply of one initial window, too.
        assert_eq!(transactions(client, server, 10_000, QUIET), expected, "{client} and {server}");
    }
}

#[test]
fn three_segments_take_the_trips_of_table_4_2() {
    // A window of one segment at first, and every segment acknowledged: the reply's three segments
    // come in two flights behind the handshake's and the request's round trips.
    let text = "iw=1,ack=per-segment,timestamps=off";
    let plain = transactions(text, text, 3 * 1400, QUIET)[1];
    let text = format!("{text},transactions=on");
    let accelerated = transactions(&text, &text, 3 * 1400, QUIET)[1];
    assert_eq!((plain, accelerated), (round_trips(3), round_trips(2)));
}

#[test]
fn a_reply_of_one_initial_window_takes_one_round_trip() {
    // Segments of 1452 bytes: 1460 less the option with the count. The SYN that goes with the first
    // takes none of the window.
    let text = |iw: u32| format!("iw={iw},ack=per-segment,timestamps=off,transactions=on");
    for (iw, reply, trips) in
        [(1, 1451, 1), (1, 1452, 1), (1, 1453, 2), (2, 2903, 1), (2, 2904, 1), (2, 2905, 2)]
    {
        let took = transactions(&text(iw), &text(iw), reply, QUIET)[1];
        assert_eq!(took, round_trips(trips), "{reply} bytes, {iw} segments at first");
    }
}

#[test]
fn what_is_lost_comes_all_the_same() {
    let text = "transactions=on";
    for seed in 0..40 {
        for reply in [100, 1000, 20_000, 100_000] {
            transactions(text, text, reply, (0.2, seed));
        }
    }
}
