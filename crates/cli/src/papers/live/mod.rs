//! `bentpipe papers --live`: the points of figures that real hosts can run, on Linux's own TCP,
//! beside what the simulator gives of the same files.

mod machine;
mod progress;
mod table;
mod testbeds;

use super::{Arguments, Error, commit};
use bentpipe_papers::catalogue::{Catalogue, Figure};
use bentpipe_papers::live::{LiveEvent, LiveOptions, LivePlan, MadeRuns, StoredRuns, make_missing};
use bentpipe_papers::run::Options;
use bentpipe_terminal::interrupt::interrupted;
use progress::LiveProgress;
use std::io::{self, Write};
use std::iter;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant;
use testbeds::Testbeds;

/// Runs side by side for each processor at most: they wait most of their time.
const PER_PROCESSOR: usize = 8;

/// Runs the live points of the figures that are asked for.
pub(super) fn run(
    catalogue: &Catalogue,
    figures: &[&Figure],
    arguments: &Arguments,
    options: &Options<'_>,
) -> Result<ExitCode, Error> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::Root);
    }
    testbeds::remove_leftovers();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let side_by_side = arguments.side_by_side.map_or(PER_PROCESSOR * cores, NonZeroUsize::get);
    let machine = machine::this(commit::of_checkout(), side_by_side);
    let stored = StoredRuns::open(&options.folder.join("live"), &machine.kernel)?;
    let progress = LiveProgress::new(arguments.quiet, side_by_side);
    let plans = figures
        .iter()
        .map(|figure| LivePlan::new(figure, catalogue.files(), &Testbeds, arguments.quick, options))
        .collect::<Result<Vec<_>, _>>()?;
    let begin = Instant::now();
    let live = LiveOptions {
        runner: &Testbeds,
        stored: &stored,
        side_by_side,
        processors: cores,
        stop: options.stop,
    };
    let watch = |event: LiveEvent<'_>| progress.on_event(event);
    let MadeRuns { runs, failures } = make_missing(&plans, &live, &watch);
    progress.end();
    if runs > 0 && !arguments.quiet {
        let minutes = begin.elapsed().as_secs_f64() / 60.0;
        eprintln!(
            "bentpipe papers: {runs} live runs, at most {side_by_side} side by side, in {minutes:.1} min"
        );
    }
    if options.stop.load(Ordering::Relaxed) {
        eprintln!(
            "bentpipe papers: stopped; finished runs are kept in {}, and the same command goes on from there",
            options.folder.display()
        );
        return Ok(interrupted());
    }
    for (why, (first, count)) in &failures {
        let others = if *count > 1 { format!(", and {} others", count - 1) } else { String::new() };
        eprintln!("bentpipe papers: {first}{others} failed: {why}");
    }
    let folders: Vec<&Path> =
        iter::once(&arguments.output).chain(&arguments.keep).map(PathBuf::as_path).collect();
    let measured = plans
        .into_iter()
        .map(|plan| plan.measured(&live, &machine, &folders))
        .collect::<Result<Vec<_>, _>>()?;
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", table::json(&measured))?;
    } else {
        table::write(&measured, &mut out)?;
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
