//! A router on the satellite link that clears DF, and fakes that the server would not take.

use super::*;
use bentpipe_sim::{ClearsDf, Fake, Fakes, FakesEnd};

const BYTES: u64 = 400_000;
/// The longest packet that passes whole.
const MTU: usize = 1300;

#[test]
fn pieces_of_different_packets_never_meet() {
    for seed in 0..12 {
        let router = ClearsDf::new(MTU, [0.01, 0.05][seed as usize % 2], seed);
        let counts = router.counts();
        let [client, server] = transfer(vec![gateway(0), boxed(router), gateway(1)]);
        assert_eq!((client.read, server.read), (BYTES, BYTES), "seed {seed}");
        assert!(client.clean_end && server.clean_end, "seed {seed}");
        assert!(counts.whole.get() > 100, "seed {seed}: {counts:?}");
        assert_eq!(counts.mixtures.get(), 0, "seed {seed}");
        let end = client.last_read.max(server.last_read).unwrap();
        assert!(end < Instant::ZERO + Duration::from_secs(60), "seed {seed}: {end:?}");
    }
}

#[test]
fn fakes_that_the_server_would_not_take_do_not_reach_its_stream() {
    for (seed, fake) in (0..4).flat_map(|seed| [(seed, Fake::LowHopLimit), (seed, Fake::Signed)]) {
        let fakes = Fakes::new(fake, 0.3, seed);
        let sent = fakes.sent();
        let end = FakesEnd { from: 0 };
        let between = vec![boxed(fakes), gateway(0), gateway(1), boxed(end)];
        let [client, server] = transfer(between);
        assert!(sent.get() > 20, "seed {seed}, {fake:?}");
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
        [Line::new(&link), Line::new(&link)]
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
