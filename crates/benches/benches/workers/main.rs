//! Contention of a gateway's workers for a link, as a table: `cargo bench -p bentpipe-benches
//! --bench workers`. It measures nothing: all times are virtual, and every run prints the same.

use bentpipe_benches::contention::{Case, Machine, Outcome, Sharing, simulate};

const CASES: [Case; 7] = [
    Case { name: "100 Mbit/s, turns of 12 KB", rate: Some(100_000_000), turn: 12_000 },
    Case { name: "1 Gbit/s, turns of 60 KB", rate: Some(1_000_000_000), turn: 60_000 },
    Case { name: "10 Gbit/s, turns of 60 KB", rate: Some(10_000_000_000), turn: 60_000 },
    Case { name: "40 Gbit/s, turns of 60 KB", rate: Some(40_000_000_000), turn: 60_000 },
    Case { name: "10 Gbit/s, turns of 1.5 KB", rate: Some(10_000_000_000), turn: 1_500 },
    Case { name: "full speed, turns of 60 KB", rate: None, turn: 60_000 },
    Case { name: "full speed, turns of 1.5 KB", rate: None, turn: 1_500 },
];

/// Cores of one socket, and at last some that are far from each other.
const MACHINES: [Machine; 6] = [
    Machine { workers: 1, transfer: 100 },
    Machine { workers: 2, transfer: 100 },
    Machine { workers: 4, transfer: 100 },
    Machine { workers: 8, transfer: 100 },
    Machine { workers: 16, transfer: 100 },
    Machine { workers: 16, transfer: 400 },
];

/// Means are over so many seeds: each spreads the flows over the workers in another way.
const SEEDS: u64 = 5;

fn main() {
    for case in &CASES {
        println!("\n{}", case.name);
        println!(
            "workers  transfer  sharing   Gbit/s    Jain  p99 gap  link p99 us  waiting   busy"
        );
        for machine in MACHINES {
            for sharing in Sharing::ALL {
                println!("{}", row(case, sharing, machine));
            }
        }
    }
}

fn row(case: &Case, sharing: Sharing, machine: Machine) -> String {
    let runs: Vec<Outcome> =
        (0..SEEDS).map(|seed| simulate(case, sharing, machine, seed)).collect();
    let mean = |of: fn(&Outcome) -> f64| runs.iter().map(of).sum::<f64>() / SEEDS as f64;
    let Machine { workers, transfer } = machine;
    format!(
        "{workers:>7} {transfer:>9}  {:<8} {:>7.2} {:>7.3} {:>8.2} {:>12.1} {:>7.1}% {:>5.1}",
        format!("{sharing:?}").to_lowercase(),
        mean(Outcome::throughput),
        mean(Outcome::fairness),
        mean(Outcome::longest_gaps),
        mean(Outcome::link_queue),
        100.0 * mean(Outcome::waiting),
        mean(Outcome::busy),
    )
}
