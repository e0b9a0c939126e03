//! Running an experiment on several threads.
//!
//! Threads of the standard library, and not a pool such as rayon's: which run is next depends on
//! what the others have given so far (see `plan`), so that there is a queue of our own anyway, and
//! no work to divide further.

use crate::attempt::{Attempt, Simulate, attempt, simulate};
use crate::plan::{Job, Next, PointEnd, RunPlan};
use crate::store::{Damaged, Key, RunRecord, Store};
use bentpipe_scenario::{Experiment, Point, Repeat};
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// How an experiment is run.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// On so many threads.
    pub threads: NonZeroUsize,
    /// Only this point.
    pub point: Option<usize>,
    /// Only this run of each point, anew even if it is stored.
    pub run: Option<u32>,
    /// When this becomes true, runs are given up and those that have ended are kept.
    pub stop: &'a AtomicBool,
}

/// What happens meanwhile. Events come from all threads.
#[derive(Debug)]
pub enum Event<'a> {
    /// A run goes on: this share of its time has passed.
    Running(Job, f64),
    /// A run has ended. So many are now known to be needed in all.
    Finished {
        /// Which.
        job: Job,
        /// It was there already.
        stored: bool,
        /// Runs that are needed.
        needed: u64,
    },
    /// A point needs no more runs.
    Ended(PointEnd),
    /// A run cannot be completed; the others go on.
    Failed(&'a Failure),
    /// A stored run is of no use, and is made again.
    Damaged(&'a Damaged),
}

/// A run that could not be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which.
    pub job: Job,
    /// Its seed.
    pub seed: u64,
    /// The point's label; empty without a sweep.
    pub label: String,
    /// Why, in one line.
    pub why: String,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Executed {
    /// How each point has ended.
    pub ends: Vec<PointEnd>,
    /// What failed, in the order of points and runs.
    pub failures: Vec<Failure>,
    /// It was stopped before all was done.
    pub stopped: bool,
    /// Runs that were made now.
    pub made: u64,
    /// Runs that were there already.
    pub found: u64,
    /// Only this run of each point was asked for.
    pub run: Option<u32>,
}

/// Why an experiment ends without results.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Something cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// What.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A Parquet file cannot be written.
    #[error("cannot write {path}: {source}")]
    Parquet {
        /// Which.
        path: String,
        /// Why.
        source: parquet::errors::ParquetError,
    },
    /// A run that was stored is gone, or damaged since.
    #[error("the stored run {run} of point {point} is gone; run the experiment again")]
    Gone {
        /// The point.
        point: usize,
        /// The run.
        run: u32,
    },
}

/// Runs what is not in `store` yet.
///
/// # Errors
/// A run cannot be stored.
pub fn execute(
    experiment: &Experiment,
    store: &Store,
    options: &Options<'_>,
    watch: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Executed, LabError> {
    execute_by(&simulate, experiment, store, options, watch)
}

fn execute_by(
    simulate: &Simulate<'_>,
    experiment: &Experiment,
    store: &Store,
    options: &Options<'_>,
    watch: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Executed, LabError> {
    let points = match options.point {
        Some(point) => point..point + 1,
        None => 0..experiment.len(),
    };
    let repeat = if options.run.is_some() { Repeat::Runs(1) } else { experiment.repeat };
    let ahead = u32::try_from(options.threads.get()).unwrap_or(u32::MAX / 2);
    let shared = Mutex::new(Shared {
        plan: RunPlan::new(points, repeat, ahead),
        failures: Vec::new(),
        error: None,
        made: 0,
        found: 0,
    });
    let laboratory =
        Laboratory { simulate, experiment, store, options, watch, shared, ended: Condvar::new() };
    thread::scope(|scope| {
        for _ in 1..options.threads.get() {
            scope.spawn(|| laboratory.work());
        }
        laboratory.work();
    });
    let mut shared = laboratory.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = shared.error {
        return Err(error);
    }
    shared.failures.sort_by_key(|failure| failure.job);
    let ends = shared.plan.ends();
    // Runs ahead that turned out not to count fail for nobody.
    let counts = |failure: &Failure| {
        let end = ends.iter().find(|end| end.point == failure.job.point);
        options.run.is_some() || end.is_some_and(|end| failure.job.run < end.runs)
    };
    Ok(Executed {
        failures: shared.failures.into_iter().filter(counts).collect(),
        stopped: ends.iter().any(|end| end.because.is_none()),
        ends,
        made: shared.made,
        found: shared.found,
        run: options.run,
    })
}

struct Laboratory<'a> {
    simulate: &'a Simulate<'a>,
    experiment: &'a Experiment,
    store: &'a Store,
    options: &'a Options<'a>,
    watch: &'a (dyn Fn(Event<'_>) + Sync),
    shared: Mutex<Shared>,
    /// Something has ended.
    ended: Condvar,
}

struct Shared {
    plan: RunPlan,
    failures: Vec<Failure>,
    error: Option<LabError>,
    made: u64,
    found: u64,
}

/// How a run has ended.
enum End {
    Made(RunRecord),
    Found(RunRecord),
    Failed(Failure),
    GivenUp,
}

impl Laboratory<'_> {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    fn work(&self) {
        // Runs of one point mostly follow each other.
        let mut latest: Option<Point> = None;
        while let Some((point, job)) = self.next(&mut latest) {
            let end = self.make(point, job);
            self.settle(&mut self.lock(), job, end);
        }
        self.ended.notify_all();
    }

    /// The next run to be made. One that is stored is settled on the way, before anyone is given
    /// another: so no run is made ahead where what is stored is enough.
    fn next<'p>(&self, latest: &'p mut Option<Point>) -> Option<(&'p Point, Job)> {
        let mut shared = self.lock();
        let job = loop {
            if shared.error.is_some() || self.stopped() {
                return None;
            }
            match shared.plan.next() {
                Next::Run(job) => {
                    if latest.as_ref().is_none_or(|point| point.index != job.point) {
                        *latest = Some(self.experiment.point(job.point));
                    }
                    let point = latest.as_ref().filter(|_| job.run == 0);
                    if point.is_some_and(|point| !point.scenario.is_random()) {
                        shared.plan.certain(job.point);
                    }
                    match latest.as_ref().and_then(|point| self.stored(point, job)) {
                        Some(record) => self.settle(&mut shared, job, End::Found(record)),
                        None => break job,
                    }
                }
                Next::Done => return None,
                Next::Wait => {
                    shared = self.ended.wait(shared).unwrap_or_else(PoisonError::into_inner);
                }
            }
        };
        latest.as_ref().map(|point| (point, job))
    }

    /// What is stored of a run, unless it is asked for by its number, to be made anew.
    fn stored(&self, point: &Point, job: Job) -> Option<RunRecord> {
        if self.options.run.is_some() {
            return None;
        }
        self.store.load(Key::of(&point.canonical, job.run)).unwrap_or_else(|damaged| {
            (self.watch)(Event::Damaged(&damaged));
            None
        })
    }

    fn make(&self, point: &Point, job: Job) -> End {
        let run = self.options.run.unwrap_or(job.run);
        let mut go_on = |share| {
            (self.watch)(Event::Running(job, share));
            !self.stopped()
        };
        let why = match attempt(self.simulate, self.store, point, run, &mut go_on) {
            Ok(Attempt::Made(record)) => return End::Made(record),
            Ok(Attempt::GivenUp) => return End::GivenUp,
            Ok(Attempt::Failed(why)) => why,
            Err(source) => {
                let path = self.store.folder().display().to_string();
                self.lock().error.get_or_insert(LabError::Write { path, source });
                return End::GivenUp;
            }
        };
        let seed = point.scenario.seeds(u64::from(run)).run();
        End::Failed(Failure { job: Job { run, ..job }, seed, label: point.label.clone(), why })
    }

    fn settle(&self, shared: &mut Shared, job: Job, end: End) {
        let (figures, stored) = match end {
            End::GivenUp => return self.ended.notify_all(),
            End::Made(record) => {
                shared.made += 1;
                (Some(record.goodputs()), false)
            }
            End::Found(record) => {
                shared.found += 1;
                (Some(record.goodputs()), true)
            }
            End::Failed(failure) => {
                (self.watch)(Event::Failed(&failure));
                shared.failures.push(failure);
                (None, false)
            }
        };
        let end = shared.plan.finished(job, figures);
        let needed = shared.plan.needed();
        // Events come in the order of what they tell of.
        (self.watch)(Event::Finished { job, stored, needed });
        if let Some(end) = end {
            (self.watch)(Event::Ended(end));
        }
        self.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_scenario::Scenario;
    use bentpipe_sim::Sinks;

    const TEXT: &str = r#"
        [run]
        duration = "2s"
        [repeat]
        runs = 3
        [host.a]
        [host.b]
        [link.sat]
        between = ["a", "b"]
        rate = "1Mbit/s"
        loss = 0.01
        [flow.main]
        from = "a"
        to = "b"
        [sweep]
        "link.sat.delay" = ["1ms", "2ms"]
    "#;

    fn experiment() -> Experiment {
        Experiment::parse("x.toml", TEXT, &|_| Err(String::new())).unwrap()
    }

    fn options(stop: &AtomicBool) -> Options<'_> {
        Options { threads: NonZeroUsize::new(2).unwrap(), point: None, run: None, stop }
    }

    #[test]
    fn a_panic_in_a_run_is_told_and_the_others_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let experiment = experiment();
        let failing =
            |scenario: &Scenario, run: u64, sinks: Sinks, go_on: &mut dyn FnMut(f64) -> bool| {
                let first = scenario.links[0].forward.delay.at(bentpipe_core::time::Instant::ZERO)
                    == bentpipe_core::time::Duration::from_millis(1);
                assert!(!(first && run == 1), "out of cheese");
                simulate(scenario, run, sinks, go_on)
            };
        let stop = AtomicBool::new(false);
        let told = Mutex::new(Vec::new());
        let watch = |event: Event<'_>| {
            if let Event::Failed(failure) = event {
                told.lock().unwrap().push(failure.clone());
            }
        };
        let done = execute_by(&failing, &experiment, &store, &options(&stop), &watch).unwrap();
        assert_eq!((done.made, done.failures.len(), done.stopped), (5, 1, false));
        let failure = &done.failures[0];
        assert_eq!((failure.job, failure.label.as_str()), (Job { point: 0, run: 1 }, "delay=1ms"));
        assert_eq!(failure.seed, experiment.point(0).scenario.seeds(1).run());
        assert!(failure.why.contains("execute.rs:") && failure.why.ends_with("out of cheese"));
        assert_eq!(told.into_inner().unwrap(), done.failures);
        // The tables are made of the others; what failed is tried again.
        let results = crate::Folder::summarise(&experiment, &store, &done).unwrap();
        assert_eq!((results.points[0].runs, results.points[0].failed), (3, 1));
        let again = execute(&experiment, &store, &options(&stop), &|_| {}).unwrap();
        assert_eq!((again.made, again.found, again.failures.len()), (1, 5, 0));
    }

    #[test]
    fn a_folder_that_cannot_be_written_ends_the_experiment_with_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        let store = Store::open(&runs).unwrap();
        std::fs::remove_dir(&runs).unwrap();
        let stop = AtomicBool::new(false);
        let error = execute(&experiment(), &store, &options(&stop), &|_| {}).unwrap_err();
        let line = error.to_string();
        assert!(line.starts_with("cannot write ") && !line.contains('\n'), "{line}");
    }
}
