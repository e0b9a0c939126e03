//! How far gateways are from the limit of the link, case by case: in virtual time with the code
//! that is deployed, or live.

mod progress;
mod table;

use super::BenchError;
use bentpipe_bench::World;
use bentpipe_bench::satellite::campaign::{Campaign, Finished};
use bentpipe_bench::satellite::cases;
use bentpipe_bench::satellite::row::{Row, Table};
use bentpipe_core::units::parse_duration;
use bentpipe_terminal::interrupt::{interrupted, stop_flag};
use bentpipe_testbed::proxy::ProxyCommand;
use progress::CaseProgress;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread::available_parallelism;

/// The foreign gateway that has a column.
const PEPSAL: &str = "pepsal";

/// Live runs at a time: the columns of a case, which meet the same machine.
const LIVE_THREADS: usize = 5;

/// How far are the gateways from the limit of the link, and from what is wanted of them?
///
/// Each case is a point of a scenario, and what is wanted of it. It is run in virtual time: by the
/// hosts alone, as Linux is (CUBIC), through a pair of gateways with the link's rate and round trip
/// configured (`known`), and through an unconfigured pair (`estimated`). With `--live` it is run on
/// Linux's own TCP in network namespaces, in real time (root). The limit is an ideal sender: back
/// to back at the link's rate, each loss known a round trip later. Times are means over the seeds,
/// the same ones in all columns, from the SYN to the last byte, in seconds. A ratio is with one
/// gateway over without; its bound holds with 95 % confidence.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe bench satellite                         the whole table: some minutes
  bentpipe bench satellite --seeds 20              the same, less sure
  bentpipe bench satellite --case 'packet loss'    the cases with this in their name
  bentpipe bench satellite --case LEO --case fade
  bentpipe bench satellite --list
  bentpipe bench satellite --json | jq '.rows[] | select(.met == false) | .case'
  bentpipe bench satellite --strict                exit with 1 if a target is not met
  bentpipe bench satellite --cases my.toml         cases of your own; those of the program are in bench/
  sudo bentpipe bench satellite --live --case 'packet loss' --proxy pepsal=/opt/pepsal
")]
pub(crate) struct Arguments {
    /// So many seeds; cases that take long, or vary little, take a tenth or a hundredth of them
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seeds: u64,
    /// Run live: Linux hosts, gateways and links in network namespaces, in real time (takes root)
    #[arg(long)]
    live: bool,
    /// With --live: so many runs of each column, whatever --seeds says
    #[arg(long, value_name = "N", default_value_t = 3, requires = "live", value_parser = clap::value_parser!(u64).range(1..=1000))]
    runs: u64,
    /// With --live: give a transfer up after this time. It counts as that long
    #[arg(long, value_name = "TIME", default_value = "90s", requires = "live", value_parser = patience)]
    patience: String,
    /// With --live: a foreign gateway's program, for the column of its name: `pepsal=/opt/pepsal`
    #[arg(long = "proxy", value_name = "NAME=COMMAND", requires = "live")]
    proxies: Vec<ProxyCommand>,
    /// The cases of this file. Scenarios that it names are looked for next to it, and then among
    /// those of the program
    #[arg(long = "cases", value_name = "FILE")]
    file: Option<PathBuf>,
    /// Only cases whose names contain this; may be given several times
    #[arg(long = "case", value_name = "SUBSTRING")]
    cases: Vec<String>,
    /// Also the cases that take minutes each: 1 GB
    #[arg(long)]
    long: bool,
    /// List the cases
    #[arg(long)]
    list: bool,
    /// Print JSON: a row for each case, without the fields that do not apply to it
    #[arg(long)]
    json: bool,
    /// Exit with 1 if a target is not met
    #[arg(long)]
    strict: bool,
    /// So many threads (without it as many as there are cores; live: five, which wait most of the
    /// time)
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Say nothing meanwhile
    #[arg(long, short)]
    quiet: bool,
}

/// A time as scenarios have it.
fn patience(text: &str) -> Result<String, String> {
    parse_duration(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, BenchError> {
    let world = match arguments.live {
        true => World::Live { proxies: arguments.proxies.clone() },
        false => World::Simulated,
    };
    if arguments.live && !arguments.list && !nix::unistd::geteuid().is_root() {
        return Err(BenchError::Root);
    }
    if let Some(proxy) = arguments.proxies.iter().find(|proxy| proxy.name != PEPSAL) {
        return Err(BenchError::NoColumn(proxy.name.clone()));
    }
    let patience = arguments.live.then_some(arguments.patience.as_str());
    let mut cases = match &arguments.file {
        Some(file) => cases::of_file(file, patience, arguments.long)?,
        None => cases::all(patience, arguments.long)?,
    };
    if !arguments.cases.is_empty() {
        cases.retain(|case| arguments.cases.iter().any(|part| case.name.contains(part)));
    }
    if cases.is_empty() {
        return Err(BenchError::NoCase(arguments.cases.join(", ")));
    }
    let mut out = io::stdout().lock();
    if arguments.list {
        for case in &cases {
            writeln!(out, "{}", case.name)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let stop = stop_flag()?;
    let threads = match world {
        World::Live { .. } => arguments.threads.or(NonZeroUsize::new(LIVE_THREADS)),
        World::Simulated => arguments.threads.or_else(|| available_parallelism().ok()),
    };
    let mut campaign = Campaign::new(&cases, &world, arguments.seeds);
    if arguments.live {
        campaign = campaign.with_runs(arguments.runs);
    }
    let progress = CaseProgress::new(arguments.quiet, campaign.runs());
    let show = |made: u64, case: &str| progress.show(made, case);
    let rows = campaign.run(threads.unwrap_or(NonZeroUsize::MIN), &stop, &show);
    progress.end();
    let Finished { rows, error } = rows;
    match arguments.json {
        true => writeln!(out, "{}", Table { rows: &rows }.to_json())?,
        false => table::print(&mut out, &rows)?,
    }
    if stop.load(Ordering::Relaxed) {
        eprintln!("bentpipe bench satellite: stopped; {} of {} cases", rows.len(), cases.len());
        return Ok(interrupted());
    }
    if let Some(error) = error {
        return Err(error.into());
    }
    let missed = rows.iter().any(|row: &Row| row.met == Some(false));
    Ok(if arguments.strict && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
