//! `bentpipe bench`: what bentpipe itself costs on this machine, and how good its gateways are.

mod satellite;
mod sim;

use clap::Subcommand;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Subcommand)]
enum BenchCommand {
    #[command(
        about = "How far the gateways are from the limit of satellite links, case by case, in virtual time or live"
    )]
    Satellite(satellite::Arguments),
    #[command(
        about = "How many packets a second the simulator carries on one core, and in how much memory"
    )]
    Sim(sim::Arguments),
}

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// A run.
    #[error(transparent)]
    Run(#[from] bentpipe_bench::BenchError),
    /// No case has such a name.
    #[error("no case has `{0}` in its name (`bentpipe bench satellite --list` shows them)")]
    NoCase(String),
    /// No column is of such a foreign gateway.
    #[error("no column takes the proxy `{0}` (pepsal has one)")]
    NoColumn(String),
    /// It is not root that wants to run live.
    #[error("--live builds network namespaces: run it as root")]
    Root,
    /// Signals or standard output.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, BenchError> {
    match &arguments.command {
        BenchCommand::Satellite(arguments) => satellite::run(arguments),
        BenchCommand::Sim(arguments) => sim::run(arguments),
    }
}
