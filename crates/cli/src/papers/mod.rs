//! `bentpipe papers`: the papers' figures, run, drawn and judged.

mod artifact;
mod claims;
mod commit;
mod list;
mod live;
mod progress;
mod sensitivity;

use crate::plot::{PlotError, page_of_run};
use bentpipe_papers::artifact::{Artifact, ArtifactError, PAPERS, RUNS, TESTS, no_run};
use bentpipe_papers::catalogue::{Catalogue, CatalogueError, Figure, Files, LocatedClaim, Paper};
use bentpipe_papers::judge::judge;
use bentpipe_papers::live::{Comparison, LiveError};
use bentpipe_papers::report::{self, Report};
use bentpipe_papers::run::{Options, Ran, RunError};
use bentpipe_papers::tested::{Tested, TestedError};
use bentpipe_terminal::interrupt::{interrupted, stop_flag};
use progress::FigureProgress;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

/// Run the papers' figures, and see which of their claims are reproduced
///
/// Without anything, lists the figures. Results go to out/papers: index.html there shows
/// everything. Runs are kept: the same command goes on where it was stopped.
///
/// With --live, the points that real hosts can run are run on Linux's own TCP, in network
/// namespaces and in real time, many side by side, and stand beside what the simulator gives of the
/// same files. That takes root.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bentpipe papers                 what there is
  bentpipe papers sfu/fig-3-2     one figure
  bentpipe papers bbn             a whole paper
  bentpipe papers G01-15-a        what this claim says, and where it is decided
  bentpipe papers --quick         some figures, in less than three minutes
  bentpipe papers --all --json    all of it, with a summary for programs
  bentpipe papers --live          what can be run on real hosts
  sudo bentpipe papers --live henderson/fig-4-19
  bentpipe papers --sensitivity henderson/fig-4-13
  bentpipe papers --from DIR      all verdicts from an artifact's raw data, without a simulation")]
pub(crate) struct Arguments {
    /// Figures (bbn/fig-8) or whole papers (bbn); or claims (G01-15-a), which are printed
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// All figures of all papers
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Those that are run in less than three minutes together; with --live, some points in less
    /// than four
    #[arg(long, conflicts_with = "all")]
    quick: bool,
    /// Run points on real hosts, beside the simulator
    #[arg(long, conflicts_with = "docs", group = "kept")]
    live: bool,
    /// Run figures at other values of what the papers leave free, one at a time
    #[arg(long, conflicts_with_all = ["docs", "quick"], group = "kept")]
    sensitivity: bool,
    /// With --live: so many runs at a time at most (eight for each processor without it; fewer
    /// where they are short)
    #[arg(long, value_name = "N", requires = "live")]
    side_by_side: Option<NonZeroUsize>,
    /// With --live or --sensitivity: keep what was found beside the figures in this papers' folder,
    /// for verdicts
    #[arg(long, value_name = "DIR", requires = "kept", conflicts_with = "quick")]
    keep: Option<PathBuf>,
    /// Papers from this folder instead of those in the program
    #[arg(long, value_name = "DIR")]
    papers: Option<PathBuf>,
    /// Where results go
    #[arg(long, value_name = "DIR", default_value = "out/papers")]
    output: PathBuf,
    /// Also write scoreboard and figures as Markdown and SVG into this folder
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,
    /// Also write runs, claims and pages with checksums into this new folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["kept", "from"])]
    artifact: Option<PathBuf>,
    /// Run nothing: take claims and runs from an artifact, and compare the pages with its own
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["ids", "all", "quick", "kept", "papers"]
    )]
    from: Option<PathBuf>,
    /// So many threads (as many as there are cores without it)
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print JSON: how many claims have which verdict, by what decides them
    #[arg(long)]
    json: bool,
    /// Say nothing meanwhile
    #[arg(long, short)]
    quiet: bool,
}

/// Why `bentpipe papers` failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// What is in `papers/`.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// Running a figure.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Not root.
    #[error("bentpipe papers --live takes root, for network namespaces: run it with sudo")]
    Root,
    /// Nothing of it is free.
    #[error("nothing of {0} is at other values: its file has no [[free]]")]
    NotFree(String),
    /// Nothing of it can be run on real hosts.
    #[error("nothing of {0} is run on real hosts (`bentpipe papers --live` lists what is)")]
    NotLive(String),
    /// Running it on real hosts.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// There is no such figure.
    #[error("there is no paper, figure or claim {0} (`bentpipe papers` lists them)")]
    Unknown(String),
    /// A claim among figures.
    #[error("{0} is a claim: claims are printed and figures are run, so they take two commands")]
    Claim(String),
    /// A run's packets.
    #[error(transparent)]
    Graph(#[from] Box<PlotError>),
    /// What tests gave.
    #[error(transparent)]
    Tested(#[from] TestedError),
    /// An artifact.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The report.
    #[error(transparent)]
    Report(#[from] report::ReportError),
    /// Signals or standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Lists or runs figures.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let from = arguments.from.as_deref().map(Artifact::open).transpose()?;
    let files = match (&from, &arguments.papers) {
        (Some(artifact), _) => Files::of_folder(&artifact.path(PAPERS))?,
        (None, Some(folder)) => Files::of_folder(folder)?,
        (None, None) => Files::built_in(),
    };
    let catalogue = Catalogue::read(files)?;
    let claims: Option<Vec<LocatedClaim<'_>>> =
        arguments.ids.iter().map(|id| catalogue.claim(id)).collect();
    if let Some(claims) = claims.filter(|claims| !claims.is_empty()) {
        claims::write(&claims, arguments.json, &mut io::stdout().lock())?;
        return Ok(ExitCode::SUCCESS);
    }
    let ids = from.as_ref().map_or(&arguments.ids, |artifact| &artifact.origin.figures);
    let chosen = choose(&catalogue, ids, arguments)?;
    if chosen.is_empty() {
        list::write(&catalogue, arguments.live, arguments.json, &mut io::stdout().lock())?;
        return Ok(ExitCode::SUCCESS);
    }
    let stop = stop_flag()?;
    let threads = arguments.threads.or_else(|| available_parallelism().ok());
    let options = Options {
        runner: if from.is_some() { &no_run } else { &bentpipe_sim::run_into },
        threads: threads.unwrap_or(NonZeroUsize::MIN),
        folder: arguments.output.clone(),
        runs: match &from {
            Some(artifact) => artifact.path(RUNS),
            None => arguments.output.join(RUNS),
        },
        stop: &stop,
    };
    if arguments.live {
        let figures: Vec<&Figure> = chosen.into_iter().map(|(_, figure)| figure).collect();
        return match live::run(&catalogue, &figures, arguments, &options) {
            Err(Error::Live(LiveError::Run(RunError::Stopped))) => Ok(interrupted()),
            other => other,
        };
    }
    if arguments.sensitivity {
        let figures: Vec<&Figure> = chosen.into_iter().map(|(_, figure)| figure).collect();
        return sensitivity::run(&catalogue, &figures, arguments, &options);
    }
    let begin = Instant::now();
    let mut report = Report::default();
    let mut progress = FigureProgress::new(chosen.len(), arguments.quiet);
    let mut runs = BTreeSet::new();
    for (_, figure) in &chosen {
        progress.begin(&figure.id);
        match one(&catalogue, figure, &options, from.is_none()) {
            Ok((judged, stored)) => {
                report.add(judged);
                runs.extend(stored);
            }
            Err(Error::Run(RunError::Stopped)) => {
                progress.end();
                eprintln!(
                    "bentpipe papers: stopped; finished runs are kept in {}, and the same command goes on from there",
                    arguments.output.display()
                );
                return Ok(interrupted());
            }
            Err(error) => return Err(error),
        }
        progress.done();
    }
    progress.end();
    report.wall_s = begin.elapsed().as_secs_f64();
    report.commit = match &from {
        Some(artifact) => artifact.origin.commit.clone(),
        None => commit::of_checkout(),
    };
    let tests = arguments.output.join(TESTS);
    report.tested = Tested::read(&from.as_ref().map_or(tests, |artifact| artifact.path(TESTS)))?;
    report::write(&catalogue, &report, &arguments.output)?;
    if let Some(folder) = &arguments.docs {
        report::write_docs(&catalogue, &report, &arguments.output, folder)?;
    }
    if let Some(folder) = &arguments.artifact {
        artifact::write(&catalogue, &report, &runs, &arguments.output, folder)?;
    }
    let mut out = io::stdout().lock();
    if let Some(artifact) = &from {
        return artifact::compare(artifact, &catalogue, &report, arguments, &mut out);
    }
    if arguments.json {
        writeln!(out, "{:#}", report.json(&catalogue))?;
    } else {
        list::results(&catalogue, &report, &mut out)?;
        writeln!(out, "{}", arguments.output.join("index.html").display())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn one(
    catalogue: &Catalogue,
    figure: &Figure,
    options: &Options<'_>,
    graphs: bool,
) -> Result<(report::Judgement, Vec<PathBuf>), Error> {
    let begin = Instant::now();
    let (ran, claims) = judge(catalogue, figure, options, &|_| {})?;
    let drawings = ran.draw(figure, options)?;
    if graphs {
        graph(&ran, catalogue, figure, options)?;
    }
    let failed = |why: String| RunError::Failed { figure: figure.id.clone(), why };
    let tables = ran.tables(figure).map_err(failed)?;
    let beside = Comparison::all(figure, &ran).map_err(failed)?;
    let wall_s = begin.elapsed().as_secs_f64();
    let (figure, runs) = (figure.id.clone(), ran.runs());
    let judged = report::Judgement { figure, claims, tables, drawings, beside, runs, wall_s };
    Ok((judged, ran.stored().collect()))
}

/// One run of the figure, packet by packet, beside its experiments.
fn graph(
    ran: &Ran,
    catalogue: &Catalogue,
    figure: &Figure,
    options: &Options<'_>,
) -> Result<(), Error> {
    let Some(captures) = ran.recorded(figure, catalogue.files(), options)? else { return Ok(()) };
    if let Some(page) = page_of_run(&captures)? {
        fs::write(options.folder.join(&figure.id).join(report::GRAPH), page)?;
    }
    Ok(())
}

fn choose<'a>(
    catalogue: &'a Catalogue,
    ids: &[String],
    arguments: &Arguments,
) -> Result<Vec<(&'a Paper, &'a Figure)>, Error> {
    let all =
        || catalogue.papers.iter().flat_map(|paper| paper.figures.iter().map(move |f| (paper, f)));
    let mut chosen = Vec::new();
    if arguments.all || (arguments.quick && ids.is_empty()) {
        chosen.extend(all());
    }
    for id in ids {
        let found = catalogue.find(id);
        if catalogue.claim(id).is_some() {
            return Err(Error::Claim(id.clone()));
        }
        if found.is_empty() {
            return Err(Error::Unknown(id.clone()));
        }
        if arguments.live && !found.iter().any(|(_, figure)| figure.live().next().is_some()) {
            return Err(Error::NotLive(id.clone()));
        }
        if arguments.sensitivity && found.iter().all(|(_, figure)| figure.free.is_empty()) {
            return Err(Error::NotFree(id.clone()));
        }
        chosen.extend(found);
    }
    chosen.retain(|(_, figure)| match (arguments.live, arguments.quick) {
        (true, quick) => figure.live().any(|(_, live)| !quick || live.is_quick()),
        (false, quick) => !quick || figure.quick,
    });
    if arguments.sensitivity {
        if ids.is_empty() {
            chosen = all().collect();
        }
        chosen.retain(|(_, figure)| !figure.free.is_empty());
    }
    Ok(chosen)
}
