//! Runs in real time: one after the other, each made even if the store has it, as real hosts never
//! do the same twice.

use crate::executed::{Event, Executed, Failure, LabError};
use crate::plan::{Job, PointEnd};
use crate::store::{Key, RunRecord, Store};
use bentpipe_results::{RunError, RunResults};
use bentpipe_scenario::repeat::Decision;
use bentpipe_scenario::{Experiment, Point, Repeat};
use std::sync::atomic::{AtomicBool, Ordering};

/// Makes run number *n* of the point at a place among those to be measured, as a
/// [`Runner`](crate::Runner) does; what it fails with as a whole ends all.
pub type Make<'a, E> = dyn FnMut(usize, u32, &mut dyn FnMut(f64) -> bool) -> Result<Result<RunResults, RunError>, E>
    + 'a;

/// Makes all runs of `points`, as many of each as `experiment` says, and keeps them in `store`.
/// When `stop` becomes true, the run that is under way is given up, and those that have ended are
/// kept.
///
/// # Errors
/// What `run` fails with; a run cannot be stored.
pub fn measure<E: From<LabError>>(
    experiment: &Experiment,
    store: &Store,
    points: &[&Point],
    stop: &AtomicBool,
    watch: &dyn Fn(&Event<'_>),
    run: &mut Make<'_, E>,
) -> Result<Executed, E> {
    let least = match experiment.repeat {
        Repeat::Runs(runs) => runs,
        Repeat::Until { min, .. } => min,
    };
    let needed = u64::from(least) * points.len() as u64;
    let mut session = Session { store, watch, finished: 0, needed, executed: Executed::default() };
    for (place, point) in points.iter().enumerate() {
        let mut end = PointEnd { point: point.index, runs: 0, because: None };
        let mut samples: Vec<Vec<f64>> = Vec::new();
        while end.because.is_none() && !session.executed.stopped {
            let job = Job { point: point.index, run: end.runs };
            let mut go_on = |share| {
                watch(&Event::Running(job, share));
                !stop.load(Ordering::Relaxed)
            };
            match run(place, job.run, &mut go_on)? {
                Ok(results) => session.keep(point, job, &results, &mut samples)?,
                Err(RunError::Cancelled) => {
                    session.executed.stopped = true;
                    break;
                }
                Err(why) => {
                    let failure = Failure::of(point, job.run, why.to_string());
                    session.executed.failures.push(failure);
                }
            }
            end.runs += 1;
            end.because = match experiment.repeat.decide_after(end.runs, &samples) {
                Decision::Enough { because, .. } => Some(because),
                Decision::Continue => None,
            };
            session.ended(job, end.because.is_none());
        }
        session.executed.ends.push(end);
    }
    Ok(session.executed)
}

/// Runs that follow each other.
struct Session<'a> {
    store: &'a Store,
    watch: &'a dyn Fn(&Event<'_>),
    finished: u64,
    needed: u64,
    executed: Executed,
}

impl Session<'_> {
    /// Stores a run, and adds each flow's goodput to `samples`.
    fn keep(
        &mut self,
        point: &Point,
        job: Job,
        results: &RunResults,
        samples: &mut Vec<Vec<f64>>,
    ) -> Result<(), LabError> {
        let record = RunRecord::new(results);
        let key = Key::of_measurement(&point.canonical, job.run);
        self.store.save(key, &record).map_err(|source| {
            let path = self.store.folder().display().to_string();
            LabError::Write { path, source }
        })?;
        self.executed.made += 1;
        for (flow, goodput) in record.goodputs().into_iter().enumerate() {
            if samples.len() <= flow {
                samples.push(Vec::new());
            }
            samples[flow].push(goodput);
        }
        Ok(())
    }

    /// A run has ended; `more`: its point needs another.
    fn ended(&mut self, job: Job, more: bool) {
        self.finished += 1;
        if more {
            self.needed = self.needed.max(self.finished + 1);
        }
        (self.watch)(&Event::Finished { job, stored: false, needed: self.needed });
    }
}
