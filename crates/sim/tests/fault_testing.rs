//! Thirteen hundred seeds of deterministic fault testing (`bentpipe_sim::fuzz`), on two threads.
//!
//! `BENTPIPE_SEED=… cargo test -p bentpipe-sim --test fault_testing` plays one of them alone and
//! prints its packets, as `bentpipe fuzz --seed …` does. `BENTPIPE_SEEDS=A..B` plays others.

use bentpipe_core::time::Duration;
use bentpipe_sim::Listener;
use bentpipe_sim::fuzz::{FaultPlan, Hazard, Middle, Played};
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What CI plays: of plans whose flows have windows of their own, of those that find links together
/// as well, of those whose gateways may have keys besides, and of those with liars besides,
/// and of those that share a carrier besides.
const SEEDS: Range<u64> = 0..1_000;
const TOGETHER: Range<u64> = 200_000_000..200_000_200;
const KEYS: Range<u64> = 400_000_000..400_000_100;
const LIARS: Range<u64> = 500_000_000..500_000_100;
const CARRIERS: Range<u64> = 600_000_000..600_000_100;

/// After so many the rest would tell nothing new, unless `BENTPIPE_ENOUGH` says otherwise.
const ENOUGH: usize = 5;

/// Violations that any test here has found.
static FOUND: AtomicUsize = AtomicUsize::new(0);

/// Whether so many violations were found that the rest would tell nothing new.
fn is_enough() -> bool {
    let enough = variable("BENTPIPE_ENOUGH").and_then(|text| text.parse().ok());
    FOUND.load(Ordering::Relaxed) >= enough.unwrap_or(ENOUGH)
}

/// What was met.
#[derive(Default)]
struct Met {
    hazards: BTreeMap<Hazard, u64>,
    sum: Played,
    violations: Vec<String>,
}

/// What is wrong with a seed, if anything is.
fn play(seed: u64, listener: Option<Listener>) -> Result<(FaultPlan, Played), String> {
    let plan = FaultPlan::draw(seed);
    let outcome = catch_unwind(AssertUnwindSafe(|| plan.play(listener)));
    if let Ok(Ok(played)) = outcome {
        return Ok((plan, played));
    }
    FOUND.fetch_add(1, Ordering::Relaxed);
    match outcome {
        Ok(Err(violation)) => Err(format!("{violation}\n{plan}")),
        _ => Err(format!("panic, see above\n{plan}")),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn play_all(seeds: &[u64]) -> Met {
    let (next, met) = (AtomicUsize::new(0), Mutex::new(Met::default()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&seed) = seeds.get(next).filter(|_| !is_enough()) else { return };
                    let outcome = play(seed, None);
                    let mut met = met.lock().unwrap();
                    match outcome {
                        Ok((plan, played)) => {
                            for hazard in plan.hazards {
                                *met.hazards.entry(hazard).or_default() += 1;
                            }
                            met.sum.events += played.events;
                            met.sum.split += played.split;
                            met.sum.adopted += played.adopted;
                            met.sum.recalled += played.recalled;
                            met.sum.completed += played.completed;
                            met.sum.called_again += played.called_again;
                            met.sum.pieced += played.pieced;
                            met.sum.faked += played.faked;
                            met.sum.forged += played.forged;
                            met.sum.path_mtu_falls += played.path_mtu_falls;
                        }
                        Err(why) => met.violations.push(format!("seed {seed}: {why}")),
                    }
                }
            });
        }
    });
    met.into_inner().unwrap()
}

/// G01-D-19 and G01-D-22: whatever happens to routes (before, during and after handshakes) and
/// gateways, no connection ends cleanly with bytes missing. H-D-13: each byte is the right one.
/// G01-W-12: gateways keep to their pool. H-D-19: a FIN is acknowledged when the far host has it.
#[test]
fn a_thousand_seeds_keep_every_invariant() {
    if let Some(seed) = variable("BENTPIPE_SEED").and_then(|text| text.parse().ok()) {
        eprintln!("{}", FaultPlan::draw(seed));
        match play(seed, Some(Listener::new(|line| eprintln!("{line}")))) {
            Ok((_, played)) => eprintln!("{played:?}"),
            Err(why) => panic!("{why}"),
        }
        return;
    }
    let given = variable("BENTPIPE_SEEDS").map(|text| {
        let (from, to) = text.split_once("..").expect("BENTPIPE_SEEDS=A..B");
        from.parse().expect("a number")..to.parse().expect("a number")
    });
    let usual = || SEEDS.chain(TOGETHER).chain(KEYS).chain(LIARS).chain(CARRIERS).collect();
    let seeds: Vec<u64> = given.clone().map_or_else(usual, Iterator::collect);
    let met = play_all(&seeds);
    assert!(met.violations.is_empty(), "{}", met.violations.join("\n\n"));
    if given.is_some() || is_enough() {
        return;
    }
    // A harness that meets nothing finds nothing.
    for hazard in Hazard::ALL {
        let seeds = met.hazards.get(&hazard).copied().unwrap_or(0);
        assert!(seeds >= 25, "{} in {seeds} seeds only", hazard.name());
    }
    let Played { split, adopted, recalled, completed, forged, path_mtu_falls, .. } = met.sum;
    assert!(split > 1000 && completed > 1000 && forged > 1000, "{:?}", met.sum);
    assert!(adopted > 50 && recalled > 10, "{:?}", met.sum);
    assert!(path_mtu_falls > 50, "{:?}", met.sum);
    let Played { called_again, pieced, faked, .. } = met.sum;
    assert!(called_again > 25 && pieced > 1000 && faked > 1000, "{:?}", met.sum);
}

/// Each line: a seed that once violated an invariant, and what it was.
const VIOLATED: &str = include_str!("violated_seeds.txt");

#[test]
fn seeds_that_once_violated_something_do_not() {
    let mut last = None;
    for line in VIOLATED.lines().filter(|line| !line.starts_with('#')) {
        let (seed, what) = line.split_once(' ').expect("a seed and what it was");
        let seed: u64 = seed.parse().expect("a seed");
        assert!(last < Some(seed) && !what.trim().is_empty(), "in order, with what it was: {line}");
        last = Some(seed);
        if is_enough() {
            return;
        }
        if let Err(why) = play(seed, None) {
            panic!("seed {line}: {why}");
        }
    }
}

/// Flows of these gateways rest whenever they have nothing to do; nothing that is sent depends on
/// it.
#[test]
fn nothing_depends_on_whether_flows_hibernate() {
    for seed in (0..100).chain(TOGETHER.take(100)) {
        let hibernating = FaultPlan::draw(seed);
        // Another pool moves the windows of those that are awake at once, and of others when they
        // wake.
        if hibernating.hazards.contains(&Hazard::Reload) {
            continue;
        }
        let mut restless = hibernating.clone();
        for middle in &mut restless.middle {
            if let Middle::Gateway(config) = middle {
                assert!(config.hibernate_after.is_zero());
                config.hibernate_after = Duration::from_secs(1 << 30);
            }
        }
        let trace = |plan: &FaultPlan| plan.play(None).unwrap().trace;
        assert_eq!(trace(&hibernating), trace(&restless), "seed {seed}");
    }
}

#[test]
fn a_seed_replays_packet_by_packet() {
    for seed in [7, 8, 9] {
        let trace = || FaultPlan::draw(seed).play(None).unwrap();
        assert_eq!(trace(), trace());
    }
}
