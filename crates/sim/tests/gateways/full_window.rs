//! A host beside a gateway is held back by the gateway's window, and by nothing that it would take
//! for a loss.

use super::*;
use bentpipe_core::link::LossKind;
use bentpipe_core::units::Probability;
use bentpipe_sim::Close;

/// What the near host has sent and heard.
#[derive(Debug)]
struct Sent {
    segments: usize,
    /// Segments with bytes that had left before.
    again: usize,
    acknowledgments: usize,
}

fn sent(seen: &[ProbedSegment]) -> Sent {
    let mut sent = Sent { segments: 0, again: 0, acknowledgments: 0 };
    let mut next = None;
    for seen in seen {
        if !seen.leaves {
            sent.acknowledgments += 1;
        } else if seen.len > 0 {
            sent.segments += 1;
            let end = seen.tcp.seq + seen.len as u64;
            match next {
                Some(before) if end.distance_from(before) <= 0 => sent.again += 1,
                _ => next = Some(end),
            }
        }
    }
    sent
}

/// An upload of `bytes` over a link of `rate` that takes `delay` one way and loses so many of its
/// packets.
fn upload(config: &Config, (rate, delay): (Rate, Duration), bytes: u64, loss: f64) -> Sent {
    let mut path = Path::geo(rate, [config.clone(), config.clone()]);
    let packet_loss: LossKind = Probability::new(loss).unwrap().into();
    path.links[1] =
        LinkConfig { packet_loss, delay: delay.into(), seed: 3, ..path.links[1].clone() };
    let far = Script { close: Close::AfterPeer, ..Script::default() };
    let (mut world, probe) = path.call(Script { bytes, ..Script::default() }, far).build();
    assert!(world.run(Duration::from_secs(600)));
    assert_whole(&world, 0);
    let seen = probe.0.borrow();
    sent(&seen)
}

/// A link's rate, and its delay one way.
type LinkShape = (Rate, Duration);
const GEO: LinkShape = (Rate::from_bits_per_sec(8_000_000), Duration::from_millis(250));
const NARROW: LinkShape = (Rate::from_bits_per_sec(384_000), Duration::from_millis(250));
const LEO: LinkShape = (Rate::from_bits_per_sec(100_000_000), Duration::from_millis(20));

/// Acknowledgments wait for a second segment or for little else, so that no tail loss probe and no
/// retransmission timer of the host takes them for lost: at most one segment in a thousand leaves
/// twice.
#[test]
fn a_full_window_provokes_no_retransmissions() {
    for (name, link, bytes, losses) in [
        ("8 Mbit/s", GEO, 2_000_000, [0.0, 0.01]),
        ("384 kbit/s", NARROW, 500_000, [0.0, 0.002]),
        ("LEO", LEO, 50_000_000, [0.0, 0.001]),
    ] {
        let mut known = knowing(link.0);
        known.satellite.round_trip = Some(2 * link.1);
        let unknown = Config { super_segments: false, ..Config::default() };
        for (told, config) in [("known", known), ("unknown", unknown)] {
            for loss in losses {
                let sent = upload(&config, link, bytes, loss);
                println!("{name}, {told}, {loss} lost: {sent:?}");
                assert!(1_000 * sent.again <= sent.segments, "{name}, {told}, {loss}: {sent:?}");
            }
        }
    }
}

/// And it hears hardly more often than from a receiver that delays.
#[test]
fn a_full_window_takes_few_acknowledgments() {
    let sent = upload(&knowing(GEO.0), GEO, 10_000_000, 0.0);
    println!("{sent:?}");
    assert!(sent.acknowledgments < sent.segments * 62 / 100, "{sent:?}");
}
