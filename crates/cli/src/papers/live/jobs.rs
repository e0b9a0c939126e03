//! Runs that wait for their turn: as many side by side as the machine carries, each on a testbed of its own, the longest
//! first, so that the last ones end at about the same time.

use super::kept::Results;
use super::load::{self, Load};
use super::progress::Progress;
use bentpipe_core::time::Instant;
use bentpipe_lab::RunRecord;
use bentpipe_papers::live::{Conditions, bottleneck, otherwise};
use bentpipe_papers::run::PointRuns;
use bentpipe_scenario::Experiment;
use bentpipe_testbed::ephemeral::{self, EphemeralRun};
use bentpipe_testbed::flows::{Browser, PlayError};
use bentpipe_testbed::network::{NetworkError, Request, Stacks};
use bentpipe_testbed::plan::LivePoint;
use std::collections::BTreeMap;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

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
    /// How long it is going to take, and how much of the machine.
    pub(super) load: Load,
}

/// What became of all.
#[derive(Debug, Default)]
pub(super) struct All {
    /// Runs that were made.
    pub(super) runs: usize,
    /// Why some were not: each reason, with the first run that failed for it and how many did.
    pub(super) failures: BTreeMap<String, (String, usize)>,
}

/// How often one that waits for room looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Runs that have not begun, the longest first, and how many processors those take that have.
struct Waiting<'a> {
    jobs: Vec<Job<'a>>,
    busy: f64,
}

/// Hands out runs as there is room for them.
struct Dispatcher<'a> {
    waiting: Mutex<Waiting<'a>>,
    /// A run has ended.
    ended: Condvar,
    room: f64,
}

impl<'a> Dispatcher<'a> {
    /// The longest run for which there is room, or the longest of all if nothing else is under way. None if no run is
    /// left, or all is to stop.
    fn next(&self, stop: &AtomicBool) -> Option<Job<'a>> {
        let mut waiting = locked(&self.waiting);
        while !waiting.jobs.is_empty() && !stop.load(Ordering::Relaxed) {
            let busy = waiting.busy;
            let fits = |job: &Job<'_>| busy == 0.0 || busy + job.load.processors <= self.room;
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

    fn end(&self, job: &Job<'_>) {
        let mut waiting = locked(&self.waiting);
        waiting.busy -= job.load.processors;
        // Sums of fractions that come and go.
        if waiting.busy < 1e-9 {
            waiting.busy = 0.0;
        }
        self.ended.notify_all();
    }
}

/// Makes all runs, so many side by side at most, and no more than `processors` carry, and stores each in `results` when it
/// ends.
pub(super) fn make(
    mut jobs: Vec<Job<'_>>,
    (side_by_side, processors): (usize, usize),
    results: &Results,
    progress: &Progress,
    stop: &AtomicBool,
) -> All {
    jobs.sort_by(|a, b| b.load.seconds.total_cmp(&a.load.seconds));
    let room = load::room(processors);
    let loads: Vec<Load> = jobs.iter().map(|job| job.load).collect();
    progress.begin(&loads, side_by_side, room);
    let waiting = Mutex::new(Waiting { jobs, busy: 0.0 });
    let dispatcher = Dispatcher { waiting, ended: Condvar::new(), room };
    let made = Mutex::new(All::default());
    let work = |worker: usize| {
        while let Some(job) = dispatcher.next(stop) {
            let ended = one(&job, worker, results, stop);
            dispatcher.end(&job);
            match ended {
                Ok(()) => locked(&made).runs += 1,
                Err(PlayError::Cancelled) => return,
                Err(error) => {
                    let (name, label, run) = (job.name, &job.live.point.label, job.run);
                    let which = format!("{name}, run {run} ({label})");
                    let mut made = locked(&made);
                    made.failures.entry(error.to_string()).or_insert((which, 0)).1 += 1;
                }
            }
            progress.done(job.load);
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
        let (record, conditions) = match tried(job, worker, stop)? {
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

/// What has come of a try.
enum Made {
    /// What it has given, and how punctual links were.
    Run(RunRecord, Conditions),
    /// A gateway has not split what it was to: it is a run of another path. Why, with what the gateways have said.
    Refused(String),
}

/// Makes it once.
fn tried(job: &Job<'_>, worker: usize, stop: &AtomicBool) -> Result<Made, PlayError> {
    let name = format!("papers-{}-{worker}", process::id());
    let binary = std::env::current_exe().map_err(NetworkError::Io)?;
    let request = Request {
        name: &name,
        file: job.name,
        experiment: job.experiment,
        stacks: Stacks::AsAsked,
        binary: &binary,
        realtime: true,
    };
    let made = ephemeral::run(&request, job.live, job.run, job.record, stop)?;
    let EphemeralRun { run, capture, said, .. } = &made;
    let record = RunRecord::new(&run.outcome);
    // It opens connections ahead of their use.
    let chromium = job.live.browser == Some(Browser::Chromium);
    let simulated = job.simulated.runs.get(job.run as usize).or(job.simulated.runs.first());
    if let Some(why) = simulated.and_then(|one| otherwise(one, &record, chromium)) {
        return Ok(Made::Refused(why + said));
    }
    let packets = match job.record.zip(capture.as_ref()) {
        None => BTreeMap::new(),
        Some((link, capture)) => packets(job, link, capture).map_err(PlayError::Flow)?,
    };
    let (late, late_p99_ms, busy) = (run.late, run.late_p99_ms, run.busy);
    Ok(Made::Run(record, Conditions { late, late_p99_ms, busy, packets }))
}

/// What is read off the packets of a link.
fn packets(job: &Job<'_>, link: usize, capture: &Path) -> Result<BTreeMap<String, f64>, String> {
    let link = &job.live.point.scenario.links[link];
    let second = Instant::from_millis(1000);
    let rate = link.forward.rate.as_ref().map(|rate| rate.bytes_between(Instant::ZERO, second));
    bottleneck::numbers(capture, rate.ok_or_else(|| format!("link {} has no rate", link.name))?)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
