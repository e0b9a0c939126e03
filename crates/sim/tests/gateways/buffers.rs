//! What gateways hold of flows whose readers stop.

use super::*;
use bentpipe_core::units::Bytes;
use bentpipe_sim::Pace;

/// Readers that stop reading: one after the other, when each has read so much.
#[derive(Debug, Clone, Copy)]
struct Stalled {
    count: usize,
    apart: Duration,
    after: u64,
}

impl Stalled {
    const NONE: Stalled = Stalled { count: 0, apart: Duration::ZERO, after: 0 };
}

/// How long a good reader waits for a megabyte over a link of `rate`, beside others that have
/// stopped, and what the fuller one of two gateways with so much `memory` holds in the end.
fn beside(rate: Rate, memory: usize, stalled: Stalled) -> (Duration, usize) {
    let config = Config { memory: Bytes::new(memory as u64), ..knowing(rate) };
    let mut path = Path::geo(rate, [config.clone(), config]);
    path.tcp.send_buffer = Bytes::new(64_000);
    // They read for a moment, and then not for an hour, of what does not end.
    let pace = Pace { chunk: stalled.after, every: Duration::from_secs(3600) };
    for number in 0..stalled.count {
        let endless = Script { bytes: 1 << 40, ..Script::default() };
        path = path.call(Script { read: pace, ..Script::default() }, endless);
        path.calls[number].0 = Instant::ZERO + stalled.apart * number as u32;
    }
    path = path.call(Script::default(), Script { bytes: 1_000_000, ..Script::default() });
    let begins = Instant::ZERO + Duration::from_secs(300);
    path.calls[stalled.count].0 = begins;
    let (mut world, _) = path.build();
    world.run(Duration::from_secs(400));
    let report = reports(&world, stalled.count)[0];
    assert_eq!((report.read, report.clean_end), (1_000_000, true), "{report:?}");
    let held = world.gateways().map(bentpipe_gateway::Gateway::held).max().unwrap();
    (report.last_read.unwrap().saturating_since(begins), held)
}

/// G01-W-12: fifty readers that have stopped fill the pool, and one that reads is served all the
/// same.
#[test]
fn stalled_readers_do_not_starve_a_good_one() {
    let (rate, memory) = (Rate::from_bits_per_sec(2_000_000), 16 << 20);
    let fifty = Stalled { count: 50, apart: Duration::ZERO, after: 50_000 };
    let ((alone, _), (beside, held)) =
        (beside(rate, memory, Stalled::NONE), beside(rate, memory, fifty));
    println!("alone {alone:?}, beside 50 stalled {beside:?}, {held} bytes held");
    assert!(held > 8 << 20, "they are stalled: {held}");
    assert!(beside < alone * 2, "{beside:?}, alone {alone:?}");
}

/// The same over a link of which a few streams fill the pool: when all begin at once, and when one
/// comes after the other and has shown that it can take what the link carries.
#[test]
fn stalled_readers_of_a_fast_link_do_not_either() {
    let (rate, memory) = (Rate::from_bits_per_sec(100_000_000), 64 << 20);
    let (alone, _) = beside(rate, memory, Stalled::NONE);
    let at_once = Stalled { count: 10, apart: Duration::ZERO, after: 50_000 };
    let in_turn = Stalled { count: 15, apart: Duration::from_secs(10), after: 20_000_000 };
    for stalled in [at_once, in_turn] {
        let (beside, held) = beside(rate, memory, stalled);
        println!("alone {alone:?}, beside {stalled:?} {beside:?}, {held} bytes held");
        assert!((memory / 2..=memory).contains(&held), "they are stalled: {held}");
        assert!(beside < alone * 2, "{beside:?}, alone {alone:?}");
    }
}
