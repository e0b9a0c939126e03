//! What a packet costs a link: pushed, serialised, and popped at the far end.
//!
//! Two regimes: a backlog of 400 packets before a line that never rests, with 250 ms in flight
//! behind it, and a line that has each packet to itself. The event loop's part, asking for the next
//! moment, is included.
//!
//! Criterion follows each cost from run to run; the table in front of it shows the best of many
//! short runs, which other work on the machine spoils least.
// A benchmark reads the clock.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use bentpipe_core::link::{After, Link, LinkConfig, LinkPacket, LossKind, Schedule};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Probability, Rate};
use criterion::{Criterion, Throughput};

/// A packet of `N` words: a link moves it from place to place, which costs by its size.
#[derive(Debug, Clone, Copy)]
struct Words<const N: usize>([u64; N]);

impl<const N: usize> LinkPacket for Words<N> {
    fn wire_len(&self) -> u64 {
        self.0[0]
    }
    fn mark_congestion_experienced(&mut self) -> bool {
        self.0[1] = 1;
        true
    }
}

const RATE: Rate = Rate::from_bits_per_sec(10_000_000);
const PACKETS: u64 = 10_000;
/// About the size of a simulated segment's headers, in words.
const HEADERS: usize = 16;
/// How often the table measures.
const RUNS: usize = 300;
/// Of 1500 bytes at [`RATE`].
const LINE_TIME: u64 = 1_200_000;

/// Sends `PACKETS` through `config`, `gap` ns apart, behind a backlog of `backlog`.
fn play<const N: usize>(config: &LinkConfig, gap: u64, backlog: u64) -> u64 {
    let mut link = Link::<Words<N>>::new(config);
    let mut arrived = 0;
    for _ in 0..backlog {
        link.push(Instant::ZERO, Words([1500; N]));
    }
    let mut now = Instant::ZERO;
    let mut wake = link.next();
    for _ in 0..PACKETS {
        now += Duration::from_nanos(gap);
        while let Some(at) = wake.filter(|at| *at <= now) {
            while let Some((_, packet)) = link.pop_with_time(at) {
                arrived += packet.0[0];
            }
            wake = link.next();
        }
        link.push(now, Words([1500; N]));
        wake = link.next();
    }
    arrived
}

fn configs() -> Vec<(&'static str, LinkConfig)> {
    let plain = LinkConfig {
        rate: Some(RATE.into()),
        delay: Duration::from_millis(250).into(),
        ..LinkConfig::IDEAL
    };
    let text = "is read";
    let loss = |words: &str| words.parse::<LossKind>().expect(text);
    let queue = |words: &str| LinkConfig { queue: words.parse().expect(text), ..plain.clone() };
    let half = Rate::from_bits_per_sec(RATE.bits_per_sec() / 2);
    let twice = Rate::from_bits_per_sec(RATE.bits_per_sec() * 2);
    let steps = vec![(Duration::ZERO, half), (Duration::from_millis(20), twice)];
    let trace = Schedule::new(steps, After::Repeat(Duration::from_millis(30))).expect("in order");
    vec![
        ("drop-tail", queue("420packets")),
        ("red", queue("red:limit=420packets,min-threshold=5,max-threshold=1000,gentle=on")),
        ("codel", queue("codel:limit=420packets,ecn=on")),
        ("loss 1%", LinkConfig { packet_loss: loss("1%"), ..plain.clone() }),
        (
            "bit errors 1e-7",
            LinkConfig { bit_errors: Probability::new(1e-7).expect(text).into(), ..plain.clone() },
        ),
        (
            "bursts",
            LinkConfig { packet_loss: loss("gilbert-elliott:burst=5,loss=1%"), ..plain.clone() },
        ),
        ("rate trace", LinkConfig { rate: Some(trace.into()), ..plain }),
    ]
}

/// Busy and idle: the time between packets, and how many wait at the start.
const REGIMES: [(&str, u64, u64); 2] = [("busy", LINE_TIME, 400), ("idle", 2 * LINE_TIME, 0)];

fn nanos_each<const N: usize>(config: &LinkConfig, gap: u64, backlog: u64) -> f64 {
    let run = || {
        let began = std::time::Instant::now();
        std::hint::black_box(play::<N>(config, gap, backlog));
        began.elapsed().as_nanos() as f64 / (PACKETS + backlog) as f64
    };
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn table() {
    println!("ns a packet of      16 bytes          128 bytes");
    println!("                   busy    idle     busy    idle");
    for (name, config) in configs() {
        let [busy, idle] = REGIMES.map(|(_, gap, backlog)| {
            [nanos_each::<2>(&config, gap, backlog), nanos_each::<HEADERS>(&config, gap, backlog)]
        });
        let [[a, c], [b, d]] = [busy, idle];
        println!("{name:<16} {a:>6.1}  {b:>6.1}   {c:>6.1}  {d:>6.1}");
    }
}

fn main() {
    table();
    let mut criterion = Criterion::default().configure_from_args();
    for (regime, gap, backlog) in REGIMES {
        let mut group = criterion.benchmark_group(format!("link {regime}"));
        group.throughput(Throughput::Elements(PACKETS)).sample_size(10);
        group.warm_up_time(Duration::from_millis(300));
        group.measurement_time(Duration::from_millis(1500));
        for (name, config) in configs() {
            group.bench_function(name, |bencher| {
                bencher.iter(|| play::<HEADERS>(&config, gap, backlog));
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
