//! The acknowledgments of an upload take another path while its data still comes through the
//! gateways. The near host has been told more than the far one has: what it hears from it is old,
//! and shows nothing.

use super::*;
use bentpipe_core::units::Bytes;
use bentpipe_sim::Close;

const BYTES: u64 = 1_500_000;
/// Within which everything is to be there.
const PROMISED: Duration = Duration::from_secs(15);

/// Nodes: the near host, its router, the gateways, the far host's router, the far host.
const NEAR_ROUTER: usize = 1;
const GATEWAYS: [usize; 2] = [2, 3];

/// Where the acknowledgments leave the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leave {
    /// There is one gateway, and they go past it.
    BeforeTheOnlyGateway,
    /// Before the gateway near the far host, past both.
    BeforeBoth,
    /// Behind it: what it says in the far host's name goes past the other one.
    BetweenBoth,
}

const PLACES: [Leave; 3] = [Leave::BeforeTheOnlyGateway, Leave::BeforeBoth, Leave::BetweenBoth];

fn lines(rate: u64, delay: u64) -> [Line; 2] {
    let rate = Some(Rate::from_bits_per_sec(rate * 1_000_000).into());
    let link = LinkConfig { rate, delay: Duration::from_millis(delay).into(), ..LinkConfig::IDEAL };
    [(); 2].map(|()| Line::new(&link))
}

/// An upload whose acknowledgments leave the path at `change`: when its last byte was there.
fn upload(place: Leave, change: Duration) -> Option<Instant> {
    let config = ConnectionConfig {
        timestamps: true,
        sack: true,
        window_scale: Some(7),
        receive_buffer: Bytes::new(1_000_000),
        send_buffer: Bytes::new(1_000_000),
        time_wait: Duration::from_secs(1),
        ..ConnectionConfig::default()
    };
    let (client, server) = ((1000, HOSTS[1], 80), (80, HOSTS[0], 1000));
    let (mut near, mut far) = (Host::new(HOSTS[0]), Host::new(HOSTS[1]));
    let upload = Script { bytes: BYTES, key: 1, peer_key: 2, ..Script::default() };
    near.call(Instant::ZERO, client, config, SeqNum(5), upload);
    let reader = Script { key: 2, peer_key: 1, close: Close::AfterPeer, ..Script::default() };
    far.listen(80, config, SeqNum(7), reader);
    let boxes = if place == Leave::BeforeTheOnlyGateway { 1 } else { 2 };
    let mut nodes = vec![Node::Host(near), Node::Router];
    let mut cables = vec![lines(100, 1), lines(100, 1)];
    for number in 0..boxes {
        let gateway = Gateway::new(Config::default());
        nodes.push(Node::Gateway(Box::new(gateway), vec![number]));
        cables.push(if number == 0 { lines(10, 100) } else { lines(100, 1) });
    }
    cables.push(lines(100, 1));
    nodes.extend([Node::Router, Node::Host(far)]);
    let far_router = nodes.len() - 2;
    let mut world = World::chain(nodes, cables);
    let [there, back] = lines(10, 100);
    let (node, port) = if place == Leave::BetweenBoth { (GATEWAYS[1], 2) } else { (far_router, 2) };
    world.join((NEAR_ROUTER, 2), (node, port), there, back);
    world.start();
    let change = Instant::ZERO + change;
    while world.next_event().is_some_and(|at| at <= change) {
        world.step(change);
    }
    world.set_route(node, HOSTS[0], Some(port));
    world.run(Duration::from_secs(3600));
    let reader = world.host(far_router + 1).report(&server).expect("it was connected");
    reader.last_read.filter(|_| reader.read == BYTES && reader.clean_end)
}

#[test]
fn uploads_are_whole_soon_after_their_acknowledgments_take_another_path() {
    let (mut worst, mut failed) = (Duration::ZERO, Vec::new());
    for place in PLACES {
        for tenths in 5..20 {
            let change = Duration::from_millis(100 * tenths);
            let took = upload(place, change);
            let took = took.map(|at| at.saturating_since(Instant::ZERO + change));
            worst = worst.max(took.unwrap_or(Duration::ZERO));
            if took.is_none_or(|took| took > PROMISED) {
                failed.push(format!("{place:?} {change:?}: {took:?}"));
            }
        }
    }
    println!("the last byte came {worst:?} after the change at most");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
