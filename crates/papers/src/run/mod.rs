//! Running a figure's experiments, and measuring what its claims speak of.

mod drawings;
mod live_results;
mod live_rows;
mod measure;
pub mod packets;
mod part;
mod reduce;
pub mod trace;

pub use drawings::Drawing;
pub use live_results::{Conditions, LiveFlows, LivePointResults, LiveResults, Machine, inputs};
pub(crate) use measure::by_run;
pub use measure::{Number, measure};
pub(crate) use part::cells;
pub use part::{Part, PointRuns};

use crate::catalogue::{CatalogueError, Cells, Expression, Figure, Files};
use crate::samples::mean;
use bentpipe_lab::{Event, LabError, Runner, Store};
use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// How figures are run.
#[derive(Clone)]
pub struct Options<'a> {
    /// Makes the runs.
    pub runner: &'a dyn Runner,
    /// On so many threads.
    pub threads: NonZeroUsize,
    /// Results go into this folder.
    pub folder: PathBuf,
    /// The store of all figures' runs, each of which is made once.
    pub runs: PathBuf,
    /// When this becomes true, the figure is given up; finished runs are kept.
    pub stop: &'a AtomicBool,
}

/// Why a figure cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Its file.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// Running it.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Its results.
    #[error("cannot read or write results: {0}")]
    Io(#[from] io::Error),
    /// A run of it fails.
    #[error("{figure}: {why}")]
    Failed {
        /// Which.
        figure: String,
        /// Why.
        why: String,
    },
    /// It was given up.
    #[error("stopped")]
    Stopped,
}

/// A figure's experiments after they were run.
#[derive(Debug)]
pub struct Ran {
    /// By their names.
    pub parts: BTreeMap<String, Part>,
    /// What real hosts have given of them.
    pub live: LiveResults,
}

impl Ran {
    /// Runs them.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn new(
        figure: &Figure,
        files: &Files,
        options: &Options<'_>,
        watch: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Ran, RunError> {
        let names = figure.scenarios.keys().map(String::as_str);
        Ran::some(figure, files, names, options, watch)
    }

    /// Runs those that are run on real hosts, too.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn of_live(
        figure: &Figure,
        files: &Files,
        options: &Options<'_>,
        watch: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Ran, RunError> {
        Ran::some(figure, files, figure.live().map(|(name, _)| name), options, watch)
    }

    fn some<'n>(
        figure: &Figure,
        files: &Files,
        names: impl Iterator<Item = &'n str>,
        options: &Options<'_>,
        watch: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Ran, RunError> {
        let store = Store::open(&options.runs)?;
        let live = LiveResults::read(files, &figure.id)?;
        let mut parts = BTreeMap::new();
        for name in names {
            let experiment = figure.experiment(files, name)?;
            let part = Part::run(figure, experiment, &store, options, watch)?;
            if options.stop.load(Ordering::Relaxed) {
                return Err(RunError::Stopped);
            }
            parts.insert(name.to_owned(), part);
        }
        Ok(Ran { parts, live })
    }

    /// The points of an experiment that were measured on real hosts, with what they have given.
    ///
    /// # Errors
    /// There is no such experiment.
    pub fn measured(&self, scenario: &str) -> Result<Vec<(&PointRuns, &LivePointResults)>, String> {
        let points = self.part(scenario)?.points.iter();
        Ok(points.filter_map(|point| Some((point, self.live.of(scenario, point)?))).collect())
    }

    /// Whether every point that is to be was measured on real hosts, as often as the figure says.
    pub fn is_measured(&self, figure: &Figure) -> bool {
        figure.live().all(|(name, live)| {
            let points = self.parts.get(name).into_iter().flat_map(|part| &part.points);
            points.filter(|point| live.has(&point.values)).all(|point| {
                self.live.of(name, point).is_some_and(|kept| kept.runs() >= live.runs as usize)
            })
        })
    }

    /// The means of tables' cells that are no claim's, row by row.
    ///
    /// # Errors
    /// A reading that is missing, in a sentence.
    pub fn tables(&self, figure: &Figure) -> Result<BTreeMap<String, Vec<Vec<f64>>>, String> {
        let mut tables = BTreeMap::new();
        for (name, table) in &figure.tables {
            let Cells::Read(rows) = &table.cells else { continue };
            let wrong = |why: String| format!("table.{name}: {why}");
            let cell = |(expression, _): &(Expression, String)| {
                Ok(mean(&reduce::reduce(self, expression).map_err(wrong)?))
            };
            let row = |cells: &Vec<(Expression, String)>| cells.iter().map(cell).collect();
            let rows = rows.iter().map(row).collect::<Result<Vec<Vec<f64>>, String>>()?;
            tables.insert(name.clone(), rows);
        }
        Ok(tables)
    }

    /// The most runs that a point has.
    pub fn runs(&self) -> u32 {
        let points = self.parts.values().flat_map(|part| &part.points);
        points.map(|point| u32::try_from(point.runs.len()).unwrap_or(u32::MAX)).max().unwrap_or(0)
    }

    /// The files and folders in the store that have its runs.
    pub fn stored(&self) -> impl Iterator<Item = PathBuf> {
        self.parts.values().flat_map(Part::stored)
    }

    /// The experiment of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn part(&self, name: &str) -> Result<&Part, String> {
        self.parts.get(name).ok_or_else(|| format!("there is no scenario {name}"))
    }

    /// The folder with the captures of one of its runs. If none was recorded, the first point that
    /// is drawn is run once more, for half a minute.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn recorded(
        &self,
        figure: &Figure,
        files: &Files,
        options: &Options<'_>,
    ) -> Result<Option<PathBuf>, RunError> {
        let captures = |part: &Part| {
            let folder = part.points.first().map(|point| part.packets(point, 0));
            folder.filter(|folder| folder.is_dir())
        };
        if let Some(folder) = self.parts.values().find_map(captures) {
            return Ok(Some(folder));
        }
        // One that records what links without hosts do has no packets to be captured.
        let drawn = self.parts.iter().filter(|(_, part)| !part.experiment.figures.is_empty());
        let mut experiments = drawn.filter_map(|(name, _)| figure.recorded(files, name).ok());
        let Some(experiment) = experiments.next() else { return Ok(None) };
        let store = Store::open(&options.runs)?;
        let folder = Part::first_run(&experiment, &store, options)?;
        Ok(Some(folder).filter(|folder| folder.is_dir()))
    }
}
