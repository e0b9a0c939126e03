//! How many gateways stand in a path, and where.

use super::*;
use bentpipe_core::link::LossKind;
use bentpipe_core::units::Probability;

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);
const LEN: u64 = 300_000;

fn lossy(link: LinkConfig, seed: u64) -> LinkConfig {
    let packet_loss: LossKind = Probability::new(0.01).unwrap().into();
    LinkConfig { packet_loss, seed, ..link }
}

/// 300 KB each way through `boxes`, with losses on all links but the first; what the probe saw.
fn exchange(boxes: Vec<Node>, satellite_at: usize) -> (World, Vec<ProbedSegment>) {
    let links = (0..=boxes.len()).map(|at| match at {
        at if at == satellite_at => lossy(satellite(RATE), 10 + at as u64),
        0 => cable(),
        at => lossy(cable(), 20 + at as u64),
    });
    let bytes = Script { bytes: LEN, ..Script::default() };
    let tcp = ConnectionConfig::preset("linux").unwrap();
    let path = Path { boxes, links: links.collect(), back: None, tcp, calls: Vec::new() };
    let (mut world, probe) = path.call(bytes, bytes).build();
    assert!(world.run(Duration::from_secs(4 * 3600)));
    assert_whole(&world, 0);
    assert_eq!(reports(&world, 0).map(|report| report.read), [LEN; 2]);
    for gateway in world.gateways() {
        let summary = gateway.summary();
        assert_eq!((summary.split, summary.closed, summary.reset), (1, 1, 0));
        assert_eq!((gateway.flows(), gateway.held()), (0, 0));
    }
    let seen = probe.0.borrow().clone();
    (world, seen)
}

/// The SYN-ACK that the near host sees is the far one's, though data is acknowledged nearby.
fn assert_syn_ack_is_the_far_hosts(seen: &[ProbedSegment]) {
    let at =
        |what: &dyn Fn(&ProbedSegment) -> bool| seen.iter().find(|seen| what(seen)).unwrap().at;
    let syn = at(&|seen| seen.leaves && seen.tcp.has(Flags::SYN));
    let syn_ack = at(&|seen| !seen.leaves && seen.tcp.has(Flags::SYN));
    assert!(syn_ack.saturating_since(syn) >= Duration::from_millis(500));
}

/// G99-D-11: any number of gateways in a path, such as another pair around a radio link.
#[test]
fn one_to_four_gateways_in_a_row_deliver_every_byte() {
    for count in 1..=4 {
        // Satellite sides look at each other across the satellite link, which is the second.
        let boxes = (0..count).map(|i| gateway(knowing(RATE), usize::from(i > 0)));
        let (_, seen) = exchange(boxes.collect(), 1);
        assert_syn_ack_is_the_far_hosts(&seen);
    }
}

/// H-D-14: a gateway at one end only, the near or the far one.
#[test]
fn one_gateway_at_either_end_is_enough() {
    for boxes in [
        vec![gateway(knowing(RATE), 0), Node::Router],
        vec![Node::Router, gateway(knowing(RATE), 1)],
    ] {
        let (_, seen) = exchange(boxes, 1);
        assert_syn_ack_is_the_far_hosts(&seen);
    }
}
