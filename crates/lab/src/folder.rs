//! The folder of an experiment's results, which explains itself: tables, the scenario, and what
//! each column means.

use crate::cell::{Cell, CellKind, Heading, Row};
use crate::executed::{Executed, Failure, LabError};
use crate::occupied::is_occupied;
use crate::packet_files;
use crate::plan::PointEnd;
use crate::point_figures::PointFigures;
use crate::readme::{self, Made, Part};
use crate::series_file;
use crate::store::{Key, RunRecord, Store};
use crate::summary::{PointSummary, SummaryTable};
use crate::swept::Swept;
use crate::table_file::{TableFile, write_error, write_text};
use crate::tables::Table;
use crate::written;
use bentpipe_scenario::Experiment;
use serde_json::{Value, json};
use std::path::{Component, Path, PathBuf};

/// Where captures are, in a folder for each run.
const PACKETS: &str = "packets";

/// A folder of results.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
    made: Made,
    figures: bool,
}

/// What an experiment has come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The scenario's title.
    pub title: String,
    /// Its points, in order.
    pub points: Vec<PointSummary>,
}

impl Results {
    /// As JSON; `docs/metrics.md` has the schema.
    pub fn json(&self) -> Value {
        json!({
            "schema": 2,
            "version": env!("CARGO_PKG_VERSION"),
            "title": self.title,
            "points": self.points.iter().map(PointSummary::json).collect::<Vec<Value>>(),
        })
    }
}

impl Folder {
    /// The folder at `path`, and the store in it. Both are made if they are not there.
    ///
    /// # Errors
    /// They cannot be made, or other files are there ([`LabError::Occupied`]).
    pub fn open(path: &Path) -> Result<(Folder, Store), LabError> {
        if is_occupied(path) {
            return Err(LabError::Occupied(path.display().to_string()));
        }
        let runs = path.join("runs");
        let store = Store::open(&runs).map_err(|source| write_error(&runs, source))?;
        Ok((Folder { path: path.to_owned(), made: Made::Simulated, figures: true }, store))
    }

    /// The folder at `path`, of runs whose store is elsewhere.
    pub fn of_other_store(path: &Path) -> Folder {
        Folder { path: path.to_owned(), made: Made::Simulated, figures: true }
    }

    /// The same for what was measured on real stacks: its README says so.
    #[must_use]
    pub fn of_measurements(self) -> Folder {
        Folder { made: Made::Measured, figures: false, ..self }
    }

    /// The same for results of which no figures are drawn: its README mentions none.
    #[must_use]
    pub fn without_figures(self) -> Folder {
        Folder { figures: false, ..self }
    }

    /// What the runs that count say, without writing anything.
    ///
    /// # Errors
    /// [`LabError::Gone`].
    pub fn summarise(
        experiment: &Experiment,
        store: &Store,
        executed: &Executed,
    ) -> Result<Results, LabError> {
        let mut points = Vec::new();
        for &end in &executed.ends {
            let canonical = experiment.point(end.point).canonical;
            let mut figures = Gathered::new(end, store);
            for run in counted(end, executed) {
                figures.add(&load(store, Key::of(&canonical, run), end, run)?)?;
            }
            points.push(figures.summary(experiment)?);
        }
        Ok(Results { title: title(experiment), points })
    }

    /// Says that all is there already that [`Folder::write`] would write. No run has been made
    /// since, and nobody has touched it.
    pub fn is_current(&self, experiment: &Experiment, executed: &Executed) -> bool {
        executed.made == 0 && written::is_of(&self.path, &self.digest(experiment, executed))
    }

    /// The runs' results. All is written, as by [`Folder::write`], unless it is there already.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn results(
        &self,
        experiment: &Experiment,
        store: &Store,
        executed: &Executed,
    ) -> Result<Results, LabError> {
        match self.is_current(experiment, executed) {
            true => Folder::summarise(experiment, store, executed),
            false => self.write(experiment, store, executed),
        }
    }

    fn digest(&self, experiment: &Experiment, executed: &Executed) -> String {
        written::digest(experiment, executed, &format!("{:?} {}", self.made, self.figures))
    }

    /// Writes all tables, the scenario and what explains them.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn write(
        &self,
        experiment: &Experiment,
        store: &Store,
        executed: &Executed,
    ) -> Result<Results, LabError> {
        written::remove(&self.path);
        let swept = Swept::of(experiment);
        let mut of_point =
            vec![Heading::new("point", CellKind::Count, "", "point of the sweep, from 0")];
        of_point.extend(swept.headings());
        let mut of_run = of_point.clone();
        of_run.push(Heading::new("run", CellKind::Count, "", "run of the point, from 0"));
        let parts = Table::ALL.map(|table| Part::of(table, &of_run));
        let summaries = SummaryTable::ALL.map(|table| Part {
            name: table.name(),
            about: table.about(),
            headings: [&of_point[..], &table.headings()].concat(),
        });
        let create = |part: &Part| TableFile::create(&self.path, part.name, &part.headings);
        let mut files = parts.iter().map(create).collect::<Result<Vec<_>, _>>()?;
        let mut summary_files = summaries.iter().map(create).collect::<Result<Vec<_>, _>>()?;
        let (mut points, mut captured) = (Vec::new(), Vec::new());
        let packets = self.path.join(PACKETS);
        let captures_fail = |source| write_error(&packets, source);
        packet_files::clear(&packets).map_err(captures_fail)?;
        crate::drawing::clear_graphs(&self.path);
        for &end in &executed.ends {
            let point = experiment.point(end.point);
            let mut begin = vec![Cell::Count(end.point as u64)];
            begin.extend(swept.cells(&point.values));
            let mut figures = Gathered::new(end, store);
            for number in counted(end, executed) {
                let key = self.key(&point.canonical, number);
                let run = load(store, key, end, number)?;
                figures.add(&run)?;
                if run.packets.is_some() {
                    let to = packets.join(packet_files::folder_name(end.point, number));
                    let linked = packet_files::link(&store.packets(key), &to);
                    let folder = packet_files::folder_name(end.point, number);
                    let name = |file| format!("{PACKETS}/{folder}/{file}");
                    captured.extend(linked.map_err(captures_fail)?.into_iter().map(name));
                }
                let begin: Row = [&begin[..], &[Cell::Count(u64::from(number))]].concat();
                for (file, rows) in files.iter_mut().zip(run.tables) {
                    for row in rows {
                        file.push([&begin[..], &row].concat())?;
                    }
                }
                if run.series.is_some() {
                    let gone = || LabError::Gone { point: end.point, run: number };
                    let path = store.series(key);
                    for row in series_file::read(&path).map_err(|_| gone())? {
                        let row = row.map_err(|_| gone())?;
                        files[Table::Series as usize].push([&begin[..], &row].concat())?;
                    }
                }
            }
            let summary = figures.summary(experiment)?;
            for (file, table) in summary_files.iter_mut().zip(SummaryTable::ALL) {
                for row in table.rows(&summary) {
                    file.push([&begin[..], &row].concat())?;
                }
            }
            points.push(summary);
        }
        let (mut written, mut names) = (Vec::new(), captured);
        let all = summary_files.into_iter().zip(&summaries);
        for (file, part) in all.chain(files.into_iter().zip(&parts)) {
            if file.finish()? > 0 {
                names.extend(["csv", "parquet"].map(|end| format!("{}.{end}", part.name)));
                written.push(part);
            }
        }
        let results = Results { title: title(experiment), points };
        self.text("summary.json", &format!("{:#}\n", results.json()))?;
        self.text("scenario.toml", experiment.source())?;
        let mut left_out = Vec::new();
        for (name, content) in experiment.files() {
            if belongs(name) {
                self.text(name, content)?;
                names.push(name.clone());
            } else {
                left_out.push(name.clone());
            }
        }
        let captures = packets.is_dir();
        let contents = readme::Contents {
            parts: &written,
            captures,
            figures: self.figures,
            left_out: &left_out,
        };
        self.text("README.md", &readme::text(experiment, self.made, &contents))?;
        names.extend(["summary.json", "scenario.toml", "README.md"].map(str::to_owned));
        written::put(&self.path, self.digest(experiment, executed), names)?;
        Ok(results)
    }

    fn key(&self, canonical: &str, run: u32) -> Key {
        match self.made {
            Made::Simulated => Key::of(canonical, run),
            Made::Measured => Key::of_measurement(canonical, run),
        }
    }

    fn text(&self, name: &str, text: &str) -> Result<(), LabError> {
        write_text(&self.path.join(name), text)
    }
}

fn title(experiment: &Experiment) -> String {
    experiment.point(0).scenario.title
}

/// The runs of a point that count and did not fail, by their numbers.
fn counted(end: PointEnd, executed: &Executed) -> impl Iterator<Item = u32> + '_ {
    let numbers = match executed.run {
        Some(run) => run..run + end.runs.min(1),
        None => 0..end.runs,
    };
    let failed = move |run: u32| {
        let of = |failure: &Failure| (failure.job.point, failure.job.run);
        executed.failures.binary_search_by_key(&(end.point, run), of).is_ok()
    };
    numbers.filter(move |run| !failed(*run))
}

fn load(store: &Store, key: Key, end: PointEnd, run: u32) -> Result<RunRecord, LabError> {
    match store.load(key) {
        Ok(Some(record)) => Ok(record),
        _ => Err(LabError::Gone { point: end.point, run }),
    }
}

/// A point and what its runs say.
struct Gathered<'a> {
    end: PointEnd,
    figures: PointFigures,
    store: &'a Store,
}

impl<'a> Gathered<'a> {
    fn new(end: PointEnd, store: &'a Store) -> Gathered<'a> {
        Gathered { end, figures: PointFigures::new(store.folder()), store }
    }

    fn add(&mut self, run: &RunRecord) -> Result<(), LabError> {
        self.figures.add(run).map_err(|source| write_error(self.store.folder(), source))
    }

    fn summary(self, experiment: &Experiment) -> Result<PointSummary, LabError> {
        let Gathered { end, figures, store } = self;
        let means = figures.means().map_err(|source| write_error(store.folder(), source))?;
        let (label, values) = (experiment.label(end.point), experiment.values(end.point));
        Ok(PointSummary::new(end, label, values, means))
    }
}

/// Whether a file that a scenario names can lie in the folder under its name.
fn belongs(name: &str) -> bool {
    let path = Path::new(name);
    let ours = |stem: &str| {
        stem == "scenario"
            || SummaryTable::ALL.iter().any(|table| table.name() == stem)
            || Table::ALL.iter().any(|t| t.name() == stem)
    };
    let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let free =
        ["runs", PACKETS, "figures", "graphs"].iter().all(|folder| !path.starts_with(folder));
    inside && free && name != "README.md" && name != "index.html" && !ours(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_would_lie_elsewhere_or_over_results_are_left_out() {
        for name in ["rain.csv", "traces/rain.csv"] {
            assert!(belongs(name), "{name}");
        }
        for name in [
            "/etc/passwd",
            "../rain.csv",
            "a/../../b",
            "results.csv",
            "runs/x",
            "packets/x",
            "README.md",
        ] {
            assert!(!belongs(name), "{name}");
        }
    }
}
