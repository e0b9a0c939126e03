//! One experiment of a figure, with what its runs have given that claims are read from.

use super::inputs;
use super::{Options, RunError};
use crate::catalogue::{Figure, same};
use bentpipe_lab::tables::Table;
use bentpipe_lab::{Event, Executed, Folder, Key, Row, RunRecord, Store, execute};
use bentpipe_scenario::Experiment;
use std::io;
use std::path::{Path, PathBuf};

/// The tables that claims are read from. Not among them are transfers: a thousand replies of the
/// Web are a thousand rows.
const READ: &[Table] = &[Table::Results, Table::Runs, Table::Links, Table::Gateways, Table::Groups];

/// An experiment that was run.
#[derive(Debug)]
pub struct Part {
    /// What was run.
    pub experiment: Experiment,
    /// Each point of its sweep.
    pub points: Vec<PointRuns>,
    store: Store,
    executed: Executed,
}

/// The runs of a point.
#[derive(Debug)]
pub struct PointRuns {
    /// The swept fields and their values.
    pub values: Vec<(String, String)>,
    /// What each run has given, without transfers and series.
    pub runs: Vec<RunRecord>,
    canonical: String,
}

impl Part {
    pub(super) fn run(
        figure: &Figure,
        experiment: Experiment,
        store: &Store,
        options: &Options<'_>,
        watch: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Part, RunError> {
        let failed = |why: String| RunError::Failed { figure: figure.id.clone(), why };
        let lab = bentpipe_lab::Options {
            runner: options.runner,
            threads: options.threads,
            point: None,
            shard: None,
            run: None,
            stop: options.stop,
        };
        let executed = execute(&experiment, store, &lab, watch)?;
        if executed.stopped {
            return Err(RunError::Stopped);
        }
        if let Some(failure) = executed.failures.first() {
            let label = &failure.label;
            return Err(failed(format!(
                "run {} ({label}) failed: {}",
                failure.job.run, failure.why
            )));
        }
        let mut points = Vec::new();
        for end in &executed.ends {
            let point = experiment.point(end.point);
            let load = |run| match store.load(Key::of(&point.canonical, run)) {
                Ok(Some(record)) => Ok(record.only(READ)),
                Ok(None) => Err(failed(format!("run {run} of point {} is gone", end.point))),
                Err(damaged) => Err(failed(damaged.to_string())),
            };
            let runs = (0..end.runs).map(load).collect::<Result<_, _>>()?;
            points.push(PointRuns { values: point.values, runs, canonical: point.canonical });
        }
        Ok(Part { experiment, points, store: store.clone(), executed })
    }

    /// Makes the first run of the first point; the folder with its captures.
    pub(super) fn first_run(
        experiment: &Experiment,
        store: &Store,
        options: &Options<'_>,
    ) -> Result<PathBuf, RunError> {
        let Options { runner, threads, stop, .. } = *options;
        let lab = bentpipe_lab::Options {
            runner,
            threads,
            point: Some(0),
            run: Some(0),
            shard: None,
            stop,
        };
        let captures = store.packets(Key::of(&experiment.point(0).canonical, 0));
        if !captures.is_dir() {
            execute(experiment, store, &lab, &|_| {})?;
        }
        Ok(captures)
    }

    /// Writes its tables.
    pub(super) fn write(&self, folder: &Path) -> Result<(), RunError> {
        std::fs::create_dir_all(folder)?;
        Folder::of_other_store(folder).write(&self.experiment, &self.store, &self.executed)?;
        Ok(())
    }

    /// The time series of a run of a point.
    ///
    /// # Errors
    /// There are none, or they cannot be read.
    pub fn series(&self, point: &PointRuns, run: u32) -> io::Result<Vec<Row>> {
        self.store.read_series(Key::of(&point.canonical, run))
    }

    /// The folder with the captures of a run of a point.
    pub fn packets(&self, point: &PointRuns, run: u32) -> PathBuf {
        self.store.packets(Key::of(&point.canonical, run))
    }

    /// The files and folders in the store that have its runs.
    pub(super) fn stored(&self) -> impl Iterator<Item = PathBuf> {
        let of_point = |point: &'_ PointRuns| {
            let runs = 0..u32::try_from(point.runs.len()).unwrap_or(u32::MAX);
            runs.map(|run| Key::of(&point.canonical, run)).collect::<Vec<_>>()
        };
        let keys = self.points.iter().flat_map(of_point);
        let files = keys.flat_map(|key| {
            let file = |kind: &str| self.store.folder().join(key.name() + kind);
            [".run", ".series", ".packets"].map(file)
        });
        files.filter(|file| file.exists())
    }

    /// The point of this number in the sweep.
    pub fn numbered(&self, point: usize) -> Option<&PointRuns> {
        let at = self.executed.ends.iter().position(|end| end.point == point)?;
        self.points.get(at)
    }

    /// The only point at which these fields have these values.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn point(&self, at: &[(&str, &str)]) -> Result<&PointRuns, String> {
        let fits = |point: &&PointRuns| {
            at.iter()
                .all(|(path, value)| point.values.iter().any(|(p, v)| p == path && same(v, value)))
        };
        let mut fitting = self.points.iter().filter(fits);
        let described = || {
            let parts: Vec<String> =
                at.iter().map(|(path, value)| format!("{path} = {value}")).collect();
            if parts.is_empty() { "no condition".to_owned() } else { parts.join(", ") }
        };
        let found =
            fitting.next().ok_or_else(|| format!("no point of the sweep has {}", described()))?;
        match fitting.count() {
            0 => Ok(found),
            more => Err(format!("{} points of the sweep have {}", more + 1, described())),
        }
    }
}

impl PointRuns {
    /// A swept field's value.
    pub fn value(&self, path: &str) -> Option<&str> {
        self.values.iter().find(|(p, _)| p == path).map(|(_, value)| value.as_str())
    }

    /// The mean completion time of flow `main` in the first run, in seconds.
    ///
    /// # Errors
    /// As [`column`](Self::column).
    pub fn completion(&self) -> Result<f64, String> {
        Ok(self.column(Table::Results, &[("flow", "main")], "completion_mean_s")?[0])
    }

    /// The numbers in `column` of `table`, one for each run, of the row where these columns have
    /// these texts.
    ///
    /// # Errors
    /// There is no such column or row, or its cell is empty.
    pub fn column(
        &self,
        table: Table,
        rows: &[(&str, &str)],
        column: &str,
    ) -> Result<Vec<f64>, String> {
        cells(&self.runs, table, rows, column)
    }

    /// What the rows of `table` have in `column`, added up; the runs' mean.
    ///
    /// # Errors
    /// There is no such column, or nothing was run.
    pub fn mean_sum(&self, table: Table, column: &str) -> Result<f64, String> {
        let at = index(table, column)?;
        let rows = self.runs.iter().flat_map(|run| run.rows(table));
        let sum: f64 = rows.filter_map(|row| row[at].number()).sum();
        match self.runs.len() {
            0 => Err("nothing was run".to_owned()),
            runs => Ok(sum / runs as f64),
        }
    }

    /// A digest of all that a run of it comes from, its number apart.
    pub fn inputs(&self) -> String {
        inputs(&self.canonical)
    }
}

/// Which column of `table` this is.
fn index(table: Table, column: &str) -> Result<usize, String> {
    let found = table.headings().iter().position(|heading| heading.name == column);
    found.ok_or_else(|| format!("table {} has no column {column}", table.name()))
}

/// As [`PointRuns::column`], of any runs.
pub(crate) fn cells(
    runs: &[RunRecord],
    table: Table,
    rows: &[(&str, &str)],
    column: &str,
) -> Result<Vec<f64>, String> {
    let wanted = index(table, column)?;
    let conditions = rows
        .iter()
        .map(|&(name, text)| Ok((index(table, name)?, text)))
        .collect::<Result<Vec<_>, String>>()?;
    let of_run = |run: &RunRecord| {
        let fits = |row: &&Row| conditions.iter().all(|(at, text)| row[*at].text() == *text);
        let mut fitting = run.rows(table).iter().filter(fits);
        let described = || {
            let parts: Vec<String> =
                rows.iter().map(|(name, text)| format!("{name} {text}")).collect();
            format!("table {} with {}", table.name(), parts.join(", "))
        };
        let row = fitting.next().ok_or_else(|| format!("no row of {}", described()))?;
        if fitting.next().is_some() {
            return Err(format!("several rows of {}", described()));
        }
        row[wanted].number().ok_or_else(|| format!("{column} is empty in {}", described()))
    };
    runs.iter().map(of_run).collect()
}
