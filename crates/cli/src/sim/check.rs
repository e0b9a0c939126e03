//! `bentpipe sim check`: what an experiment would be.

use super::Error;
use crate::plot;
use bentpipe_lab::Source;
use bentpipe_scenario::{Change, Repeat};
use serde_json::json;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Checks a scenario file at every point of its sweep, and says what would be run. Nothing is.
#[derive(clap::Args)]
#[command(after_long_help = "\
Example:
  bentpipe sim check my.toml
")]
pub(super) struct Arguments {
    /// A scenario file, or the name of an example
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Change a field of the scenario, by its path as in a sweep: run.duration=5s
    #[arg(long = "set", value_name = "PATH=VALUE")]
    changes: Vec<Change>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Checks.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let source = Source::find(&arguments.file)?;
    let experiment = source.experiment(&arguments.changes)?;
    super::say(experiment.notes());
    plot::check_figures(&experiment)?;
    let first = experiment.point(0).scenario;
    let labels = (0..experiment.len()).map(|point| experiment.label(point));
    let mut out = io::stdout().lock();
    if arguments.json {
        let (min, max) = bounds(&experiment.repeat);
        let points: Vec<String> = labels.collect();
        let value = json!({
            "title": first.title,
            "points": points,
            "runs": { "min": min, "max": max },
            "duration_s": first.run.duration.as_secs_f64(),
        });
        writeln!(out, "{value:#}")?;
        return Ok(ExitCode::SUCCESS);
    }
    if !first.title.is_empty() {
        writeln!(out, "{}", first.title)?;
    }
    writeln!(out, "{}", size(experiment.len(), &experiment.repeat))?;
    let once = bounds(&experiment.repeat).1 > 1;
    if once && !experiment.points().any(|point| point.scenario.is_random()) {
        writeln!(out, "nothing in it is random: each point is run once")?;
    }
    for (point, label) in labels.enumerate().filter(|(_, label)| !label.is_empty()) {
        writeln!(out, "{point:>5}  {label}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `4 points × 10 runs`.
pub(super) fn size(points: usize, repeat: &Repeat) -> String {
    let s = |count: u64| if count == 1 { "" } else { "s" };
    let (min, max) = bounds(repeat);
    let range = if min == max { max.to_string() } else { format!("{min} to {max}") };
    format!("{points} point{} × {range} run{}", s(points as u64), s(u64::from(max)))
}

fn bounds(repeat: &Repeat) -> (u32, u32) {
    match *repeat {
        Repeat::Runs(runs) => (runs, runs),
        Repeat::Until { min, max, .. } => (min, max),
    }
}
