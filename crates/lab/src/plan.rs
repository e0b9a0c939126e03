//! Which run comes next, and which ones count.
//!
//! A point's stopping rule is asked after each of its runs in the runs' order, whatever the order
//! in which they end, so that the runs that count do not depend on threads or on time. Where a
//! rule may end a point early, threads that have nothing else to do make runs ahead; those behind
//! the one at which the rule is met are not counted.

use bentpipe_scenario::Repeat;
use bentpipe_scenario::repeat::{Decision, Enough};
use std::collections::{BTreeMap, BTreeSet};

/// A run of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    /// Which point.
    pub point: usize,
    /// Which run of it, counted from zero.
    pub run: u32,
}

/// How a point has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointEnd {
    /// Which point.
    pub point: usize,
    /// So many of its runs count, from the first on.
    pub runs: u32,
    /// Why no more; `None` if the experiment was stopped before.
    pub because: Option<Enough>,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// This run.
    Run(Job),
    /// Nothing until a run has ended.
    Wait,
    /// Nothing any more.
    Done,
}

/// All points of an experiment.
#[derive(Debug)]
pub(crate) struct RunPlan {
    repeat: Repeat,
    /// So many runs of a point are made ahead at most.
    ahead: u32,
    points: BTreeMap<usize, PointState>,
    /// Points that have runs that are needed and not begun.
    ready: BTreeSet<usize>,
    /// Points that are not at their end.
    open: BTreeSet<usize>,
    /// Runs that are known to be needed; of points that have ended, those that counted.
    needed: u64,
}

#[derive(Debug, Default)]
struct PointState {
    /// Runs that have begun.
    begun: u32,
    /// Runs that are known to be needed.
    needed: u32,
    /// Runs that the rule has been asked about.
    counted: u32,
    /// The flows' figures in those.
    samples: Vec<Vec<f64>>,
    /// Figures of later runs; `None` of a run that failed.
    ahead: BTreeMap<u32, Option<Vec<f64>>>,
    because: Option<Enough>,
    /// All its runs are the same.
    certain: bool,
}

impl RunPlan {
    /// `points` by `repeat`, with at most `ahead` runs of a point that may not be needed.
    pub(crate) fn new(
        points: impl IntoIterator<Item = usize>,
        repeat: Repeat,
        ahead: u32,
    ) -> RunPlan {
        let needed = match repeat {
            Repeat::Runs(runs) => runs,
            Repeat::Until { min, .. } => min,
        };
        let state = |point| (point, PointState { needed, ..PointState::default() });
        let points: BTreeMap<usize, PointState> = points.into_iter().map(state).collect();
        let open: BTreeSet<usize> = points.keys().copied().collect();
        let in_all = u64::from(needed) * points.len() as u64;
        RunPlan { repeat, ahead, points, ready: open.clone(), open, needed: in_all }
    }

    /// From now on so many runs of a point are made ahead at most.
    pub(crate) fn make_ahead(&mut self, ahead: u32) {
        self.ahead = ahead;
    }

    /// What comes next: needed runs in the points' order, then runs ahead.
    pub(crate) fn next(&mut self) -> Next {
        let max = self.repeat.max();
        let point = self.ready.first().copied().or_else(|| {
            let state = |point: &&usize| &self.points[*point];
            let may = self.open.iter().filter(|point| {
                let PointState { begun, needed, certain, .. } = *state(point);
                !certain && begun < max && begun < needed + self.ahead
            });
            may.min_by_key(|point| state(point).begun - state(point).counted).copied()
        });
        let Some(point) = point else {
            return if self.open.is_empty() { Next::Done } else { Next::Wait };
        };
        let state = self.points.get_mut(&point).expect("it is one of them");
        let run = state.begun;
        state.begun += 1;
        if state.begun >= state.needed {
            self.ready.remove(&point);
        }
        Next::Run(Job { point, run })
    }

    /// All runs of a point, of which none but the first has begun, are the same: it is enough.
    pub(crate) fn certain(&mut self, point: usize) {
        let Some(state) = self.points.get_mut(&point) else { return };
        state.certain = self.repeat.max() > 1;
        if state.certain {
            self.needed -= u64::from(state.needed - 1);
            state.needed = 1;
            self.ready.remove(&point);
        }
    }

    /// A run has ended, with these figures of its flows or without any. Says if the point has.
    pub(crate) fn finished(&mut self, job: Job, figures: Option<Vec<f64>>) -> Option<PointEnd> {
        let state = self.points.get_mut(&job.point)?;
        if state.because.is_some() {
            return None;
        }
        state.ahead.insert(job.run, figures);
        while let Some(figures) = state.ahead.remove(&state.counted) {
            state.counted += 1;
            // Where the number of runs is given nobody asks for what they say.
            let asked = matches!(self.repeat, Repeat::Until { .. });
            for (flow, figure) in figures.filter(|_| asked).into_iter().flatten().enumerate() {
                if state.samples.len() <= flow {
                    state.samples.push(Vec::new());
                }
                state.samples[flow].push(figure);
            }
            let enough = match self.repeat.decide_after(state.counted, &state.samples) {
                _ if state.certain => Some(Enough::Certain),
                Decision::Enough { because, .. } => Some(because),
                Decision::Continue => None,
            };
            if enough.is_some() {
                state.because = enough;
                state.samples = Vec::new();
                self.needed -= u64::from(state.needed - state.counted);
                self.ready.remove(&job.point);
                self.open.remove(&job.point);
                return Some(state.end(job.point));
            }
            let more = state.needed.max(state.counted + 1);
            self.needed += u64::from(more - state.needed);
            state.needed = more;
            if state.begun < state.needed {
                self.ready.insert(job.point);
            }
        }
        None
    }

    /// How many runs are known to be needed, of points that have ended those that counted.
    pub(crate) fn needed(&self) -> u64 {
        self.needed
    }

    /// How every point has ended.
    pub(crate) fn ends(&self) -> Vec<PointEnd> {
        self.points.iter().map(|(&point, state)| state.end(point)).collect()
    }
}

impl PointState {
    fn end(&self, point: usize) -> PointEnd {
        PointEnd { point, runs: self.counted, because: self.because }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_scenario::repeat::Measure;

    const UNTIL: Repeat =
        Repeat::Until { measure: Measure::StandardDeviation, within: 0.1, min: 2, max: 9 };

    /// Run r of point p gives this figure: points settle after different numbers of runs.
    fn figure(job: Job) -> Option<Vec<f64>> {
        let spread = if job.run < 1 + job.point as u32 { 40.0 } else { 0.0 };
        (job.run != 3).then(|| vec![100.0 + spread])
    }

    /// Makes all runs with so many at a time, which end in an order that `order` draws.
    fn ends(threads: usize, mut order: impl FnMut(usize) -> usize) -> (Vec<PointEnd>, usize) {
        let mut plan = RunPlan::new(0..4, UNTIL, threads as u32);
        let (mut running, mut made) = (Vec::new(), 0);
        loop {
            match plan.next() {
                Next::Run(job) => {
                    running.push(job);
                    if running.len() < threads {
                        continue;
                    }
                }
                Next::Wait => {}
                Next::Done => break,
            }
            let job: Job = running.swap_remove(order(running.len()));
            made += 1;
            plan.finished(job, figure(job));
        }
        (plan.ends(), made)
    }

    #[test]
    fn the_runs_that_count_do_not_depend_on_threads_or_order() {
        let (alone, made) = ends(1, |_| 0);
        let counted: u32 = alone.iter().map(|end| end.runs).sum();
        // Alone nothing is run that is not needed.
        assert_eq!(made, counted as usize);
        assert!(alone.iter().any(|end| end.because == Some(Enough::Met)), "{alone:?}");
        let mut state = 1_u64;
        for threads in [2, 3, 8, 40] {
            for _ in 0..20 {
                let random = |count: usize| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 33) as usize % count
                };
                assert_eq!(ends(threads, random).0, alone, "{threads} threads");
            }
        }
    }

    #[test]
    fn where_nothing_is_random_one_run_is_enough() {
        for repeat in [Repeat::Runs(30), UNTIL] {
            let mut plan = RunPlan::new(0..2, repeat, 8);
            let first = Job { point: 0, run: 0 };
            assert_eq!(plan.next(), Next::Run(first));
            plan.certain(0);
            let min = u64::from(if repeat == UNTIL { 2 } else { 30_u32 });
            assert_eq!(plan.needed(), 1 + min);
            assert_eq!(plan.next(), Next::Run(Job { point: 1, run: 0 }), "no other of point 0");
            let end = plan.finished(first, figure(first)).expect("it is over");
            assert_eq!((end.runs, end.because), (1, Some(Enough::Certain)));
            assert_eq!(plan.needed(), 1 + min);
        }
        // Once was asked for: nothing is to be said.
        let mut plan = RunPlan::new(0..1, Repeat::Runs(1), 8);
        let job = Job { point: 0, run: 0 };
        plan.next();
        plan.certain(0);
        let end = plan.finished(job, figure(job)).expect("it is over");
        assert_eq!(end.because, Some(Enough::Runs));
    }

    #[test]
    fn points_are_done_in_order_and_no_more_than_asked_for() {
        let mut plan = RunPlan::new([2, 5], Repeat::Runs(2), 8);
        let job = |point, run| Next::Run(Job { point, run });
        let all: Vec<Next> = (0..5).map(|_| plan.next()).collect();
        assert_eq!(all, [job(2, 0), job(2, 1), job(5, 0), job(5, 1), Next::Wait]);
        assert_eq!(plan.needed(), 4);
    }
}
