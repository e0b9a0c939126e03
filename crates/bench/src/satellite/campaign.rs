//! All runs of the cases, on many threads. Columns of several cases that are the same run are run
//! once.

use super::case::{Case, Column};
use super::measure::{Measured, measure};
use super::row::Row;
use crate::BenchError;
use crate::player::{Player, Progress, World};
use bentpipe_lab::caught;
use bentpipe_results::RunError;
use bentpipe_scenario::{Experiment, Scenario};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tracing::subscriber::NoSubscriber;

/// How often `stop` is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// The rows of the cases whose runs were all made, and the failure of a run, if one failed.
#[derive(Debug)]
pub struct Finished {
    /// In the order of the cases.
    pub rows: Vec<Row>,
    /// The first failure.
    pub error: Option<BenchError>,
}

/// Runs that several columns may share.
struct Series {
    /// A case that it belongs to, for messages.
    case: String,
    experiment: Arc<Experiment>,
    point: usize,
    scenario: Scenario,
    runs: u64,
    /// A run takes long: it is begun early.
    long: bool,
}

/// What is to be run.
pub struct Campaign<'a> {
    cases: &'a [Case],
    world: &'a World,
    series: Vec<Series>,
    /// By case: the series of each column.
    columns: Vec<BTreeMap<Column, usize>>,
}

impl Campaign<'_> {
    /// Of `cases` in `world`, with so many `seeds`. Columns of foreign gateways whose program is
    /// not there are left out.
    pub fn new<'a>(cases: &'a [Case], world: &'a World, seeds: u64) -> Campaign<'a> {
        let (mut series, mut known): (Vec<Series>, _) = (Vec::new(), BTreeMap::new());
        let mut columns = Vec::new();
        for case in cases {
            let mut of_case = BTreeMap::new();
            let there = |column: &Column| column.proxy().is_none_or(|name| world.has_proxy(name));
            for (column, &index) in case.columns.iter().filter(|(column, _)| there(column)) {
                let point = case.experiment.point(index);
                // Without chance all runs are the same.
                let runs = if point.scenario.is_random() { case.seeds.of(seeds) } else { 1 };
                let index = *known.entry((point.canonical, runs)).or_insert_with(|| {
                    series.push(Series {
                        case: case.name.clone(),
                        experiment: Arc::clone(&case.experiment),
                        point: index,
                        scenario: point.scenario,
                        runs,
                        long: runs < seeds,
                    });
                    series.len() - 1
                });
                of_case.insert(*column, index);
            }
            columns.push(of_case);
        }
        Campaign { cases, world, series, columns }
    }

    /// The same with so many runs of each column, whether chance has a part in it or not: on real
    /// hosts it always has.
    #[must_use]
    pub fn with_runs(mut self, runs: u64) -> Self {
        for series in &mut self.series {
            series.runs = runs;
            // Columns of a case run side by side.
            series.long = false;
        }
        self
    }

    /// How many runs there are.
    pub fn runs(&self) -> u64 {
        self.series.iter().map(|series| series.runs).sum()
    }

    /// Makes all runs, or stops at `stop` or at the first that fails. `progress` hears after each
    /// how many have been made, and the case of the last one.
    pub fn run(
        &self,
        threads: NonZeroUsize,
        stop: &AtomicBool,
        progress: &(impl Fn(u64, &str) + Sync),
    ) -> Finished {
        self.world.remove_leftovers();
        let jobs = self.jobs();
        let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        // A run that fails halts the others, as `stop` does.
        let (halt, failed) = (AtomicBool::new(false), Mutex::new(None));
        let all: Mutex<BTreeMap<(usize, u64), Measured>> = Mutex::default();
        let work = |worker| {
            // What gateways say of lossy flows is not what is asked here.
            let _silence = tracing::subscriber::set_default(NoSubscriber::new());
            let mut player = self.world.player(worker);
            while !halt.load(Ordering::Relaxed) {
                let Some(&job) = jobs.get(begun.fetch_add(1, Ordering::Relaxed)) else { break };
                match self.one(&mut *player, job, &halt) {
                    Ok(Some(measured)) => {
                        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                        all.insert(job, measured);
                        progress(all.len() as u64, &self.series[job.0].case);
                    }
                    Ok(None) => break,
                    Err(error) => {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.get_or_insert(error);
                        halt.store(true, Ordering::Relaxed);
                    }
                }
            }
            ended.fetch_add(1, Ordering::Relaxed);
        };
        thread::scope(|scope| {
            for worker in 0..threads.get() {
                let work = &work;
                scope.spawn(move || work(worker));
            }
            while ended.load(Ordering::Relaxed) < threads.get() {
                if stop.load(Ordering::Relaxed) {
                    halt.store(true, Ordering::Relaxed);
                }
                thread::sleep(LOOK);
            }
        });
        let rows = self.rows(&all.into_inner().unwrap_or_else(PoisonError::into_inner));
        Finished { rows, error: failed.into_inner().unwrap_or_else(PoisonError::into_inner) }
    }

    /// All runs, in the order in which they begin.
    fn jobs(&self) -> Vec<(usize, u64)> {
        let series = || self.series.iter().enumerate();
        match self.world {
            World::Simulated => {
                let of = |long| series().filter(move |(_, series)| series.long == long);
                let runs = of(true).chain(of(false));
                runs.flat_map(|(index, series)| (0..series.runs).map(move |run| (index, run)))
                    .collect()
            }
            // The columns of a case next to each other: they meet the same machine.
            World::Live { .. } => {
                let most = self.series.iter().map(|series| series.runs).max().unwrap_or(0);
                let mut jobs: Vec<(usize, u64)> = Vec::new();
                for columns in &self.columns {
                    for run in 0..most {
                        let of_run = columns.values().map(|index| (*index, run));
                        jobs.extend(of_run.filter(|(index, run)| *run < self.series[*index].runs));
                    }
                }
                let mut known = BTreeSet::new();
                jobs.retain(|job| known.insert(*job));
                jobs
            }
        }
    }

    /// One run; None if it was stopped.
    fn one(
        &self,
        player: &mut dyn Player,
        job: (usize, u64),
        stop: &AtomicBool,
    ) -> Result<Option<Measured>, BenchError> {
        let Series { case, experiment, point, scenario, .. } = &self.series[job.0];
        let mut go_on = |_: Progress| !stop.load(Ordering::Relaxed);
        let failed = |why: &dyn Display| BenchError::Run(format!("{case}, run {}: {why}", job.1));
        match caught(|| player.play(experiment, *point, job.1, stop, &mut go_on)) {
            Ok(Ok(played)) => Ok(Some(measure(scenario, &played))),
            Ok(Err(RunError::Cancelled)) => Ok(None),
            Ok(Err(error)) => Err(failed(&error)),
            Err(panic) => Err(failed(&panic)),
        }
    }

    fn rows(&self, all: &BTreeMap<(usize, u64), Measured>) -> Vec<Row> {
        let cases = self.cases.iter().zip(&self.columns);
        let some = cases.filter(|(_, columns)| !columns.is_empty());
        let rows = some.filter_map(|(case, columns)| {
            let mut runs = BTreeMap::new();
            for (&column, &index) in columns {
                let of = (0..self.series[index].runs).map(|run| all.get(&(index, run)).copied());
                runs.insert(column, of.collect::<Option<Vec<Measured>>>()?);
            }
            Some(Row::of(case, &runs))
        });
        rows.collect()
    }
}
