//! The simulator's speed: each run is a process of its own.

use super::BenchError as CommandError;
use bentpipe_bench::BenchError;
use bentpipe_bench::simulator::{BenchSummary, Case, Cost, simulate};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use std::io::{self, Write};
use std::process::{Command, ExitCode};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// How often to run each case
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Run one case here, and print what it took
    #[arg(long, value_name = "CASE", hide = true, value_parser = case())]
    case: Option<Case>,
}

/// A case by its name.
fn case() -> impl TypedValueParser<Value = Case> {
    PossibleValuesParser::new(Case::ALL.map(Case::name)).map(|name| {
        let mut all = Case::ALL.into_iter();
        all.find(|case| case.name() == name).expect("the parser knows these names only")
    })
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let mut out = io::stdout().lock();
    if let Some(case) = arguments.case {
        writeln!(out, "{}", to_json(&simulate(case)?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let summary = BenchSummary::of(arguments.rounds, in_a_process)?;
    if arguments.json {
        writeln!(out, "{}", to_json(&summary))?;
    } else {
        let wall = summary.by_the_wall_clock;
        writeln!(
            out,
            "The simulator on one core, data and acknowledgments counted as they arrive:"
        )?;
        writeln!(out, "  one flow, 10 Mbit/s   {:>9} packets/s", summary.packets_per_second)?;
        writeln!(out, "    by the wall clock   {wall:>9.0} packets/s")?;
        writeln!(
            out,
            "    peak memory         {:>9.1} MB",
            summary.peak_memory_bytes as f64 / 1e6
        )?;
        writeln!(
            out,
            "  at 100 Mbit/s         {:>9.2} × the cost of a packet",
            summary.cost_ratio_bdp_x10
        )?;
        writeln!(
            out,
            "  1000 flows, 1 Gbit/s  {:>9.2} × the cost of a packet",
            summary.cost_ratio_1000_flows
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

fn in_a_process(case: Case) -> Result<Cost, BenchError> {
    let output = std::env::current_exe()
        .and_then(|this| Command::new(this).args(["bench", "sim", "--case", case.name()]).output())
        .map_err(BenchError::Start)?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        BenchError::Run(format!("{} {}", output.status, said.trim()))
    })
}

pub(super) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers can be written")
}
