//! `bentpipe testbed run`: all runs of an experiment, one after the other.

use super::plan::{self, LivePoint};
use super::{Error, INTERRUPTED, named, play};
use crate::sim::progress::RunProgress;
use crate::sim::table;
use bentpipe_lab::{
    Event, Executed, Failure, Folder, Job, Key, LabError, PointEnd, RunRecord, Store,
};
use bentpipe_scenario::repeat::Decision;
use bentpipe_scenario::{Change, Experiment, Repeat};
use bentpipe_testbed::flows::PlayError;
use bentpipe_testbed::network::{Network, Stacks};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs the flows of a testbed that is up: every point of the scenario's sweep, as often as it says, one
/// after the other, in real time.
///
/// Each run begins with links as new and gateways started anew. It prints a table and writes a folder
/// like that of `bentpipe sim`; what cannot be measured is empty there. Every call measures anew. Ctrl-C
/// ends the run that is under way, writes what the finished ones have given, and leaves the testbed up.
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
    let (file, any) = (network.state().file.clone(), network.state().any_stack);
    let experiment = plan::saved(network.folder(), &file, &changes)?;
    if let Some(point) = arguments.point.filter(|point| *point >= experiment.len()) {
        return Err(Error::NoPoint { point, last: experiment.len() - 1 });
    }
    let stacks = if any { Stacks::Any } else { Stacks::AsAsked };
    let mut points = plan::points(&experiment, &file, &name, stacks, None)?;
    points.retain(|one| arguments.point.is_none_or(|point| one.point.index == point));
    if !arguments.quiet {
        plan::warn(&points);
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The second one ends the program at once.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    let path = arguments.output.clone().unwrap_or_else(|| usual_output(&name, arguments.point));
    let (folder, store) = Folder::open(&path)?;
    let folder = folder.of_measurements();
    let progress = RunProgress::new("testbed run", arguments.quiet);
    let mut session = Session {
        network: &mut network,
        experiment: &experiment,
        store: &store,
        progress: &progress,
        stop: &stop,
        finished: 0,
        needed: u64::from(min(&experiment)) * points.len() as u64,
        executed: Executed {
            ends: Vec::new(),
            failures: Vec::new(),
            stopped: false,
            made: 0,
            found: 0,
            run: None,
        },
    };
    let measured = points.iter().try_for_each(|point| session.measure(point));
    let Session { executed, .. } = session;
    progress.end();
    measured?;
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
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(if executed.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn usual_output(name: &str, point: Option<usize>) -> PathBuf {
    let path = Path::new("results").join(format!("{name}-testbed"));
    point.map_or_else(|| path.clone(), |point| path.join(format!("point-{point}")))
}

fn min(experiment: &Experiment) -> u32 {
    match experiment.repeat {
        Repeat::Runs(runs) => runs,
        Repeat::Until { min, .. } => min,
    }
}

/// Runs that follow each other.
struct Session<'a> {
    network: &'a mut Network,
    experiment: &'a Experiment,
    store: &'a Store,
    progress: &'a RunProgress,
    stop: &'a AtomicBool,
    finished: u64,
    needed: u64,
    executed: Executed,
}

impl Session<'_> {
    /// All runs of a point.
    fn measure(&mut self, live: &LivePoint) -> Result<(), Error> {
        let point = live.point.index;
        let mut end = PointEnd { point, runs: 0, because: None };
        let mut samples: Vec<Vec<f64>> = Vec::new();
        while end.because.is_none() && !self.executed.stopped {
            let job = Job { point, run: end.runs };
            let record = match self.one(live, job.run) {
                Ok(record) => Some(record),
                Err(PlayError::Cancelled) => {
                    self.executed.stopped = true;
                    break;
                }
                Err(PlayError::Flow(why)) => {
                    let seed = live.point.scenario.seeds(u64::from(job.run)).run();
                    let label = live.point.label.clone();
                    self.executed.failures.push(Failure { job, seed, label, why });
                    None
                }
                Err(PlayError::Network(error)) => return Err(error.into()),
            };
            if let Some(record) = record {
                let key = Key::of_measurement(&live.point.canonical, job.run);
                self.store.save(key, &record).map_err(|source| {
                    let path = self.store.folder().display().to_string();
                    LabError::Write { path, source }
                })?;
                self.executed.made += 1;
                for (flow, goodput) in record.goodputs().into_iter().enumerate() {
                    if samples.len() <= flow {
                        samples.push(Vec::new());
                    }
                    samples[flow].push(goodput);
                }
            }
            end.runs += 1;
            self.finished += 1;
            end.because = match self.experiment.repeat.decide_after(end.runs, &samples) {
                Decision::Enough { because, .. } => Some(because),
                Decision::Continue => None,
            };
            if end.because.is_none() {
                self.needed = self.needed.max(self.finished + 1);
            }
            let needed = self.needed;
            self.progress.heed(&Event::Finished { job, stored: false, needed });
        }
        self.executed.ends.push(end);
        Ok(())
    }

    /// One run.
    fn one(&mut self, live: &LivePoint, run: u32) -> Result<RunRecord, PlayError> {
        let (progress, stop) = (self.progress, self.stop);
        let job = Job { point: live.point.index, run };
        play::run(self.network, live, run, None, &mut |share| {
            progress.heed(&Event::Running(job, share));
            !stop.load(Ordering::Relaxed)
        })
        .map(|played| played.record)
    }
}
