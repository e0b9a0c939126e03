//! The figures of results that are there, drawn anew from their tables.

use super::warn;
use bentpipe_config::DocumentError;
use bentpipe_lab::captures::{self, CaptureError};
use bentpipe_lab::drawing::{self, DrawError, Drawn};
use bentpipe_lab::{Source, SourceError};
use bentpipe_scenario::Experiment;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why the figures of results are not drawn.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// There are no results in the folder.
    #[error("{0} is no folder of results: it has no scenario.toml")]
    NoResults(String),
    /// There is no such scenario.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The scenario.
    #[error(transparent)]
    Scenario(#[from] DocumentError),
    /// A figure names what there is not.
    #[error(transparent)]
    Figure(#[from] DrawError),
    /// The graph of a run's packets.
    #[error(transparent)]
    Graph(#[from] Box<CaptureError>),
    /// Standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Draws the figures of `folder` that its own scenario.toml has, or another file with the same
/// sweep. Nothing is run.
pub(super) fn run(
    folder: &Path,
    scenario: Option<&Path>,
    as_json: bool,
) -> Result<ExitCode, Error> {
    let own = folder.join("scenario.toml");
    if !own.is_file() {
        return Err(Error::NoResults(folder.display().to_string()));
    }
    let source = Source::find(scenario.unwrap_or(&own))?;
    let experiment = source.experiment(&[])?;
    check(&experiment)?;
    // The page of results links them.
    let graphs = captures::write_graphs(folder, &warn)?;
    let drawn = drawing::draw(folder, &experiment);
    let mut out = io::stdout().lock();
    if as_json {
        writeln!(out, "{:#}", json(&drawn, &graphs))?;
    } else {
        for figure in &drawn.figures {
            writeln!(out, "{}: {}", figure.name, figure.title)?;
        }
        for graph in &graphs {
            writeln!(out, "{}", graph.display())?;
        }
        writeln!(out, "{}", closing(&drawn, folder))?;
    }
    Ok(complain(&drawn))
}

/// Refuses figures that name what there is not, and says which are left out.
pub(crate) fn check(experiment: &Experiment) -> Result<(), DrawError> {
    for left_out in drawing::check(experiment)? {
        warn(&left_out.to_string());
    }
    Ok(())
}

/// Says what could not be drawn.
pub(crate) fn complain(drawn: &Drawn) -> ExitCode {
    for failure in &drawn.failures {
        eprintln!("bentpipe: {failure}");
    }
    if drawn.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// `2 figures in results/mine/figures; all of it on results/mine/index.html`.
fn closing(drawn: &Drawn, folder: &Path) -> String {
    let count = drawn.figures.len();
    let s = if count == 1 { "" } else { "s" };
    let page = drawn.page.as_ref().map(|page| format!("; the page is {}", page.display()));
    format!("{count} figure{s} in {}{}", folder.join("figures").display(), page.unwrap_or_default())
}

fn json(drawn: &Drawn, graphs: &[PathBuf]) -> Value {
    let figures = drawn.figures.iter().map(|figure| {
        let files = figure.files.iter().map(|file| file.display().to_string());
        json!({
            "name": figure.name,
            "title": figure.title,
            "caption": figure.caption,
            "files": files.collect::<Vec<String>>(),
        })
    });
    json!({
        "schema": 1,
        "figures": figures.collect::<Vec<Value>>(),
        "graphs": graphs.iter().map(|graph| graph.display().to_string()).collect::<Vec<String>>(),
        "page": drawn.page.as_ref().map(|page| page.display().to_string()),
        "failures": drawn.failures.iter().map(ToString::to_string).collect::<Vec<String>>(),
    })
}
