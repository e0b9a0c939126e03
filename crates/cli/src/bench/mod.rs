//! `bentpipe bench`: what bentpipe itself costs on this machine, and how good its gateways are.

pub(crate) mod satellite;
mod sim;

use clap::Subcommand;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// How far the gateways are from the limit of satellite links, case by case, in virtual time
    Satellite(satellite::Arguments),
    /// How many packets a second the simulator carries on one core, and in how much memory
    Sim(sim::Arguments),
}

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// A run is a process of its own, and could not be started.
    #[error("cannot start a run: {0}")]
    Start(std::io::Error),
    /// It ended without its result.
    #[error("a run failed: {0}")]
    Run(String),
    /// No case has such a name.
    #[error("no case has `{0}` in its name (`bentpipe bench satellite --list` shows them)")]
    NoCase(String),
    /// Signals or standard output.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The kernel does not say what a process has used.
    #[error("cannot read what the process has used: {0}")]
    Usage(String),
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, BenchError> {
    match &arguments.what {
        What::Satellite(arguments) => satellite::run(arguments),
        What::Sim(arguments) => sim::run(arguments),
    }
}
