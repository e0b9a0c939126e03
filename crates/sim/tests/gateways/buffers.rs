//! What gateways hold of flows whose readers stop.

use super::*;
use bentpipe_core::units::Bytes;
use bentpipe_sim::Pace;

/// How long a good reader waits for a megabyte beside so many that have stopped, and what the
/// fuller gateway holds in the end.
fn beside(stalled: usize) -> (Duration, usize) {
    let rate = Rate::from_bits_per_sec(2_000_000);
    let config = Config { memory: Bytes::new(16 << 20), ..knowing(rate) };
    let mut path = Path::geo(rate, [config.clone(), config]);
    path.tcp.send_buffer = 64_000;
    // They read for a moment, and then not for an hour, of what does not end.
    let pace = Pace { chunk: 50_000, every: Duration::from_secs(3600) };
    for _ in 0..stalled {
        let endless = Script { bytes: 1 << 40, ..Script::default() };
        path = path.call(Script { read: pace, ..Script::default() }, endless);
    }
    path = path.call(Script::default(), Script { bytes: 1_000_000, ..Script::default() });
    let begins = Instant::ZERO + Duration::from_secs(300);
    path.calls[stalled].0 = begins;
    let (mut world, _) = path.build();
    world.run(Duration::from_secs(400));
    let report = reports(&world, stalled)[0];
    assert_eq!((report.read, report.clean_end), (1_000_000, true), "{report:?}");
    let held = world.gateways().map(bentpipe_gateway::Gateway::held).max().unwrap();
    (report.last_read.unwrap().saturating_since(begins), held)
}

/// G01-W-12: fifty readers that have stopped fill the pool, and one that reads is served all the same.
#[test]
fn stalled_readers_do_not_starve_a_good_one() {
    let ((alone, _), (beside, held)) = (beside(0), beside(50));
    println!("alone {alone:?}, beside 50 stalled {beside:?}, {held} bytes held");
    assert!(held > 8 << 20, "they are stalled: {held}");
    assert!(beside < alone * 2, "{beside:?}, alone {alone:?}");
}
