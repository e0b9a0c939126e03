//! What a segment costs the sender and the receiver, with 10, 1,000 and 100,000 in flight and one
//! in a hundred lost. It must not depend on how many there are: a path's bandwidth-delay product
//! is not the processor's business.
//!
//! Criterion follows each cost from run to run; the table in front of it says at a glance whether
//! they are flat.
// A benchmark reads the clock.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod episode;

use bentpipe_core::tcp::recovery::RecoveryAlgorithm;
use criterion::{BatchSize, Criterion, Throughput};
use episode::Episode;
use std::time::Instant;

const FLIGHTS: [u64; 3] = [10, 1_000, 100_000];

/// Segments of one measurement: small flights are played so often.
const SEGMENTS: u64 = 200_000;

/// How often the table measures; it shows the best, which other work on the machine spoils least.
const RUNS: usize = 7;

/// Enough episodes of `flight` segments for one measurement, and the segments that they send.
fn episodes(algorithm: RecoveryAlgorithm, flight: u64) -> (Vec<Episode>, u64) {
    let count = SEGMENTS / (2 * flight);
    let all: Vec<_> = (0..count).map(|seed| Episode::play(algorithm, flight, seed)).collect();
    let sent = all.iter().map(|episode| episode.sent).sum();
    (all, sent)
}

/// The least time of `replay` for each of `segments`, in nanoseconds.
fn nanos_each<T>(
    episodes: &[Episode],
    segments: u64,
    fresh: fn(&Episode) -> T,
    replay: fn(&Episode, &mut T),
) -> f64 {
    let run = || {
        let mut halves: Vec<T> = episodes.iter().map(fresh).collect();
        let began = Instant::now();
        for (episode, half) in episodes.iter().zip(&mut halves) {
            replay(episode, half);
        }
        began.elapsed().as_nanos() as f64 / segments as f64
    };
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn table() {
    println!("ns a segment, in flight:    10     1,000   100,000   largest/smallest");
    let row = |name: &str, costs: [f64; 3]| {
        let [a, b, c] = costs;
        let ratio = a.max(b).max(c) / a.min(b).min(c);
        let verdict = if ratio <= 2.0 { "flat" } else { "NOT FLAT" };
        println!("{name:<20} {a:>9.0} {b:>9.0} {c:>9.0}   {ratio:>5.2}  {verdict}");
    };
    let sacking = RecoveryAlgorithm::ALL.iter().filter(|algorithm| algorithm.needs_sack());
    for algorithm in sacking {
        let costs = FLIGHTS.map(|flight| {
            let (episodes, sent) = episodes(*algorithm, flight);
            nanos_each(&episodes, sent, Episode::fresh_sender, Episode::replay_sender)
        });
        row(&format!("sender, {algorithm}"), costs);
    }
    let costs = FLIGHTS.map(|flight| {
        let (episodes, sent) = episodes(RecoveryAlgorithm::Sack, flight);
        nanos_each(&episodes, sent, Episode::fresh_receiver, Episode::replay_receiver)
    });
    row("receiver", costs);
}

fn follow(criterion: &mut Criterion) {
    for flight in FLIGHTS {
        let (episodes, sent) = episodes(RecoveryAlgorithm::Sack, flight);
        let mut group = criterion.benchmark_group("segments");
        group.sample_size(10).throughput(Throughput::Elements(sent));
        group.bench_function(format!("sender/{flight}"), |bencher| {
            let fresh = || episodes.iter().map(Episode::fresh_sender).collect::<Vec<_>>();
            let replay = |mut senders: Vec<_>| {
                for (episode, sender) in episodes.iter().zip(&mut senders) {
                    episode.replay_sender(sender);
                }
                senders
            };
            bencher.iter_batched(fresh, replay, BatchSize::PerIteration);
        });
        group.bench_function(format!("receiver/{flight}"), |bencher| {
            let fresh = || episodes.iter().map(Episode::fresh_receiver).collect::<Vec<_>>();
            let replay = |mut receivers: Vec<_>| {
                for (episode, receiver) in episodes.iter().zip(&mut receivers) {
                    episode.replay_receiver(receiver);
                }
                receivers
            };
            bencher.iter_batched(fresh, replay, BatchSize::PerIteration);
        });
    }
}

fn main() {
    table();
    let mut criterion = Criterion::default().configure_from_args();
    follow(&mut criterion);
    criterion.final_summary();
}
