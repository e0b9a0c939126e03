//! Contention of a gateway's workers for one link, in virtual time.
//!
//! The gateway has one worker. This is a part of the plan for more
//! (docs/design/gateway-workers.md). All flows always have something to send. A worker takes a turn
//! for one of its flows, sends a super-segment, and asks again. The link serves what is sent in
//! order of arrival. Times are in nanoseconds.

mod claims;
mod costs;
mod mutex;
mod outcome;

pub use outcome::Outcome;

use claims::Claims;
use costs::Costs;
use mutex::Mutex;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Flows that share the link.
pub const FLOWS: usize = 64;

/// Simulated time, at least; a slow link has two hundred rounds of all flows.
const DURATION: u64 = 500_000_000;
const ROUNDS: u64 = 200;

/// The scheduler shared in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Today's scheduler behind a mutex: flows send in the order of one line.
    Mutex,
    /// Each worker has an equal share of the rate.
    Static,
    /// A waiting flow claims its departure from one atomic clock.
    Claims,
    /// The same, up to eight turns of a worker at a time.
    Leases,
}

impl Sharing {
    /// All of them.
    pub const ALL: [Sharing; 4] =
        [Sharing::Mutex, Sharing::Static, Sharing::Claims, Sharing::Leases];
}

/// A link, and turns on it.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// For the table.
    pub name: &'static str,
    /// Bits a second; none: as fast as the workers are.
    pub rate: Option<u64>,
    /// Bytes of a turn.
    pub turn: u64,
}

impl Case {
    /// How long the link takes for a turn.
    fn line_time(&self) -> u64 {
        self.rate.map_or(0, |rate| self.turn * 8 * 1_000_000_000 / rate)
    }

    fn duration(&self) -> u64 {
        DURATION.max(ROUNDS * FLOWS as u64 * self.line_time())
    }
}

/// The workers, and the cores that they run on.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// Each has a core.
    pub workers: usize,
    /// Nanoseconds until a cache line has come from another core.
    pub transfer: u64,
}

/// A worker's step: a turn, or a look at what there is.
#[derive(Debug, Default)]
struct Step {
    /// When its next step is; none: another worker has to wake it.
    next: Option<u64>,
    /// The flow that has sent, at that time.
    sent: Option<usize>,
    /// Processor time, and the part of it that other workers caused.
    busy: u64,
    waited: u64,
    /// The worker that it has woken, and when that is up.
    wakes: Option<(usize, u64)>,
}

/// Workers' decisions under one way of sharing.
trait Workers {
    /// What `worker` does at `now`. Steps come in the order of their times.
    fn step(&mut self, worker: usize, now: u64, costs: &mut Costs) -> Step;
}

/// Simulates a machine; `seed` draws the flows' hashes and all service times.
pub fn simulate(case: &Case, sharing: Sharing, machine: Machine, seed: u64) -> Outcome {
    let Machine { workers, transfer } = machine;
    let mut rng = Pcg64::seed_from_u64(seed);
    let owners: Vec<usize> = (0..FLOWS).map(|_| rng.random_range(0..workers)).collect();
    let mut costs = Costs::new(rng, case.turn, transfer);
    let mut shared: Box<dyn Workers> = match sharing {
        Sharing::Mutex => Box::new(Mutex::new(case, &owners, workers)),
        _ => Box::new(Claims::new(case, sharing, &owners, workers)),
    };
    let mut steps: BinaryHeap<Reverse<(u64, usize)>> =
        (0..workers).filter(|worker| owners.contains(worker)).map(|it| Reverse((0, it))).collect();
    let mut outcome = Outcome::new(case, workers);
    while let Some(Reverse((now, worker))) = steps.pop() {
        if now >= case.duration() {
            break;
        }
        let step = shared.step(worker, now, &mut costs);
        outcome.add(&step);
        steps.extend(step.next.map(|at| Reverse((at, worker))));
        steps.extend(step.wakes.map(|(other, at)| Reverse((at, other))));
    }
    outcome.finish();
    outcome
}

#[cfg(test)]
mod tests;
