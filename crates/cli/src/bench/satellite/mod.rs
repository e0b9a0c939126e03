//! How far the gateways are from the limit of the link: every case in virtual time, with the code
//! that is deployed.

mod progress;
mod table;

use super::BenchError;
use bentpipe_bench::satellite::campaign::Campaign;
use bentpipe_bench::satellite::cases;
use bentpipe_bench::satellite::row::{Row, Table};
use bentpipe_terminal::interrupt::{interrupted, stop_flag};
use progress::CaseProgress;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread::available_parallelism;

/// How far are the gateways from the limit of the link, and from what is wanted of them?
///
/// Each case is run in virtual time: by the hosts alone, as Linux is (CUBIC), through a pair of
/// gateways that know the link's rate and round trip, and through a pair of which nothing is known.
/// The limit is an ideal sender: back to back at the link's rate, each loss known a round trip
/// later. Times are means over the seeds, the same ones in all columns, from the SYN to the last
/// byte, in seconds. A ratio is with one gateway over without; its bound holds with 95 %
/// confidence.
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
")]
pub(crate) struct Arguments {
    /// So many seeds; cases that take long, or vary little, take a tenth or a hundredth of them
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seeds: u64,
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
    /// So many threads (as many as there are cores without it)
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Say nothing meanwhile
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, BenchError> {
    let mut cases = cases::all(arguments.long);
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
    let threads = arguments.threads.or_else(|| available_parallelism().ok());
    let campaign = Campaign::new(&cases, arguments.seeds)?;
    let progress = CaseProgress::new(arguments.quiet, campaign.runs());
    let show = |made: u64, case: &str| progress.show(made, case);
    let rows = campaign.run(threads.unwrap_or(NonZeroUsize::MIN), &stop, &show);
    progress.end();
    let rows = rows?;
    match arguments.json {
        true => writeln!(out, "{}", Table { rows: &rows }.to_json())?,
        false => table::print(&mut out, &rows)?,
    }
    if stop.load(Ordering::Relaxed) {
        eprintln!("bentpipe bench satellite: stopped; {} of {} cases", rows.len(), cases.len());
        return Ok(interrupted());
    }
    let missed = rows.iter().any(|row: &Row| row.met == Some(false));
    Ok(if arguments.strict && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
