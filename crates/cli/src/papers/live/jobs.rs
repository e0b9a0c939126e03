//! Runs that wait for their turn: several side by side, each on a testbed of its own, the longest first.
//!
//! Most of a run's time nothing happens: its packets are on their way. So many runs fit on a machine, and the last ones
//! end at about the same time if the long ones begin first.

use super::bed::{self, Made};
use super::kept::Results;
use super::progress::Progress;
use crate::testbed::plan::LivePoint;
use bentpipe_lab::RunRecord;
use bentpipe_net::flows::PlayError;
use bentpipe_papers::live::Conditions;
use bentpipe_papers::run::PointRuns;
use bentpipe_scenario::Experiment;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// What 99 % of the packets of each link are to be punctual by, in milliseconds: a run that is not is made again, so
/// often at most.
const PUNCTUAL_MS: f64 = 5.0;
const TRIES: u32 = 3;

/// A run that is to be made.
pub(super) struct Job<'a> {
    /// The experiment that it is of, and what it is called.
    pub(super) experiment: &'a Experiment,
    pub(super) name: &'a str,
    pub(super) live: &'a LivePoint,
    /// What the simulator gives of it.
    pub(super) simulated: &'a PointRuns,
    pub(super) run: u32,
    /// The link whose packets are recorded.
    pub(super) record: Option<usize>,
    /// How long it is going to take, as the simulator says.
    pub(super) seconds: f64,
}

/// What became of all.
#[derive(Debug, Default)]
pub(super) struct All {
    /// Runs that were made.
    pub(super) runs: usize,
    /// Why some were not, in a line each.
    pub(super) failures: Vec<String>,
}

/// Makes all runs, so many side by side, and stores each in `results` when it ends.
pub(super) fn make(
    mut jobs: Vec<Job<'_>>,
    side_by_side: usize,
    results: &Results,
    progress: &Progress,
    stop: &AtomicBool,
) -> All {
    jobs.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    progress.begin(&jobs.iter().map(|job| job.seconds).collect::<Vec<_>>(), side_by_side);
    let queue = Mutex::new(VecDeque::from(jobs));
    let made = Mutex::new(All::default());
    let work = |worker: usize| {
        while !stop.load(Ordering::Relaxed) {
            let Some(job) = locked(&queue).pop_front() else { return };
            match one(&job, worker, results, stop) {
                Ok(()) => locked(&made).runs += 1,
                Err(PlayError::Cancelled) => return,
                Err(error) => {
                    let (name, label, run) = (job.name, &job.live.point.label, job.run);
                    let why = format!("{name}, run {run} ({label}) failed: {error}");
                    locked(&made).failures.push(why);
                }
            }
            progress.done(job.seconds);
        }
    };
    thread::scope(|scope| {
        for worker in 0..side_by_side {
            let work = &work;
            scope.spawn(move || work(worker));
        }
    });
    made.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The most punctual of some tries in which gateways have split what they were to.
fn one(
    job: &Job<'_>,
    worker: usize,
    results: &Results,
    stop: &AtomicBool,
) -> Result<(), PlayError> {
    let mut best: Option<(RunRecord, Conditions)> = None;
    let mut refused = None;
    for _ in 0..TRIES {
        let (record, conditions) = match bed::run(job, worker, stop)? {
            Made::Run(record, conditions) => (record, conditions),
            Made::Refused(why) => {
                refused = Some(why);
                continue;
            }
        };
        let late = conditions.late_p99_ms;
        if best.as_ref().is_none_or(|(_, best)| late < best.late_p99_ms) {
            best = Some((record, conditions));
        }
        if late <= PUNCTUAL_MS {
            break;
        }
    }
    let Some((record, conditions)) = best else {
        return Err(PlayError::Flow(refused.unwrap_or_default()));
    };
    let saved = results.save(&job.live.canonical(), job.run, &record, &conditions);
    saved.map_err(|error| PlayError::Flow(format!("cannot write its results: {error}")))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
