//! `bentpipe testbed run`: all runs of an experiment, one after the other.

use super::{Error, named, warn};
use crate::sim::progress::RunProgress;
use crate::sim::table;
use bentpipe_lab::{Event, Failure, Folder, measure};
use bentpipe_scenario::{Change, Point};
use bentpipe_terminal::interrupt::{interrupted, stop_flag};
use bentpipe_testbed::flows::{PlayError, Progress};
use bentpipe_testbed::network::{Network, Stacks, State};
use bentpipe_testbed::plan::{self, ForeignPrograms};
use bentpipe_testbed::play;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs the flows of a testbed that is up: every point of the scenario's sweep, as often as it
/// says, one after the other, in real time.
///
/// Each run begins with links as new and gateways started anew. It prints a table and writes a
/// folder like that of `bentpipe sim`; what cannot be measured is empty there. Every call measures
/// anew. Ctrl-C ends the run that is under way, writes what the finished ones have given, and
/// leaves the testbed up.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe testbed run
  bentpipe testbed run my --runs 5 --output results/live
  bentpipe testbed run --point 2 --json | jq '.points[].flows[].goodput_bps.mean'
")]
pub(super) struct Arguments {
    /// The testbed's name or file, if several are up
    #[arg(value_name = "NAME")]
    testbed: Option<String>,
    /// Where results go (results/NAME-testbed without it)
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// So many runs of each point, whatever the file says
    #[arg(long, value_name = "N")]
    runs: Option<u32>,
    /// Only this point
    #[arg(long, value_name = "N")]
    point: Option<usize>,
    /// Print JSON: every point with its figures
    #[arg(long)]
    json: bool,
    /// Say nothing meanwhile
    #[arg(long, short)]
    quiet: bool,
}

/// Runs it.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let name = named(arguments.testbed.as_deref())?;
    let mut network = Network::open(&name, std::env::current_exe()?)?;
    let runs = arguments.runs.map(|runs| Change::new("repeat.runs", runs.to_string()));
    let changes: Vec<Change> = runs.into_iter().collect();
    let State { file, any_stack, proxies, .. } = network.state().clone();
    let experiment = plan::saved(network.folder(), &file, &changes)?;
    if let Some(point) = arguments.point.filter(|point| *point >= experiment.len()) {
        return Err(Error::NoPoint { point, last: experiment.len() - 1 });
    }
    let stacks = if any_stack { Stacks::Any } else { Stacks::AsAsked };
    let programs = ForeignPrograms { browser: None, proxies: &proxies };
    let mut points = plan::points(&experiment, &file, &name, stacks, programs)?;
    points.retain(|one| arguments.point.is_none_or(|point| one.point.index == point));
    if !arguments.quiet {
        warn(&points);
    }
    let stop = stop_flag()?;
    let path = arguments.output.clone().unwrap_or_else(|| usual_output(&name, arguments.point));
    let (folder, store) = Folder::open(&path)?;
    let folder = folder.of_measurements();
    let progress = RunProgress::new("bentpipe testbed run", arguments.quiet);
    let chosen: Vec<&Point> = points.iter().map(|live| &live.point).collect();
    let watch = |event: &Event<'_>| progress.on_event(event);
    let mut run = |place: usize, run, go_on: &mut dyn FnMut(f64) -> bool| {
        let mut go_on = |progress: Progress| go_on(progress.share);
        match play::run(&mut network, &points[place], run, None, &mut go_on) {
            Ok(played) => Ok(Ok(played.results)),
            // The next run would have no network either.
            Err(PlayError::Network(error)) => Err(Error::from(error)),
            Err(failed) => Ok(Err(failed.into())),
        }
    };
    let measured = measure(&experiment, &store, &chosen, &stop, &watch, &mut run);
    progress.end();
    let executed = measured?;
    for failure in &executed.failures {
        let Failure { job, why, .. } = failure;
        eprintln!("bentpipe: run {} of point {} failed: {why}", job.run, job.point);
    }
    let results = folder.write(&experiment, &store, &executed)?;
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", results.json())?;
    } else {
        table::print(&mut out, &results)?;
        writeln!(out, "{} runs; all of it is in {}", executed.made, path.display())?;
    }
    if executed.stopped {
        eprintln!("bentpipe testbed: interrupted; {name} is still up");
        return Ok(interrupted());
    }
    Ok(if executed.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn usual_output(name: &str, point: Option<usize>) -> PathBuf {
    let path = Path::new("results").join(format!("{name}-testbed"));
    point.map_or_else(|| path.clone(), |point| path.join(format!("point-{point}")))
}
