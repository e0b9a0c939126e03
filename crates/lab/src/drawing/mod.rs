//! Figures of a folder of results.
//!
//! They are drawn from the folder's own tables, so that they can be drawn anew at any time, of
//! whatever made the tables. [`check`] says before anything is run whether what figures name is
//! there; [`draw`] writes them.

mod beside;
mod build;
mod collect;
mod columns;
mod data;
mod means;
mod overlay;
mod page;
mod plan;
mod sensible;
mod sorter;
mod table;

pub(crate) use beside::{Samples, recorded};
pub use columns::QUANTITIES;

use crate::table_file::{write_bytes, write_text};
use bentpipe_config::SourcePosition;
use bentpipe_plot::chart::Figure;
use bentpipe_plot::{png, svg};
use bentpipe_scenario::Experiment;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where figures are.
const FIGURES: &str = "figures";

/// The ends of a figure's files: SVG, that for narrow screens, PNG, data.
const ENDINGS: [&str; 4] = [".svg", "-narrow.svg", ".png", ".csv"];

/// On a page, in px.
const WIDE: f64 = 720.0;

/// On a phone, in px.
const NARROW: f64 = 360.0;

/// Pixels of pictures for each px.
const SCALE: f64 = 2.5;

/// Why a figure cannot be drawn. The results are there all the same.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// It names something that there is not.
    #[error("{position}: [figure.{figure}] {why}")]
    Named {
        /// Where.
        position: Box<SourcePosition>,
        /// The figure.
        figure: String,
        /// What is wrong.
        why: String,
    },
    /// It would throw together points that differ.
    #[error(
        "{position}: [figure.{figure}] is left out: it does not tell apart the values of the swept `{swept}` (name it in x, curves, panels or where)"
    )]
    Mixed {
        /// Where.
        position: Box<SourcePosition>,
        /// The figure.
        figure: String,
        /// What else is swept.
        swept: String,
    },
    /// What it names has no values.
    #[error("[figure.{figure}] {why}")]
    Data {
        /// The figure.
        figure: String,
        /// What there is not.
        why: String,
    },
    /// A table of results cannot be read.
    #[error("cannot read {path}: {why}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// A picture cannot be made.
    #[error("[figure.{figure}] {source}")]
    Picture {
        /// The figure.
        figure: String,
        /// Why.
        source: png::PngError,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] crate::LabError),
}

/// A figure that was drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnFigure {
    /// Its name.
    pub name: String,
    /// Over it.
    pub title: String,
    /// Below it.
    pub caption: String,
    /// Its files: SVG, the same for narrow screens, PNG, and its data as CSV.
    pub files: Vec<PathBuf>,
}

/// What became of an experiment's figures.
#[derive(Debug)]
pub struct Drawn {
    /// Those that were drawn, in their order.
    pub figures: Vec<DrawnFigure>,
    /// The page with all of them; `None` if it cannot be written.
    pub page: Option<PathBuf>,
    /// What went wrong.
    pub failures: Vec<DrawError>,
}

/// The figures that are left out. A field that was swept later is no error of theirs.
///
/// # Errors
/// [`DrawError`] for the first figure that names what there is not.
pub fn check(experiment: &Experiment) -> Result<Vec<DrawError>, DrawError> {
    let plans = experiment.figures.iter().map(|figure| plan::Plan::new(experiment, figure));
    plans
        .filter_map(|plan| match plan {
            Ok(_) => None,
            Err(mixed @ DrawError::Mixed { .. }) => Some(Ok(mixed)),
            Err(error) => Some(Err(error)),
        })
        .collect()
}

/// Numbers of real hosts, one for each run.
///
/// They are of a point, a flow and a column of `results`; none where nothing was measured.
pub type LiveSamples<'a> = dyn Fn(usize, &str, &str) -> Vec<f64> + 'a;

/// Draws the figures of `experiment` from the tables in `folder`, and writes its page. What fails
/// leaves the rest as it is.
pub fn draw(folder: &Path, experiment: &Experiment) -> Drawn {
    let nothing = Additions { live: &|_, _, _| Vec::new(), joined: BTreeMap::new() };
    draw_with(folder, experiment, &nothing)
}

/// Additions to what figures show of their own experiment's tables.
pub struct Additions<'a> {
    /// Means of it are marks over the data.
    pub live: &'a LiveSamples<'a>,
    /// By a figure's name, the experiments of which it has curves instead of its own.
    pub joined: BTreeMap<&'a str, Vec<JoinedPart<'a>>>,
}

/// An experiment in the figure of another one, with the same columns.
#[derive(Clone, Copy)]
pub struct JoinedPart<'a> {
    /// Its tables.
    pub folder: &'a Path,
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its curves' name.
    pub curve: &'a str,
    /// Numbers of real hosts.
    pub live: &'a LiveSamples<'a>,
}

/// As [`draw`], with `additions`.
pub fn draw_with(folder: &Path, experiment: &Experiment, additions: &Additions<'_>) -> Drawn {
    let mut drawn = Drawn { figures: Vec::new(), page: None, failures: Vec::new() };
    if let Err(error) = clear(&folder.join(FIGURES)) {
        drawn.failures.push(error);
    }
    let asked = !experiment.figures.is_empty();
    let figures =
        if asked { experiment.figures.clone() } else { sensible::figures(folder, experiment) };
    for figure in &figures {
        match one(folder, experiment, figure, additions) {
            Ok(figure) => drawn.figures.push(figure),
            // Nobody has asked for what has no data.
            Err(DrawError::Data { .. }) if !asked => {}
            // Said by `check`.
            Err(DrawError::Mixed { .. }) => {}
            Err(error) => drawn.failures.push(error),
        }
    }
    match page::write(folder, experiment, &drawn.figures) {
        Ok(path) => drawn.page = Some(path),
        Err(error) => drawn.failures.push(error.into()),
    }
    drawn
}

fn one(
    folder: &Path,
    experiment: &Experiment,
    figure: &bentpipe_scenario::Figure,
    additions: &Additions<'_>,
) -> Result<DrawnFigure, DrawError> {
    let plan = plan::Plan::new(experiment, figure)?;
    let data = match additions.joined.get(figure.name.as_str()) {
        Some(parts) => collect::together(figure, parts)?,
        None => collect::collect(folder, experiment, &plan, additions.live)?,
    };
    let picture = build::figure(experiment, &plan, &data)?;
    let files = write(folder, &figure.name, &picture, &data.csv())?;
    let Figure { title, caption, .. } = picture;
    Ok(DrawnFigure { name: figure.name.clone(), title, caption, files })
}

fn write(folder: &Path, name: &str, figure: &Figure, csv: &str) -> Result<Vec<PathBuf>, DrawError> {
    let path = |ending: &str| folder.join(FIGURES).join(format!("{name}{ending}"));
    let (wide, narrow) = (figure.scene(WIDE), figure.scene(NARROW));
    let picture = png::write(&wide, SCALE)
        .map_err(|source| DrawError::Picture { figure: name.to_owned(), source })?;
    let files = ENDINGS.map(path);
    write_text(&files[0], &svg::write(&wide))?;
    write_text(&files[1], &svg::write(&narrow))?;
    write_bytes(&files[2], &picture)?;
    write_text(&files[3], csv)?;
    Ok(files.to_vec())
}

/// Removes the graphs of captures that were drawn before: they are not those of other runs. What
/// cannot be removed stays.
pub(crate) fn clear_graphs(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder.join("graphs")) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("point-") && name.ends_with(".html") {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// Removes what was drawn before: a figure that has another name now is not to stay beside it.
/// Files of others stay: each figure of ours has a narrow picture.
fn clear(folder: &Path) -> Result<(), DrawError> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for name in entries.flatten().map(|entry| entry.file_name()) {
        let name = name.to_string_lossy();
        let Some(figure) = name.strip_suffix(ENDINGS[1]) else { continue };
        for path in ENDINGS.map(|ending| folder.join(format!("{figure}{ending}"))) {
            match std::fs::remove_file(&path) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    return Err(crate::table_file::write_error(&path, source).into());
                }
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_drawn_is_removed_and_files_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let ours = ENDINGS.map(|ending| format!("rate{ending}"));
        let others = ["photo.png", "notes.csv", "logo.svg"].map(str::to_owned);
        for name in ours.iter().chain(&others) {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        clear(folder.path()).unwrap();
        let is_there = |name: &String| folder.path().join(name).exists();
        assert!(!ours.iter().any(is_there) && others.iter().all(is_there));
    }
}
