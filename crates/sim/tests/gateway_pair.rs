//! The gateway pair between two hosts, with faults from a random seed.
//!
//! Whatever happens, an application reads exactly a prefix of what its peer wrote (checked byte
//! by byte as it reads), sees a clean end only if all of it arrived, and when all is over no
//! gateway holds a flow or a byte.
//!
//! A failure prints its seed; `BENTPIPE_SEED=… cargo test -p bentpipe-sim --test gateway_pair`
//! runs that one alone, and describes it. `BENTPIPE_SEEDS=…` sets how many are drawn.

mod pair;

use bentpipe_sim::Report;
use pair::{Call, Severity, draw};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// By then everything is over, the gateways' idle timeout included.
const LIMIT: Duration = Duration::from_secs(3 * 3600);

fn check(seed: u64, severity: Severity, describe: bool) {
    let mut scenario = draw(seed, severity);
    if describe {
        eprintln!("{}", scenario.description);
        scenario.world.print_packets();
    }
    let over = scenario.world.run(LIMIT);
    let world = &scenario.world;
    for call in &scenario.calls {
        let reports = call.ends.map(|(node, key)| world.host(node).report(&key).copied());
        let [caller, called] = reports.map(Option::unwrap_or_default);
        for (side, mine, peer) in [(0, &caller, &called), (1, &called, &caller)] {
            check_end(call, side, mine, peer, severity, over);
        }
    }
    assert!(over, "something goes on for ever");
    for gateway in world.gateways() {
        assert_eq!(gateway.flows(), 0, "flows left: {gateway:#?}");
        assert_eq!(gateway.held(), 0, "bytes left");
    }
}

fn check_end(
    call: &Call,
    side: usize,
    mine: &Report,
    peer: &Report,
    severity: Severity,
    over: bool,
) {
    let context = || format!("end {side} of {call:#?}\n{mine:#?}\npeer {peer:#?}, over: {over}");
    assert!(mine.read <= peer.written, "read more than was written: {}", context());
    if mine.clean_end {
        let whole = peer.closed && mine.read == peer.written;
        assert!(whole, "a clean end with bytes missing: {}", context());
    }
    if severity != Severity::Violent || !call.aborts() {
        let ended = mine.clean_end && mine.read == call.applications[1 - side].bytes;
        assert!(ended, "not all arrived: {}", context());
        assert!(!mine.reset && !mine.timed_out, "not a clean end: {}", context());
    }
}

fn run(severity: Severity, first: u64, count: u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    if let Some(seed) = number("BENTPIPE_SEED") {
        return check(seed, severity, true);
    }
    let count = number("BENTPIPE_SEEDS").unwrap_or(count);
    let failed: Vec<u64> = (first..first + count)
        .filter(|&seed| {
            let outcome = catch_unwind(AssertUnwindSafe(|| check(seed, severity, false)));
            outcome.is_err()
        })
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {count} {severity:?} runs failed; replay one with BENTPIPE_SEED=…: {failed:?}",
        failed.len()
    );
}

#[test]
fn calm_links_deliver_everything() {
    run(Severity::Calm, 0, 60);
}

#[test]
fn faulty_links_deliver_everything() {
    run(Severity::Faulty, 1_000_000, 150);
}

#[test]
fn resets_leave_nothing_behind() {
    run(Severity::Violent, 2_000_000, 150);
}

#[test]
fn a_seed_replays_packet_by_packet() {
    let trace = || {
        let mut world = draw(7, Severity::Faulty).world;
        world.run(LIMIT);
        (world.trace(), world.packets(), world.now())
    };
    assert_eq!(trace(), trace());
}
