//! Costs of a step. Measured on a virtual machine of two cores, or assumed.

use rand::RngExt;
use rand_pcg::Pcg64;

/// A packet's own cost: assumed. With the next one it makes 0.41 s of a gigabyte in super-segments
/// of 60 KB, as 64 flows were measured (0.36 to 0.46).
const OF_A_PACKET: u64 = 3_000;
const OF_A_KILOBYTE: u64 = 360;

/// A core changes a cache line that it has: 5 to 10 measured. From the other core one came in 21 to
/// 33; cores that are further apart take longer, and callers say how long.
const LOCAL: u64 = 10;

/// A thread sleeps, and is up so much later: 4.7 µs measured at best.
pub(super) const WAKE: u64 = 5_000;
/// The processor time of its waker: assumed.
pub(super) const WAKING: u64 = 1_000;

/// Once in so much processor time a thread is preempted, for so long: assumed.
const PREEMPTED_EVERY: f64 = 50_000_000.0;
const PREEMPTED: u64 = 1_000_000;

/// See the module's head.
#[derive(Debug)]
pub(super) struct Costs {
    rng: Pcg64,
    turn: u64,
    transfer: u64,
}

impl Costs {
    pub(super) fn new(rng: Pcg64, turn: u64, transfer: u64) -> Costs {
        Costs { rng, turn, transfer }
    }

    /// How long a worker takes to send a turn, and to read what it sends.
    pub(super) fn service(&mut self) -> u64 {
        let mean = (OF_A_PACKET + self.turn * OF_A_KILOBYTE / 1_000) as f64;
        let drawn = (mean * self.rng.random_range(0.75..1.25)) as u64;
        self.stretched(drawn)
    }

    /// So much processor time, and a preemption now and then.
    pub(super) fn stretched(&mut self, time: u64) -> u64 {
        let preempted = self.rng.random_bool((time as f64 / PREEMPTED_EVERY).min(1.0));
        time + if preempted { PREEMPTED } else { 0 }
    }
}

/// A cache line that workers write to.
#[derive(Debug, Default)]
pub(super) struct CacheLine {
    /// The worker that has it, and the time from which others can get it.
    owner: Option<usize>,
    free: u64,
}

impl CacheLine {
    /// Changes it at `now` or later: when that is done, and how much of that others have caused.
    pub(super) fn change(&mut self, worker: usize, now: u64, costs: &Costs) -> (u64, u64) {
        let away = self.owner.is_some_and(|owner| owner != worker);
        let done = now.max(self.free) + if away { costs.transfer } else { LOCAL };
        (self.owner, self.free) = (Some(worker), done);
        (done, done - now - LOCAL)
    }
}
