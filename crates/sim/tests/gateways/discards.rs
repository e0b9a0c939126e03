//! What a gateway discards so that its buffers stay small, and what that does to a transfer.

use super::*;
use bentpipe_core::link::LossKind;
use bentpipe_core::units::Probability;
use bentpipe_gateway::{Discard, LegView, Side};
use bentpipe_sim::Close;

/// The upload of G01-D-24: ten megabytes through 384 kbit/s.
const RATE: Rate = Rate::from_bits_per_sec(384_000);
const BYTES: u64 = 10_000_000;

/// What an upload through a gateway with such a mode looked like.
#[derive(Debug)]
struct Upload {
    took: Duration,
    /// What the near gateway held and had not sent on, on the mean while the near host sent.
    unsent: f64,
    /// All that it held, on the mean.
    held: f64,
    discarded: u64,
    /// Reductions of the near host's window.
    reductions: u64,
}

/// The legs of the near gateway's only flow, if it has split one: towards the LAN and the
/// satellite.
fn legs(world: &World) -> Option<[LegView; 2]> {
    world.gateways().next()?.flow_views(world.now()).next()?.legs
}

/// What has arrived and not been sent on.
fn unsent(legs: &[LegView; 2]) -> u64 {
    legs[1].backlog.count().saturating_sub(legs[1].in_flight.count())
}

fn upload(discard: Discard) -> Upload {
    let mut config = knowing(RATE);
    config.lan.discard = discard;
    let near = Script { bytes: BYTES, ..Script::default() };
    let far = Script { close: Close::AfterPeer, ..Script::default() };
    let (mut world, _) = Path::geo(RATE, [config.clone(), config]).call(near, far).build();
    let end = Instant::ZERO + Duration::from_secs(3_000);
    world.start();
    let (mut span, mut weighed, mut held) = (0.0, 0.0, 0.0);
    let (mut before, mut reductions) = (world.now(), 0);
    while world.step(end) {
        let seconds = world.now().saturating_since(before).as_secs_f64();
        before = world.now();
        let Some(legs) = legs(&world).filter(|legs| legs[0].received.count() < BYTES) else {
            continue;
        };
        span += seconds;
        weighed += seconds * unsent(&legs) as f64;
        held += seconds * world.gateways().next().unwrap().held() as f64;
        if let Some(connection) = world.host(0).connection(&(1_000, HOSTS[1], port(0))) {
            reductions = connection.tcb().map_or(reductions, |tcb| {
                let stats = tcb.sender.stats();
                stats.recoveries + stats.timeouts
            });
        }
    }
    assert_whole(&world, 0);
    Upload {
        took: reports(&world, 0)[1].last_read.unwrap().saturating_since(Instant::ZERO),
        unsent: weighed / span,
        held: held / span,
        discarded: world.gateways().next().unwrap().summary().side(Side::Lan).discarded,
        reductions,
    }
}

/// G01-D-13 and G01-D-24: the buffer shrinks by 30 % and more, the sender's window is reduced, and
/// the transfer takes as long.
#[test]
fn single_discards_keep_the_buffer_small_and_cost_no_time() {
    let (off, single) = (upload(Discard::Off), upload(Discard::Single));
    println!("{off:?}\n{single:?}");
    assert_eq!((off.discarded, off.reductions), (0, 0));
    assert!(single.discarded >= 1 && single.reductions >= 1);
    assert!(single.held < 0.7 * off.held && single.unsent < 0.3 * off.unsent);
    assert!(single.took.abs_diff(off.took) < off.took / 20);
}

/// G99-D-7: over more than 60 s the queue stays below half of what it may be, which is what it is
/// where nothing is discarded, and segments are discarded that had room.
#[test]
fn random_early_discards_keep_the_queue_below_half_of_its_limit() {
    let (off, early) = (upload(Discard::Off), upload(Discard::RandomEarly));
    println!("{off:?}\n{early:?}");
    assert!(early.unsent < 0.5 * off.unsent, "{early:?}");
    assert!(early.discarded > 10 && early.reductions > 10);
    assert!(early.took > Duration::from_secs(60) && early.took.abs_diff(off.took) < off.took / 20);
}

/// Uploads of three megabytes over a link of 2 Mbit/s that loses so many packets: their mean
/// goodput in bit/s, and how many segments were discarded.
fn lossy_uploads(discard: Discard, loss: f64) -> (f64, u64) {
    const SEEDS: u64 = 4;
    const BYTES: u64 = 3_000_000;
    let rate = Rate::from_bits_per_sec(2_000_000);
    let (mut goodputs, mut discarded) = (0.0, 0);
    for seed in 0..SEEDS {
        let mut config = knowing(rate);
        config.lan.discard = discard;
        let near = Script { bytes: BYTES, ..Script::default() };
        let far = Script { close: Close::AfterPeer, ..Script::default() };
        let mut path = Path::geo(rate, [config.clone(), config]).call(near, far);
        let packet_loss: LossKind = Probability::new(loss).unwrap().into();
        // A line's two directions take this seed and the next one.
        path.links[1] = LinkConfig { packet_loss, seed: 2 * seed, ..path.links[1].clone() };
        let (mut world, _) = path.build();
        assert!(world.run(Duration::from_secs(3_000)));
        assert_whole(&world, 0);
        let took = reports(&world, 0)[1].last_read.unwrap().saturating_since(Instant::ZERO);
        goodputs += 8.0 * BYTES as f64 / took.as_secs_f64();
        let near = world.gateways().next().unwrap();
        discarded += near.summary().side(Side::Lan).discarded;
    }
    (goodputs / SEEDS as f64, discarded)
}

/// Queues that are kept short do not run empty where the link loses packets: all arrives, and no
/// slower than where nothing is discarded, but for a twentieth.
#[test]
fn discards_cost_no_goodput_where_the_link_loses_packets() {
    let rates = [0.001, 0.01];
    let off = rates.map(|loss| lossy_uploads(Discard::Off, loss).0);
    for discard in [Discard::Single, Discard::RandomEarly] {
        let mut discarded = 0;
        for (loss, off) in rates.into_iter().zip(off) {
            let (goodput, segments) = lossy_uploads(discard, loss);
            println!(
                "loss {loss}, {discard:?}: {goodput:.0} of {off:.0} bit/s, {segments} discarded"
            );
            assert!(goodput > 0.95 * off, "{discard:?} {loss}: {goodput}, {off}");
            discarded += segments;
        }
        assert!(discarded > 0, "{discard:?}");
    }
}
