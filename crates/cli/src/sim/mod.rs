//! `bentpipe sim`: experiments in virtual time.

mod check;
mod examples;
mod merge;
pub(crate) mod progress;
pub(crate) mod table;

use crate::plot;
use bentpipe_config::DocumentError;
use bentpipe_lab::drawing;
use bentpipe_lab::{
    Executed, Failure, Folder, LabError, Options, Shard, Source, SourceError, execute,
};
use bentpipe_scenario::{Change, Experiment, NotSimulated};
use bentpipe_terminal::interrupt::{interrupted, stop_flag};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;

/// More failures than this are only counted.
const FAILURES: usize = 5;

/// Runs an experiment: every point of its sweep, as often as it says, on all cores.
///
/// Prints a table and writes a folder that explains itself (see its README.md), with figures and a
/// page of them (index.html). Runs that were finished before, by the same version and from the same
/// inputs, are not made again, so that an interrupted experiment goes on where it was. Points and
/// runs are counted from zero.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_long_help = "\
Examples:
  bentpipe sim --list
  bentpipe sim geo-download
  bentpipe sim my.toml --runs 20 --output results/tuesday
  bentpipe sim my.toml --set run.duration=60s --set link.sat.queue=20packets
  bentpipe sim my.toml --point 3 --run 5      that run alone, to look closer
  bentpipe sim my.toml --json | jq '.points[].flows[].goodput_bps.mean'
  bentpipe sim my.toml --shard 3/64 --output parts/3    a part of the runs, for an array of jobs
  bentpipe sim my.toml --merge parts/*                  their results, joined
  bentpipe sim check my.toml
"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// A scenario file, or the name of an example
    #[arg(value_name = "FILE", required_unless_present = "list")]
    file: Option<PathBuf>,
    /// List the examples
    #[arg(long)]
    list: bool,
    /// Where results go (results/NAME without it)
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// So many threads (as many as there are cores without it)
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// So many runs of each point, whatever the file says
    #[arg(long, value_name = "N")]
    runs: Option<u32>,
    /// Only this point
    #[arg(long, value_name = "N")]
    point: Option<usize>,
    /// Only this run of each point, even if it was made before
    #[arg(long, value_name = "R")]
    run: Option<u32>,
    /// Only this part of the runs, counted from 0, and no tables: --merge makes them of all parts
    #[arg(long, value_name = "INDEX/COUNT", conflicts_with_all = ["point", "run", "merge"])]
    shard: Option<Shard>,
    /// Make no runs, but take them from these folders of results
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["point", "run"])]
    merge: Vec<PathBuf>,
    /// Change a field of the scenario, by its path as in a sweep: run.duration=5s;
    /// sweep.run.duration=['5s', '9s'] sweeps it
    #[arg(long = "set", value_name = "PATH=VALUE")]
    changes: Vec<Change>,
    /// Print JSON: every point with its figures
    #[arg(long)]
    json: bool,
    /// Draw no figures
    #[arg(long)]
    no_figures: bool,
    /// Say nothing meanwhile
    #[arg(long, short)]
    quiet: bool,
}

#[derive(clap::Subcommand)]
enum Action {
    #[command(about = "Check a scenario file, and say what would be run")]
    Check(check::Arguments),
}

/// Why `bentpipe sim` failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// There is no such scenario.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The scenario.
    #[error(transparent)]
    Scenario(#[from] DocumentError),
    /// A point that the experiment does not have.
    #[error("--point {point}: the points of {file} are 0 to {last}")]
    NoPoint {
        /// What was asked for.
        point: usize,
        /// The file.
        file: String,
        /// The last one.
        last: usize,
    },
    /// Only a testbed can play a gateway.
    #[error(transparent)]
    Foreign(#[from] NotSimulated),
    /// A figure names what there is not.
    #[error(transparent)]
    Figure(#[from] drawing::DrawError),
    /// Running, or writing results.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Joining parts.
    #[error(transparent)]
    Merge(#[from] merge::Error),
    /// Signals or standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Says on standard error what of a trace was left out, or taken as something.
pub(crate) fn say(notes: &[String]) {
    notes.iter().for_each(|note| eprintln!("bentpipe: {note}"));
}

/// Runs an experiment, or lists or checks.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    if let Some(Action::Check(arguments)) = &arguments.action {
        return check::run(arguments);
    }
    let Some(file) = arguments.file.as_deref().filter(|_| !arguments.list) else {
        examples::list(&mut io::stdout().lock())?;
        return Ok(ExitCode::SUCCESS);
    };
    let source = Source::find(file)?;
    let mut changes = arguments.changes.clone();
    changes.extend(arguments.runs.map(|runs| Change::new("repeat.runs", runs.to_string())));
    let experiment = source.experiment(&changes)?;
    say(experiment.notes());
    if let Some(point) = arguments.point.filter(|point| *point >= experiment.len()) {
        let (file, last) = (source.name().to_owned(), experiment.len() - 1);
        return Err(Error::NoPoint { point, file, last });
    }
    for point in arguments.point.map_or(0..experiment.len(), |point| point..point + 1) {
        experiment.point(point).scenario.check_simulated()?;
    }
    // Hours of runs are not to end with a word that was misspelt.
    if !arguments.no_figures {
        plot::check_figures(&experiment)?;
    }
    simulate(arguments, &source, &experiment)
}

fn simulate(
    arguments: &Arguments,
    source: &Source,
    experiment: &Experiment,
) -> Result<ExitCode, Error> {
    let path = arguments.output.clone().unwrap_or_else(|| usual_output(arguments, source));
    let (mut folder, store) = Folder::open(&path)?;
    if arguments.no_figures {
        folder = folder.without_figures();
    }
    let stop = stop_flag()?;
    if !arguments.merge.is_empty() {
        merge::merge(experiment, &store, &arguments.merge, arguments.quiet)?;
    }
    let threads = arguments.threads.or_else(|| available_parallelism().ok());
    let options = Options {
        runner: &bentpipe_sim::run_into,
        threads: threads.unwrap_or(NonZeroUsize::MIN),
        point: arguments.point,
        run: arguments.run,
        shard: arguments.shard,
        stop: &stop,
    };
    let progress = progress::RunProgress::new("bentpipe sim", arguments.quiet);
    let executed = execute(experiment, &store, &options, &|event| progress.on_event(&event))?;
    progress.end();
    for failure in executed.failures.iter().take(FAILURES) {
        eprintln!("bentpipe: {}", complaint(failure, arguments));
    }
    if executed.failures.len() > FAILURES {
        eprintln!("bentpipe: {} more runs failed", executed.failures.len() - FAILURES);
    }
    if executed.stopped {
        if !arguments.quiet {
            let kept = executed.made + executed.found;
            eprintln!(
                "bentpipe sim: stopped; {kept} finished runs are kept in {}, and the same command \
                 goes on from there",
                path.display()
            );
        }
        return Ok(interrupted());
    }
    let failed = if executed.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if let Some(shard) = arguments.shard {
        if !arguments.quiet {
            let (made, found, path) = (executed.made, executed.found, path.display());
            eprintln!(
                "bentpipe sim: {made} runs of shard {shard} made, {found} were there; --merge {path} takes them"
            );
        }
        return Ok(failed);
    }
    let results = folder.results(experiment, &store, &executed)?;
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", results.json())?;
    } else {
        table::print(&mut out, &results)?;
        writeln!(out, "{}", closing_line(&executed, &path))?;
    }
    // Results are there, and said, before the first figure is drawn.
    let figures = if arguments.no_figures {
        ExitCode::SUCCESS
    } else {
        plot::complain(&drawing::draw(&path, experiment))
    };
    Ok(if failed == ExitCode::SUCCESS { figures } else { failed })
}

fn closing_line(executed: &Executed, path: &Path) -> String {
    let (made, found) = (executed.made, executed.found);
    let runs = match (made, found) {
        (_, 0) => format!("{made} runs"),
        _ => format!("{made} runs, and {found} made earlier"),
    };
    format!("{runs}; all of it is in {}", path.display())
}

/// Where results go if nothing is said: a part of an experiment does not lie over the whole.
fn usual_output(arguments: &Arguments, source: &Source) -> PathBuf {
    let mut path = Path::new("results").join(source.stem());
    if let Some(point) = arguments.point {
        path.push(format!("point-{point}"));
    }
    if let Some(run) = arguments.run {
        path.push(format!("run-{run}"));
    }
    path
}

/// What is said of a run that failed, and how to see it again.
fn complaint(failure: &Failure, arguments: &Arguments) -> String {
    let Failure { job, seed, label, why } = failure;
    let label = if label.is_empty() { String::new() } else { format!("{label}, ") };
    let file = arguments.file.as_deref().unwrap_or(Path::new("FILE"));
    let (point, run) = (job.point, job.run);
    let mut replay = format!("bentpipe sim {} --point {point} --run {run}", file.display());
    for change in &arguments.changes {
        replay.push_str(&format!(" --set '{change}'"));
    }
    format!("run {run} of point {point} ({label}seed {seed:016x}) failed: {why}; replay: {replay}")
}
