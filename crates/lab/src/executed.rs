//! What comes of running an experiment: events meanwhile, ends and failures.

use crate::plan::{Job, PointEnd};
use crate::store::Damaged;
use bentpipe_scenario::Point;
use std::io;

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

impl Failure {
    /// Of run `run` of `point`.
    pub fn of(point: &Point, run: u32, why: String) -> Failure {
        let seed = point.scenario.seeds(u64::from(run)).run();
        Failure { job: Job { point: point.index, run }, seed, label: point.label.clone(), why }
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Default)]
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
    /// Results would lie among files of others.
    #[error(
        "{0} is neither empty nor a folder of results: name another, which is made if it is not there"
    )]
    Occupied(String),
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
