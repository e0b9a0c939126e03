//! Running an experiment on several threads.
//!
//! Threads of the standard library, and not a pool such as rayon's: which run is next depends on
//! what the others have given so far (see `plan`), so that there is a queue of our own anyway, and
//! no work to divide further.

use crate::attempt::{Attempt, make};
use crate::dispatch::{Campaign, Dispatch};
use crate::executed::{Event, Executed, Failure, LabError};
use crate::plan::{Job, Next};
use crate::runner::Runner;
use crate::shard::Shard;
use crate::store::Store;
use bentpipe_scenario::{Experiment, Point};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// How an experiment is run.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Makes the runs.
    pub runner: &'a dyn Runner,
    /// On so many threads.
    pub threads: NonZeroUsize,
    /// Only this point.
    pub point: Option<usize>,
    /// Only this run of each point, anew even if it is stored.
    pub run: Option<u32>,
    /// Only this part of the runs.
    pub shard: Option<Shard>,
    /// When this becomes true, runs are given up and those that have ended are kept.
    pub stop: &'a AtomicBool,
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
    let Options { runner, threads, point, run, shard, stop } = *options;
    let campaign = Campaign { experiment, store, point, run, shard };
    let ahead = u32::try_from(threads.get()).unwrap_or(u32::MAX / 2);
    let shared = Mutex::new(Shared { dispatch: Dispatch::new(&campaign, ahead), error: None });
    let laboratory = Laboratory { runner, campaign, stop, watch, shared, ended: Condvar::new() };
    thread::scope(|scope| {
        for _ in 1..threads.get() {
            scope.spawn(|| runner.on_thread(&mut || laboratory.work()));
        }
        runner.on_thread(&mut || laboratory.work());
    });
    let shared = laboratory.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    match shared.error {
        Some(error) => Err(error),
        None => Ok(shared.dispatch.executed(&campaign)),
    }
}

struct Laboratory<'a> {
    runner: &'a dyn Runner,
    campaign: Campaign<'a>,
    stop: &'a AtomicBool,
    watch: &'a (dyn Fn(Event<'_>) + Sync),
    shared: Mutex<Shared>,
    /// Something has ended.
    ended: Condvar,
}

struct Shared {
    dispatch: Dispatch,
    error: Option<LabError>,
}

impl Laboratory<'_> {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn work(&self) {
        // Runs of one point mostly follow each other.
        let mut latest: Option<Point> = None;
        while let Some(job) = self.next(&mut latest) {
            if let Some(point) = &latest {
                self.make(point, job);
            }
            self.ended.notify_all();
        }
        self.ended.notify_all();
    }

    fn next(&self, latest: &mut Option<Point>) -> Option<Job> {
        let mut shared = self.lock();
        loop {
            if shared.error.is_some() || self.stopped() {
                return None;
            }
            match shared.dispatch.next(&self.campaign, latest, self.watch) {
                Next::Run(job) => {
                    // What was stored may have shown that others are needed, too.
                    self.ended.notify_all();
                    return Some(job);
                }
                Next::Done => return None,
                Next::Wait => {
                    shared = self.ended.wait(shared).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn make(&self, point: &Point, job: Job) {
        let Campaign { store, .. } = self.campaign;
        let run = self.campaign.number(job);
        let mut go_on = |share| {
            (self.watch)(Event::Running(job, share));
            !self.stopped()
        };
        let attempt = make(self.runner, store, point, run, &mut go_on);
        let mut shared = self.lock();
        match attempt {
            Ok(Attempt::Made(record)) => shared.dispatch.made(job, &record, self.watch),
            Ok(Attempt::Failed(why)) => {
                shared.dispatch.failed(job, Failure::of(point, run, why), self.watch);
            }
            Ok(Attempt::GivenUp) => {}
            Err(source) => {
                let path = store.folder().display().to_string();
                shared.error.get_or_insert(LabError::Write { path, source });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_results::Sinks;
    use bentpipe_scenario::Scenario;
    use bentpipe_sim::run_into;

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
        Options {
            runner: &run_into,
            threads: NonZeroUsize::new(2).unwrap(),
            point: None,
            run: None,
            shard: None,
            stop,
        }
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
                run_into(scenario, run, sinks, go_on)
            };
        let stop = AtomicBool::new(false);
        let told = Mutex::new(Vec::new());
        let watch = |event: Event<'_>| {
            if let Event::Failed(failure) = event {
                told.lock().unwrap().push(failure.clone());
            }
        };
        let options = options(&stop);
        let some_fail = Options { runner: &failing, ..options };
        let done = execute(&experiment, &store, &some_fail, &watch).unwrap();
        assert_eq!((done.made, done.failures.len(), done.stopped), (5, 1, false));
        let failure = &done.failures[0];
        assert_eq!((failure.job, failure.label.as_str()), (Job { point: 0, run: 1 }, "delay=1ms"));
        assert_eq!(failure.seed, experiment.point(0).scenario.seeds(1).run());
        assert!(failure.why.contains("execute.rs:") && failure.why.ends_with("out of cheese"));
        assert_eq!(told.into_inner().unwrap(), done.failures);
        // The tables are made of the others; what failed is tried again.
        let results = crate::Folder::summarise(&experiment, &store, &done).unwrap();
        assert_eq!((results.points[0].runs, results.points[0].failed), (3, 1));
        let again = execute(&experiment, &store, &options, &|_| {}).unwrap();
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
