//! `bentpipe bench`: what bentpipe itself costs on this machine, and how good its gateways are.

mod flows;
mod satellite;
mod sim;
mod traces;

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
        about = "How much a gateway carries on this machine, next to plain forwarding and to other proxies"
    )]
    Flows(flows::Arguments),
    #[command(
        about = "How far the gateways are from the limit of satellite links, case by case, in virtual time or live"
    )]
    Satellite(satellite::Arguments),
    #[command(
        about = "How many packets a second the simulator carries on one core, and in how much memory"
    )]
    Sim(sim::Arguments),
    #[command(
        about = "Which congestion control, or pair of gateways, is best on traces of links: scores and figures"
    )]
    Traces(traces::Arguments),
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
    /// It is not root that wants to measure flows.
    #[error("bench flows builds network namespaces: run it as root")]
    Namespaces,
    /// Flows through a router.
    #[error("bench flows: {0}")]
    Flows(#[from] bentpipe_bench::flows::FlowsError),
    /// The file with more settings.
    #[error("cannot read {file}: {source}")]
    Settings {
        /// The file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A trace.
    #[error(transparent)]
    Trace(#[from] bentpipe_lab::traces::TraceFileError),
    /// The scenario of traces.
    #[error(transparent)]
    Scenario(#[from] bentpipe_config::DocumentError),
    /// A run of traces.
    #[error("{label}: {why}")]
    Failed {
        /// Its point.
        label: String,
        /// What went wrong.
        why: String,
    },
    /// Results cannot be written.
    #[error(transparent)]
    Lab(#[from] bentpipe_lab::LabError),
    /// Signals or standard output.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, BenchError> {
    match &arguments.command {
        BenchCommand::Flows(arguments) => flows::run(arguments),
        BenchCommand::Satellite(arguments) => satellite::run(arguments),
        BenchCommand::Sim(arguments) => sim::run(arguments),
        BenchCommand::Traces(arguments) => traces::run(arguments),
    }
}
