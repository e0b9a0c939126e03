//! bentpipe: TCP made fast over satellites. One file for each subcommand.

mod demo;
mod gateway;
mod link;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Download files over an emulated GEO link, with and without the gateways
    Demo(demo::Arguments),
    /// Split TCP connections at one end of a satellite link
    Gateway(gateway::Arguments),
    /// Emulate a satellite link on this machine, on real packets
    Link(link::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or("info".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let result: Result<ExitCode, Box<dyn std::error::Error>> = match arguments.command {
        Command::Demo(arguments) => demo::run(&arguments).map_err(Into::into),
        Command::Gateway(arguments) => gateway::run(&arguments).map_err(Into::into),
        Command::Link(arguments) => link::run(&arguments).map_err(Into::into),
    };
    result.unwrap_or_else(|error| {
        eprintln!("bentpipe: {error}");
        ExitCode::FAILURE
    })
}
