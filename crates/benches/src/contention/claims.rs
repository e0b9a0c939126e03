//! Departures claimed from a clock that is one atomic.
//!
//! This is the virtual scheduling of ATM's generic cell rate algorithm (ITU-T I.371), for a link.
//! A claim is a `fetch_max` with the present, less what may be caught up, and a `fetch_add` of the
//! turn's time on the link. Both cost one transfer of the cache line.

use super::costs::{CacheLine, Costs, WAKE};
use super::{Case, Sharing, Step, Workers};
use std::collections::VecDeque;

/// As the gateway's pacer.
const CATCH_UP: u64 = 5_000_000;

/// Turns of a lease.
const LEASE: usize = 8;

#[derive(Debug, Default)]
struct Clock {
    next: u64,
    line: CacheLine,
}

/// A worker's flows that wait, and the departures claimed for the first of them.
#[derive(Debug, Default)]
struct Waiting {
    flows: VecDeque<usize>,
    departures: VecDeque<u64>,
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Claims {
    /// One of all, or one of each worker.
    clocks: Vec<Clock>,
    sharing: Sharing,
    waiting: Vec<Waiting>,
    /// Between two departures of a clock.
    interval: u64,
}

impl Claims {
    pub(super) fn new(case: &Case, sharing: Sharing, owners: &[usize], workers: usize) -> Claims {
        let clocks = if sharing == Sharing::Static { workers } else { 1 };
        let mut waiting: Vec<Waiting> = (0..workers).map(|_| Waiting::default()).collect();
        for (flow, owner) in owners.iter().enumerate() {
            waiting[*owner].flows.push_back(flow);
        }
        Claims {
            clocks: (0..clocks).map(|_| Clock::default()).collect(),
            sharing,
            waiting,
            interval: case.line_time() * clocks as u64,
        }
    }

    /// Claims at a time: none while those that there are suffice.
    fn wanted(&self, worker: usize) -> usize {
        let Waiting { flows, departures } = &self.waiting[worker];
        match self.sharing {
            Sharing::Leases if !departures.is_empty() => 0,
            Sharing::Leases => flows.len().min(LEASE),
            _ => (flows.len() - departures.len()).min(1),
        }
    }

    fn claim(&mut self, worker: usize, now: u64, count: usize, costs: &Costs) -> Step {
        let own = self.sharing == Sharing::Static;
        let clock = &mut self.clocks[if own { worker } else { 0 }];
        let (done, waited) = clock.line.change(worker, now, costs);
        let first = clock.next.max(done.saturating_sub(CATCH_UP));
        let departures = (0..count as u64).map(|turn| first + turn * self.interval);
        self.waiting[worker].departures.extend(departures);
        clock.next = first + count as u64 * self.interval;
        Step { next: Some(done), busy: done - now, waited, ..Step::default() }
    }
}

impl Workers for Claims {
    fn step(&mut self, worker: usize, now: u64, costs: &mut Costs) -> Step {
        let wanted = self.wanted(worker);
        if wanted > 0 {
            return self.claim(worker, now, wanted, costs);
        }
        let Waiting { flows, departures } = &mut self.waiting[worker];
        if departures[0] > now {
            return Step { next: Some(departures[0] + WAKE), ..Step::default() };
        }
        departures.pop_front();
        let sent = flows.pop_front();
        flows.extend(sent);
        let busy = costs.service();
        Step { next: Some(now + busy), sent, busy, ..Step::default() }
    }
}
