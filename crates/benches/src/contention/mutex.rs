//! Today's scheduler behind a mutex.
//!
//! The first flow in line has its turn, whichever worker it is of. The worker that has taken a turn
//! wakes that of the next one.

use super::costs::{CacheLine, Costs, WAKE, WAKING};
use super::{Case, Step, Workers};
use std::collections::VecDeque;

/// In the lock: assumed. Taking the first of 64 flows out of a tree and putting it in again is 25
/// to 48, measured; deficits, windows and the pacer are the rest.
const IN_LOCK: u64 = 300;

/// A worker that finds it locked spins for so long, and then sleeps: assumed.
const SPIN: u64 = 2_000;

/// As the gateway's pacer.
const CATCH_UP: u64 = 5_000_000;

/// See the module's head.
#[derive(Debug)]
pub(super) struct Mutex {
    line_time: u64,
    owners: Vec<usize>,
    line: VecDeque<usize>,
    next: u64,
    asleep: Vec<bool>,
    word: CacheLine,
    free: u64,
}

impl Mutex {
    pub(super) fn new(case: &Case, owners: &[usize], workers: usize) -> Mutex {
        Mutex {
            line_time: case.line_time(),
            owners: owners.to_vec(),
            line: (0..owners.len()).collect(),
            next: 0,
            asleep: vec![false; workers],
            word: CacheLine::default(),
            free: 0,
        }
    }

    /// Locks and unlocks: the end of that, its processor time, and what of that others caused.
    fn lock(&mut self, worker: usize, now: u64, costs: &mut Costs) -> (u64, u64, u64) {
        let spun = self.free.saturating_sub(now);
        let (locked, transfer) = self.word.change(worker, now + spun, costs);
        self.free = locked + costs.stretched(IN_LOCK);
        if spun <= SPIN {
            return (self.free, self.free - now, spun + transfer);
        }
        // Others may lock it while this one wakes up.
        (self.free + WAKE, SPIN + WAKING + IN_LOCK, SPIN + WAKING + transfer)
    }

    /// The place of the flow with which `worker` is next: the first of all, or without a rate the
    /// first of its own.
    fn place(&self, worker: usize) -> Option<usize> {
        let looked_at = if self.line_time > 0 { 1 } else { self.line.len() };
        self.line.iter().take(looked_at).position(|flow| self.owners[*flow] == worker)
    }

    /// Whether another worker sleeps that has the first flow in line. It is up then.
    fn wake_first(&mut self, now: u64) -> Option<(usize, u64)> {
        let owner = self.owners[self.line[0]];
        let sleeps = std::mem::take(&mut self.asleep[owner]);
        sleeps.then(|| (owner, now.max(self.next) + WAKE))
    }
}

impl Workers for Mutex {
    fn step(&mut self, worker: usize, now: u64, costs: &mut Costs) -> Step {
        let (done, busy, waited) = self.lock(worker, now, costs);
        let Some(place) = self.place(worker) else {
            self.asleep[worker] = true;
            return Step { busy, waited, ..Step::default() };
        };
        if self.next > done {
            return Step { next: Some(self.next + WAKE), busy, waited, ..Step::default() };
        }
        let sent = self.line.remove(place);
        self.next = self.next.max(done.saturating_sub(CATCH_UP)) + self.line_time;
        self.line.extend(sent);
        let wakes = self.wake_first(done);
        let waking = if wakes.is_some() { WAKING } else { 0 };
        let service = costs.service();
        Step {
            next: Some(done + waking + service),
            sent,
            busy: busy + waking + service,
            waited: waited + waking,
            wakes,
        }
    }
}
