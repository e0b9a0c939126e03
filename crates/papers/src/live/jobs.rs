//! Runs that wait for their turn: as many side by side as the machine carries, each on a testbed of
//! its own, the longest first, so that the last ones end at about the same time.

use super::load::{self, Load};
use super::tries::make_punctual;
use super::{LivePlan, LiveRequest, LiveRunner, Programs, StoredRuns};
use crate::run::PointRuns;
use bentpipe_results::RunError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How runs are made on real hosts.
pub struct LiveOptions<'a, P> {
    /// Makes each.
    pub runner: &'a dyn LiveRunner<Point = P>,
    /// Where they are kept.
    pub stored: &'a StoredRuns,
    /// So many at a time at most.
    pub side_by_side: usize,
    /// No more at a time than so many processors carry.
    pub processors: usize,
    /// When this becomes true, no run begins any more, and those under way are given up.
    pub stop: &'a AtomicBool,
}

/// What a caller hears of runs meanwhile.
#[derive(Debug, Clone, Copy)]
pub enum LiveEvent<'a> {
    /// Runs are to be made.
    Begin {
        /// The longest first.
        runs: &'a [Load],
        /// How many processors may be in use.
        room: f64,
    },
    /// One like this has ended.
    End(Load),
}

/// What became of all.
#[derive(Debug, Default)]
pub struct MadeRuns {
    /// Runs that were made.
    pub runs: usize,
    /// Why some were not: each reason, with the first run that failed for it and how many did.
    pub failures: BTreeMap<String, (String, usize)>,
}

/// A run that is to be made.
pub(super) struct Job<'a, P> {
    pub(super) request: LiveRequest<'a, P>,
    /// All that it comes from, its number apart.
    pub(super) canonical: String,
    /// What the simulator gives of it.
    pub(super) simulated: &'a PointRuns,
    pub(super) programs: Option<Programs>,
    /// How long it is going to take, and how much of the machine.
    pub(super) load: Load,
}

/// How often one that waits for room looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Runs that have not begun, the longest first, and how many processors those take that have.
struct Waiting<'a, P> {
    jobs: Vec<Job<'a, P>>,
    busy: f64,
}

/// Hands out runs as there is room for them.
struct Dispatcher<'a, P> {
    waiting: Mutex<Waiting<'a, P>>,
    /// A run has ended.
    ended: Condvar,
    room: f64,
}

impl<'a, P> Dispatcher<'a, P> {
    /// The longest run for which there is room, or the longest of all if nothing else is under way.
    /// None if no run is left, or all is to stop.
    fn next(&self, stop: &AtomicBool) -> Option<Job<'a, P>> {
        let mut waiting = locked(&self.waiting);
        while !waiting.jobs.is_empty() && !stop.load(Ordering::Relaxed) {
            let busy = waiting.busy;
            let fits = |job: &Job<'_, P>| busy == 0.0 || busy + job.load.processors <= self.room;
            if let Some(at) = waiting.jobs.iter().position(fits) {
                let job = waiting.jobs.remove(at);
                waiting.busy += job.load.processors;
                return Some(job);
            }
            let waited = self.ended.wait_timeout(waiting, LOOK);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }

    fn end(&self, job: &Job<'_, P>) {
        let mut waiting = locked(&self.waiting);
        waiting.busy -= job.load.processors;
        // Sums of fractions that come and go.
        if waiting.busy < 1e-9 {
            waiting.busy = 0.0;
        }
        self.ended.notify_all();
    }
}

/// Makes the runs of these figures that are not there yet, and stores each when it ends.
pub fn make_missing<P: Sync>(
    plans: &[LivePlan<'_, P>],
    options: &LiveOptions<'_, P>,
    watch: &(dyn Fn(LiveEvent<'_>) + Sync),
) -> MadeRuns {
    let missing = plans.iter().flat_map(|plan| plan.missing(options));
    let mut jobs: Vec<Job<'_, P>> = missing.collect();
    // Figures have points in common.
    let mut seen = BTreeSet::new();
    jobs.retain(|job| seen.insert((job.canonical.clone(), job.request.run)));
    jobs.sort_by(|a, b| b.load.seconds.total_cmp(&a.load.seconds));
    let room = load::room(options.processors);
    let loads: Vec<Load> = jobs.iter().map(|job| job.load).collect();
    watch(LiveEvent::Begin { runs: &loads, room });
    let waiting = Mutex::new(Waiting { jobs, busy: 0.0 });
    let dispatcher = Dispatcher { waiting, ended: Condvar::new(), room };
    let made = Mutex::new(MadeRuns::default());
    let work = |worker: usize| {
        while let Some(job) = dispatcher.next(options.stop) {
            let ended = make_punctual(&job, worker, options);
            dispatcher.end(&job);
            match ended {
                Ok(()) => locked(&made).runs += 1,
                Err(RunError::Cancelled) => return,
                Err(error) => {
                    let LiveRequest { file, run, point, .. } = &job.request;
                    let which =
                        format!("{file}, run {run} ({})", options.runner.point(point).label);
                    let mut made = locked(&made);
                    made.failures.entry(error.to_string()).or_insert((which, 0)).1 += 1;
                }
            }
            watch(LiveEvent::End(job.load));
        }
    };
    thread::scope(|scope| {
        for worker in 0..options.side_by_side {
            let work = &work;
            scope.spawn(move || work(worker));
        }
    });
    made.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
