//! `bentpipe papers --live`: the points of figures that real hosts can run, on Linux's own TCP, beside what the
//! simulator gives of the same files.

mod jobs;
mod kept;
mod load;
mod machine;
mod progress;
mod table;

use super::{Arguments, Error, INTERRUPTED, commit};
use bentpipe_papers::catalogue::{Catalogue, Figure, Live};
use bentpipe_papers::live::{self, Beside, Kept, KeptPoint, Machine};
use bentpipe_papers::run::{Options, Ran, RunError};
use bentpipe_papers::verdict::live_claims;
use bentpipe_testbed::flows::Browser;
use bentpipe_testbed::network::Stacks;
use bentpipe_testbed::plan::{self, LivePoint};
use bentpipe_testbed::told;
use jobs::{All, Job};
use kept::Results;
use load::Load;
use progress::Progress;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant;
use table::Measured;

/// Runs side by side for each processor at most: they wait most of their time.
const PER_PROCESSOR: usize = 8;

/// A figure's experiments, simulated, and what is to be run of them.
struct Planned<'a> {
    figure: &'a Figure,
    ran: Ran,
    parts: Vec<PlannedPart>,
}

/// One experiment's points on real hosts.
struct PlannedPart {
    name: String,
    /// What it is called in messages.
    file: String,
    points: Vec<LivePoint>,
    runs: u32,
    /// The link whose packets are recorded.
    record: Option<usize>,
}

impl PlannedPart {
    fn new(
        figure: &Figure,
        (name, live): (&str, &Live),
        ran: &Ran,
        quick: bool,
    ) -> Result<PlannedPart, Error> {
        let failed = |why: String| RunError::Failed { figure: figure.id.clone(), why };
        let experiment = &ran.part(name).map_err(failed)?.experiment;
        let file = format!("{} ({name})", figure.id);
        let browser = match live.programs.as_deref() {
            None => None,
            Some("netscape") => Some(Browser::Netscape),
            Some("chromium") => Some(Browser::Chromium),
            Some(other) => {
                return Err(failed(format!("{file}: there is no program {other}")).into());
            }
        };
        let mut points = plan::points(experiment, &file, "papers", Stacks::AsAsked, browser)?;
        points.retain(|one| {
            let values = &one.point.values;
            if quick { live.has_quick(values) } else { live.has(values) }
        });
        let links = |name: &String| {
            let links = &experiment.point(0).scenario.links;
            let found = links.iter().position(|link| link.name == *name);
            found.ok_or_else(|| failed(format!("{file}: there is no link {name} to be recorded")))
        };
        let record = live.record.as_ref().map(links).transpose()?;
        let runs = if quick { 1 } else { live.runs };
        Ok(PlannedPart { name: name.to_owned(), file, points, runs, record })
    }
}

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
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let side_by_side =
        arguments.side_by_side.map_or(PER_PROCESSOR * cores, std::num::NonZeroUsize::get);
    let machine = machine::this(commit::of_checkout(), side_by_side);
    let results = Results::open(&options.folder.join("live"), &machine.kernel)?;
    let progress = Progress::new(arguments.quiet);
    let mut planned = Vec::new();
    for figure in figures {
        let ran = Ran::of_live(figure, catalogue.files(), options, &|_| {})?;
        let parts = figure.live().map(|part| PlannedPart::new(figure, part, &ran, arguments.quick));
        let parts = parts.collect::<Result<_, _>>()?;
        planned.push(Planned { figure, ran, parts });
    }
    let mut jobs: Vec<_> = planned.iter().flat_map(|one| jobs_of(one, &results)).collect();
    // Figures have points in common.
    let mut seen = BTreeSet::new();
    jobs.retain(|job| seen.insert((job.live.canonical(), job.run)));
    let begin = Instant::now();
    let All { runs, failures } =
        jobs::make(jobs, (side_by_side, cores), &results, &progress, options.stop);
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
        return Ok(ExitCode::from(INTERRUPTED));
    }
    for (why, (first, count)) in &failures {
        let others = if *count > 1 { format!(", and {} others", count - 1) } else { String::new() };
        eprintln!("bentpipe papers: {first}{others} failed: {why}");
    }
    let measured = planned
        .into_iter()
        .map(|one| measured(catalogue, one, &results, &machine, arguments))
        .collect::<Result<Vec<_>, Error>>()?;
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", table::json(&measured))?;
    } else {
        table::write(&measured, &mut out)?;
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The runs of a figure that are not there yet.
fn jobs_of<'a>(planned: &'a Planned<'_>, results: &Results) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    for part in &planned.parts {
        let Ok(simulated) = planned.ran.part(&part.name) else { continue };
        for live in &part.points {
            let Some(point) = simulated.numbered(live.point.index) else { continue };
            let longest = live.point.scenario.run.duration.as_secs_f64();
            let load = Load::of(point, live.browser, longest);
            let missing = |run: &u32| results.load(&live.canonical(), *run).is_none();
            jobs.extend((0..part.runs).filter(missing).map(|run| Job {
                experiment: &simulated.experiment,
                name: &part.file,
                live,
                simulated: point,
                run,
                record: part.record,
                load,
            }));
        }
    }
    jobs
}

/// What has come of a figure. It is kept in the output's folder, and where `--keep` says.
fn measured(
    catalogue: &Catalogue,
    planned: Planned<'_>,
    results: &Results,
    machine: &Machine,
    arguments: &Arguments,
) -> Result<Measured, Error> {
    let Planned { figure, mut ran, parts } = planned;
    let failed = |why: String| RunError::Failed { figure: figure.id.clone(), why };
    let mut kept = Kept { machine: machine.clone(), ..Kept::default() };
    for part in &parts {
        let simulated = ran.part(&part.name).map_err(failed)?;
        kept.told.extend(told::lines(&part.name, &part.points));
        for live in &part.points {
            let load = |run| results.load(&live.canonical(), run);
            let runs: Vec<_> = (0..part.runs).filter_map(load).collect();
            if let Some(point) = simulated.numbered(live.point.index).filter(|_| !runs.is_empty()) {
                kept.points.push(KeptPoint::new(&part.name, point, &runs).map_err(failed)?);
            }
        }
    }
    let text = kept.text().map_err(|error| failed(error.to_string()))?;
    write(&arguments.output, figure, &text)?;
    if let Some(folder) = &arguments.keep {
        write(folder, figure, &text)?;
    }
    ran.live = kept;
    let claims = live_claims(catalogue, figure, &ran).map_err(failed)?;
    let beside = Beside::all(figure, &ran).map_err(failed)?;
    Ok(Measured { figure: figure.id.clone(), beside, claims })
}

fn write(folder: &Path, figure: &Figure, text: &str) -> io::Result<()> {
    let path = folder.join(live::path(&figure.id));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)
}
