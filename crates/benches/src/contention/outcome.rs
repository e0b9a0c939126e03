//! The figures of a run.

use super::{Case, FLOWS, Step};

/// See the module's head.
#[derive(Debug)]
pub struct Outcome {
    case: Case,
    workers: usize,
    departures: Vec<(u64, usize)>,
    busy: u64,
    waited: u64,
}

impl Outcome {
    pub(super) fn new(case: &Case, workers: usize) -> Outcome {
        Outcome { case: *case, workers, departures: Vec::new(), busy: 0, waited: 0 }
    }

    pub(super) fn add(&mut self, step: &Step) {
        self.departures.extend(step.next.zip(step.sent));
        self.busy += step.busy;
        self.waited += step.waited;
    }

    pub(super) fn finish(&mut self) {
        let end = self.case.duration();
        self.departures.retain(|(at, _)| *at < end);
        self.departures.sort_unstable();
    }

    /// Gbit/s that arrive at the far end of the link.
    pub fn throughput(&self) -> f64 {
        let end = self.case.duration();
        let waits = self.queueing();
        let arrived = self.departures.iter().zip(&waits).filter(|((at, _), wait)| at + *wait < end);
        (arrived.count() as u64 * self.case.turn * 8) as f64 / end as f64
    }

    /// Jain's index over the bytes of all flows.
    pub fn fairness(&self) -> f64 {
        let mut turns = [0.0; FLOWS];
        for (_, flow) in &self.departures {
            turns[*flow] += 1.0;
        }
        let sum: f64 = turns.iter().sum();
        let squares: f64 = turns.iter().map(|it| it * it).sum();
        sum * sum / (FLOWS as f64 * squares)
    }

    /// The 99th percentile of the time from a flow's turn to its next, in rounds. A round is what
    /// an ideal scheduler takes for all flows; without a rate, what the workers took on average.
    pub fn longest_gaps(&self) -> f64 {
        let mut last = [None; FLOWS];
        let mut gaps = Vec::with_capacity(self.departures.len());
        for (at, flow) in &self.departures {
            gaps.extend(last[*flow].replace(*at).map(|before: u64| at - before));
        }
        let ideal = match self.case.line_time() {
            0 => self.case.duration() as f64 / self.departures.len() as f64,
            line_time => line_time as f64,
        };
        percentile(gaps) as f64 / (ideal * FLOWS as f64)
    }

    /// The 99th percentile of the wait in the link's own queue, in microseconds.
    pub fn link_queue(&self) -> f64 {
        percentile(self.queueing()) as f64 / 1_000.0
    }

    /// The share of processor time that workers wait for each other.
    pub fn waiting(&self) -> f64 {
        self.waited as f64 / self.busy as f64
    }

    /// Processors that are busy, of all workers.
    pub fn busy(&self) -> f64 {
        (self.busy as f64 / self.case.duration() as f64).min(self.workers as f64)
    }

    fn queueing(&self) -> Vec<u64> {
        let mut free = 0;
        let wait = |(at, _): &(u64, usize)| {
            let begins = free.max(*at);
            free = begins + self.case.line_time();
            begins - at
        };
        self.departures.iter().map(wait).collect()
    }
}

fn percentile(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() * 99 / 100).copied().unwrap_or_default()
}
