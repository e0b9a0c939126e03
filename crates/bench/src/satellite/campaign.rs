//! All runs of the cases, on many threads. Columns of several cases that are the same run are run
//! once.

use super::case::{Case, Column};
use super::measure::{Measured, measure};
use super::row::Row;
use crate::BenchError;
use bentpipe_lab::caught;
use bentpipe_results::RunError;
use bentpipe_scenario::Scenario;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use tracing::subscriber::NoSubscriber;

/// Runs that several columns may share.
struct Series {
    /// A case that it belongs to, for messages.
    case: String,
    scenario: Scenario,
    runs: u64,
    /// A run takes long: it is begun early.
    long: bool,
}

/// What is to be run.
pub struct Campaign<'a> {
    cases: &'a [Case],
    series: Vec<Series>,
    /// By case: the series of each column.
    columns: Vec<BTreeMap<Column, usize>>,
}

impl Campaign<'_> {
    /// Of `cases`, with so many `seeds`.
    pub fn new(cases: &[Case], seeds: u64) -> Result<Campaign<'_>, BenchError> {
        let (mut series, mut known): (Vec<Series>, _) = (Vec::new(), BTreeMap::new());
        let mut columns = Vec::new();
        for case in cases {
            let mut of_case = BTreeMap::new();
            let runs = case.seeds.of(seeds);
            for (column, setup) in &case.columns {
                let point = setup.point().map_err(|error| BenchError::Run(error.to_string()))?;
                let index = *known.entry((point.canonical, runs)).or_insert_with(|| {
                    let (case, scenario) = (case.name.clone(), point.scenario);
                    series.push(Series { case, scenario, runs, long: runs < seeds });
                    series.len() - 1
                });
                of_case.insert(*column, index);
            }
            columns.push(of_case);
        }
        Ok(Campaign { cases, series, columns })
    }

    /// How many runs there are.
    pub fn runs(&self) -> u64 {
        self.series.iter().map(|series| series.runs).sum()
    }

    /// Makes all runs, or stops at `stop`; the rows of the cases whose runs were all made.
    /// `progress` hears after each how many have been made, and the case of the last one.
    pub fn run(
        &self,
        threads: NonZeroUsize,
        stop: &AtomicBool,
        progress: &(impl Fn(u64, &str) + Sync),
    ) -> Result<Vec<Row>, BenchError> {
        let mut jobs: Vec<(usize, u64)> = Vec::new();
        for long in [true, false] {
            let some = self.series.iter().enumerate().filter(|(_, series)| series.long == long);
            jobs.extend(some.flat_map(|(index, series)| (0..series.runs).map(move |r| (index, r))));
        }
        let (begun, failed) = (AtomicUsize::new(0), Mutex::new(None));
        let all: Mutex<BTreeMap<(usize, u64), Measured>> = Mutex::default();
        thread::scope(|scope| {
            for _ in 0..threads.get() {
                scope.spawn(|| {
                    // What gateways say of lossy flows is not what is asked here.
                    let _silence = tracing::subscriber::set_default(NoSubscriber::new());
                    while !stop.load(Ordering::Relaxed) {
                        let Some(&job) = jobs.get(begun.fetch_add(1, Ordering::Relaxed)) else {
                            return;
                        };
                        match self.one(job, stop) {
                            Ok(Some(measured)) => {
                                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                                all.insert(job, measured);
                                progress(all.len() as u64, &self.series[job.0].case);
                            }
                            Ok(None) => return,
                            Err(error) => {
                                *failed.lock().unwrap_or_else(PoisonError::into_inner) =
                                    Some(error);
                                begun.store(jobs.len(), Ordering::Relaxed);
                            }
                        }
                    }
                });
            }
        });
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        Ok(self.rows(&all.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    /// One run; None if it was stopped.
    fn one(&self, job: (usize, u64), stop: &AtomicBool) -> Result<Option<Measured>, BenchError> {
        let Series { case, scenario, .. } = &self.series[job.0];
        let go_on = |_| !stop.load(Ordering::Relaxed);
        match caught(|| measure(scenario, job.1, go_on)) {
            Ok(Ok(measured)) => Ok(Some(measured)),
            Ok(Err(RunError::Cancelled)) => Ok(None),
            Ok(Err(error)) => Err(BenchError::Run(format!("{case}, run {}: {error}", job.1))),
            Err(panic) => Err(BenchError::Run(format!("{case}, run {}: {panic}", job.1))),
        }
    }

    fn rows(&self, all: &BTreeMap<(usize, u64), Measured>) -> Vec<Row> {
        let cases = self.cases.iter().zip(&self.columns);
        let rows = cases.filter_map(|(case, columns)| {
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
