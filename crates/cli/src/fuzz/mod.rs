//! `bentpipe fuzz`: deterministic fault testing, seed by seed, on all cores.

mod campaign;
mod finding;
mod progress;
mod seeds;

use bentpipe_sim::Listener;
use bentpipe_sim::fuzz::{FaultPlan, SmallerPlan};
use bentpipe_terminal::interrupt::{interrupted, stop_flag};
use campaign::{Campaign, Found};
use finding::Finding;
use progress::DESCRIBED;
use seeds::Seeds;
use serde_json::json;
use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Tests gateways in virtual time against faults that are drawn from seeds.
///
/// Each seed is a run of its own: hosts with real bytes, gateways, a bad link, and a mix of losses,
/// outages, route changes, crashes, exhaustion and forged segments. After every event it is
/// checked that applications read what was written, that windows keep their promises, that nothing
/// is leaked, and more. The same seed is the same run, packet by packet.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe fuzz                               a thousand seeds
  bentpipe fuzz --seeds 0..100000             the long run
  bentpipe fuzz --seed 4711                   one seed: what happens, and every packet
  bentpipe fuzz --plan fuzz-4711.plan         the smallest plan of it that violates something
  bentpipe fuzz --seeds 0..1000 --json | jq .violations

A violation is told in a line. For the first five, the smallest plan is looked for that still
violates the same (fewest connections, changes, faults and bytes), and is written into a file:

  seed 4711
  without call 1
  without change 3
  without reordering
  bytes 0 1 300

with the last packets and all parameters as comments. `--plan` replays it.

Exits with 1 if an invariant was violated.
")]
pub(crate) struct Arguments {
    /// Play these seeds, the last one left out
    #[arg(long, value_name = "A..B", default_value = "0..1000")]
    seeds: Seeds,
    /// Play this seed alone: print what is planned, then each packet as it arrives
    #[arg(long, value_name = "N", conflicts_with_all = ["seeds", "json", "threads"])]
    seed: Option<u64>,
    /// Play the plan in this file alone, in the same way
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "seed", "json", "threads"])]
    plan: Option<PathBuf>,
    /// Look for the smallest plan of a violation for so many seconds at most
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    shrink: u64,
    /// Write plans that violate something into this folder
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// So many threads (as many as there are cores without it)
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print JSON: how many seeds, violations and seconds, a digest of all packets, and which seeds
    /// violate what
    #[arg(long)]
    json: bool,
    /// Say nothing meanwhile
    #[arg(long, short)]
    quiet: bool,
}

/// Plays seeds, or one of them.
pub(crate) fn run(arguments: &Arguments) -> io::Result<ExitCode> {
    if let Some(seed) = arguments.seed {
        return replay(&FaultPlan::draw(seed));
    }
    if let Some(file) = &arguments.plan {
        let name = |what: &dyn std::fmt::Display| format!("{}: {what}", file.display());
        let text = fs::read_to_string(file).map_err(|e| io::Error::new(e.kind(), name(&e)))?;
        let smaller: SmallerPlan = text.parse().map_err(|e| io::Error::other(name(&e)))?;
        return replay(&smaller.plan());
    }
    let stop = stop_flag()?;
    let threads = arguments.threads.or_else(|| available_parallelism().ok());
    let threads = threads.unwrap_or(NonZeroUsize::MIN);
    let progress = progress::SeedProgress::new(arguments.quiet, arguments.seeds.len());
    let began = Instant::now();
    let campaign = Campaign::run(&arguments.seeds, threads, &stop, &progress);
    let seconds = began.elapsed().as_secs_f64();
    let time = Duration::from_secs(arguments.shrink);
    let mut findings = Vec::new();
    for found in campaign.found.iter().take(progress::DESCRIBED) {
        let mut finding = Finding::investigate(found, time, &stop, &progress);
        if let Err(error) = finding.write(&arguments.folder) {
            eprintln!("bentpipe fuzz: {}: {error}", arguments.folder.display());
        }
        progress.print(&finding.text());
        findings.push(finding);
    }
    progress.end();
    print(&campaign, &findings, seconds, arguments.json)?;
    let stopped = campaign.played < arguments.seeds.len();
    Ok(match campaign.found.is_empty() {
        false => ExitCode::FAILURE,
        true if stopped => interrupted(),
        true => ExitCode::SUCCESS,
    })
}

fn replay(plan: &FaultPlan) -> io::Result<ExitCode> {
    writeln!(io::stdout(), "{plan}")?;
    // A reader that has seen enough closes its end.
    let listener = Listener::new(|line| writeln!(io::stderr(), "{line}").unwrap_or_default());
    Ok(match campaign::play(plan, Some(listener)) {
        Ok(played) => {
            writeln!(io::stdout(), "no violation: {played:?}")?;
            ExitCode::SUCCESS
        }
        Err(what) => {
            writeln!(io::stdout(), "violation: {what}")?;
            ExitCode::FAILURE
        }
    })
}

fn print(campaign: &Campaign, findings: &[Finding], seconds: f64, json: bool) -> io::Result<()> {
    let Campaign { played, found, sum, hazards } = campaign;
    let mut out = io::stdout().lock();
    if json {
        let hazards: serde_json::Map<_, _> = hazards
            .iter()
            .map(|(hazard, seeds)| (hazard.name().to_owned(), json!(seeds)))
            .collect();
        let failing: Vec<_> = found
            .iter()
            .enumerate()
            .map(|(number, Found { seed, what })| {
                let smallest = findings.get(number).map(Finding::json);
                json!({ "seed": seed, "what": what, "smallest": smallest })
            })
            .collect();
        let summary = json!({
            "seeds": played,
            "violations": found.len(),
            "seconds": (seconds * 1000.0).round() / 1000.0,
            "events": sum.events,
            "packets": sum.packets,
            "bytes": sum.bytes,
            "split_flows": sum.split,
            "completed_connections": sum.completed,
            "deaf_connections": sum.deaf,
            "forged_segments": sum.forged,
            "digest": format!("{:016x}", sum.trace),
            "hazards": hazards,
            "failing": failing,
        });
        return writeln!(out, "{summary}");
    }
    writeln!(
        out,
        "{played} seeds in {seconds:.1} s: {} violations; {} packets, {} flows split, {} \
         connections completed, {} left deaf, {} segments forged",
        found.len(),
        sum.packets,
        sum.split,
        sum.completed,
        sum.deaf,
        sum.forged
    )?;
    if found.len() > DESCRIBED {
        for Found { seed, what } in found {
            let line = what.lines().next().unwrap_or_default();
            writeln!(out, "  seed {seed}: {line}")?;
        }
    }
    Ok(())
}
