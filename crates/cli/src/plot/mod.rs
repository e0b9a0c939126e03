//! `bentpipe plot`: the figures of results that are there.

use crate::sim;
use crate::sim::source::Source;
use bentpipe_lab::drawing::{self, DrawError, Drawn};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Draws the figures of a folder of results anew, from its tables. Nothing is run.
///
/// Which figures there are says the folder's own scenario.toml, or another file with the same sweep.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe plot results/geo-download
  bentpipe plot results/mine --scenario mine.toml     after its [figure] tables were changed
  bentpipe plot results/mine --json | jq '.figures[].files[]'
")]
pub(crate) struct Arguments {
    /// A folder of results
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Whose figures are drawn (DIR/scenario.toml without it)
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Print JSON: what was written
    #[arg(long)]
    json: bool,
}

/// Why `bentpipe plot` failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// There are no results in the folder.
    #[error("{0} is no folder of results: it has no scenario.toml")]
    NoResults(String),
    /// The scenario.
    #[error(transparent)]
    Scenario(#[from] sim::Error),
    /// A figure names what there is not.
    #[error(transparent)]
    Figure(#[from] DrawError),
    /// Standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Draws.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let own = arguments.folder.join("scenario.toml");
    if !own.is_file() {
        return Err(Error::NoResults(arguments.folder.display().to_string()));
    }
    let source = Source::find(arguments.scenario.as_deref().unwrap_or(&own))?;
    let experiment = source.experiment(&[]).map_err(sim::Error::from)?;
    drawing::check(&experiment)?;
    let drawn = drawing::draw(&arguments.folder, &experiment);
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", json(&drawn))?;
    } else {
        for figure in &drawn.figures {
            writeln!(out, "{}: {}", figure.name, figure.title)?;
        }
        writeln!(out, "{}", closing(&drawn, &arguments.folder))?;
    }
    Ok(complain(&drawn))
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

fn json(drawn: &Drawn) -> Value {
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
        "page": drawn.page.as_ref().map(|page| page.display().to_string()),
        "failures": drawn.failures.iter().map(ToString::to_string).collect::<Vec<String>>(),
    })
}
