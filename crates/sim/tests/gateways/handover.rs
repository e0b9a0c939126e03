//! From one leg of a gateway to the other: what the downstream leg has been handed, and what has
//! left.
//!
//! A stream is one buffer, which the upstream leg's receiver fills and the downstream leg's sender
//! reads: what has not been sent is still in the upstream connection's receive buffer, and fills
//! its window.

use super::*;
use bentpipe_gateway::LegView;
use bentpipe_sim::Close;

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);
const BYTES: u64 = 3_000_000;
const SEGMENT: u64 = 1448;
const PACKET: u64 = 1500;
/// Nodes: the two gateways, and behind each a probe.
const GATEWAYS: [usize; 2] = [2, 4];
const PROBES: [usize; 2] = [3, 5];

/// The most, in bytes, at the end of any instant of an upload, at one gateway.
#[derive(Debug, Clone, Copy, Default)]
struct Most {
    /// Sent, as the downstream leg has it, and not on the wire.
    handed: u64,
    /// Not sent, though both windows let it go.
    sendable: u64,
    /// On the line behind the gateway, and not transmitted; with the packet that is being
    /// transmitted.
    queued: u64,
    /// Arrived, and not sent.
    unsent: u64,
}

/// The legs towards the near and the far host, once bytes of the near one have come.
fn legs(world: &World, node: usize) -> Option<[LegView; 2]> {
    let Node::Gateway(gateway, _) = world.node(node) else { panic!("a gateway") };
    let legs = gateway.flow_views(world.now()).next()?.legs;
    legs.filter(|[near, _]| near.received.count() > 0)
}

/// Bytes up to the highest one that has passed a probe on its way to the far host.
fn passed(seen: &[ProbedSegment]) -> u64 {
    let mut onwards = seen.iter().filter(|seen| seen.leaves);
    let Some(syn) = onwards.next() else { return 0 };
    let ends = onwards.map(|it| (it.tcp.seq + it.len as u64).distance_from(syn.tcp.seq + 1));
    ends.max().map_or(0, |end| end.max(0) as u64)
}

/// An upload without loss through two such gateways.
fn upload(config: &Config) -> [Most; 2] {
    let probes = [(); 2].map(|()| Probe::default());
    let mut path = Path::geo(RATE, [config.clone(), config.clone()]);
    for (number, probe) in probes.iter().enumerate() {
        path.boxes.insert(2 * number + 1, Node::Middlebox(Box::new(probe.clone())));
        path.links.insert(2 * number + 1, LinkConfig::IDEAL);
    }
    let far = Script { close: Close::AfterPeer, ..Script::default() };
    let (mut world, _) = path.call(Script { bytes: BYTES, ..Script::default() }, far).build();
    let mut most = [Most::default(); 2];
    world.start();
    while world.step(Instant::ZERO + Duration::from_secs(300)) {
        if world.next_event() == Some(world.now()) {
            continue; // The instant is not over.
        }
        for (number, most) in most.iter_mut().enumerate() {
            let Some([up, down]) = legs(&world, GATEWAYS[number]) else { continue };
            // Nothing is lost: what was sent and is not delivered is in flight, and a FIN may be,
            // too.
            let sent = (down.delivered.count() + down.in_flight.count()).min(up.received.count());
            let unsent = up.received.count() - sent;
            let window = down.cwnd.count().saturating_sub(down.in_flight.count());
            let line = world.line_from(PROBES[number], 1).expect("a line");
            most.handed = most.handed.max(sent - passed(&probes[number].0.borrow()).min(sent));
            let sendable = unsent.min(window).min(down.usable_window.count());
            most.sendable = most.sendable.max(sendable);
            most.queued = most.queued.max(line.link().queued().bytes);
            most.unsent = most.unsent.max(unsent);
        }
    }
    assert_whole(&world, 0);
    most
}

/// G01-D-12: a leg is handed only what leaves at once. Where it is not paced, less than a segment
/// of what its windows allow stays behind.
#[test]
fn a_leg_is_handed_nothing_that_does_not_leave_at_once() {
    let unknown = Config { super_segments: false, ..Config::default() };
    let mut unpaced = knowing(RATE);
    unpaced.satellite.set("pacing", "off").unwrap();
    for (name, config, paced) in [
        ("unknown link", unknown, true),
        ("known link, not paced", unpaced, false),
        ("known link", knowing(RATE), true),
    ] {
        let most = upload(&config);
        println!("{name}: {most:?}");
        assert_eq!(most.map(|most| most.handed), [0; 2], "{name}");
        assert!(most[0].unsent > 100_000, "the near host is faster than the link: {most:?}");
        for (number, most) in most.iter().enumerate() {
            assert!(most.sendable < SEGMENT || paced && number == 0, "{name}: {most:?}");
        }
    }
}

/// G01-D-12, down to the link: a paced leg sends as fast as the link transmits. In front of the
/// transmitter wait at most the five milliseconds by which a pacer may catch up after a silence.
#[test]
fn a_paced_leg_keeps_the_links_own_queue_empty() {
    let [near, _] = upload(&knowing(RATE));
    let catch_up = RATE.bytes_in(Duration::from_millis(5));
    assert!(near.queued <= catch_up + 2 * PACKET, "{near:?}");
}
