//! BBR between whole hosts: 8 Mbit/s, half a second, a bandwidth-delay product of queue.

use bentpipe_core::link::{LinkConfig, QueueLimit};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::sender::SenderConfig;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Probability, Rate};
use bentpipe_core::wire::SeqNum;
use bentpipe_sim::{Close, Host, Line, Node, Script, World};
use std::net::IpAddr;

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);
const ROUND_TRIP: Duration = Duration::from_millis(500);
/// What of the link's rate is payload.
const PAYLOAD: f64 = 1460.0 / 1500.0;

/// The share of the link that the payload takes in thirty seconds, behind the first ten, if `loss`
/// of the packets are lost each way.
fn share(control: &str, loss: f64) -> f64 {
    let sender = SenderConfig {
        recovery: "rack".parse().expect("in the registry"),
        congestion: control.parse().expect("in the registry"),
        ..SenderConfig::default()
    };
    let config = ConnectionConfig {
        sender,
        send_buffer: Bytes::new(1_500_000),
        receive_buffer: Bytes::new(16 << 20),
        window_scale: Some(10),
        ..ConnectionConfig::default()
    };
    let (client, server) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let mut host = Host::new(client);
    let upload = Script { bytes: 100_000_000, key: 1, peer_key: 2, ..Script::default() };
    host.call(Instant::ZERO, (1000, server, 80), config, SeqNum(5), upload);
    let mut peer = Host::new(server);
    let sink = Script { key: 2, peer_key: 1, close: Close::AfterPeer, ..Script::default() };
    peer.listen(80, config, SeqNum(7), sink);
    let line = |seed| {
        let link = LinkConfig {
            rate: Some(RATE.into()),
            delay: (ROUND_TRIP / 2).into(),
            queue: QueueLimit::bandwidth_delay_product(RATE, ROUND_TRIP).into(),
            packet_loss: Probability::new(loss).expect("a probability").into(),
            seed,
            ..LinkConfig::IDEAL
        };
        Line::new(&link)
    };
    let nodes = vec![Node::Host(host), Node::Host(peer)];
    let mut world = World::chain(nodes, vec![[line(1), line(2)]]);
    let mut read = |until| {
        world.run(Duration::from_secs(until));
        world.host(1).report(&(80, client, 1000)).map_or(0, |report| report.read)
    };
    let before = read(10);
    let carried = (read(40) - before) as f64 * 8.0 / 30.0;
    carried / (RATE.bits_per_sec() as f64 * PAYLOAD)
}

#[test]
fn losses_of_the_link_cost_little() {
    for (control, loss, min) in [("bbr1", 0.01, 0.88), ("bbr", 0.01, 0.7)] {
        let share = share(control, loss);
        assert!(share >= min, "{control} with a loss of {loss}: {share}");
    }
}
