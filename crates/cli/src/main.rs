//! bentpipe: TCP made fast over satellites. One file for each subcommand.
#![forbid(unsafe_code)]

mod bench;
mod demo;
mod fuzz;
mod link;
mod papers;
mod plot;
mod presets;
mod sim;
mod testbed;
mod trace;

use bentpipe_daemon::command as gateway;
use bentpipe_daemon::invocation::Program;
use bentpipe_terminal::outputs::{Outputs, Patience};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

// A description as an attribute, and not as a comment: this would replace the longer one of a
// subcommand's own arguments in its help.
#[derive(Subcommand)]
enum Command {
    #[command(
        about = "Measure what bentpipe costs and carries on this machine, and how near the link's limit its gateways come"
    )]
    Bench(bench::Arguments),
    #[command(about = "Download files over an emulated GEO link, with and without the gateways")]
    Demo(demo::Arguments),
    #[command(about = "Test the gateways against random faults, in virtual time")]
    Fuzz(fuzz::Arguments),
    #[command(about = "Split TCP connections at one end of a satellite link")]
    Gateway(gateway::Arguments),
    #[command(about = "Emulate a satellite link on this machine, on real packets")]
    Link(link::Arguments),
    #[command(about = "Run the papers' figures, and see which of their claims hold")]
    Papers(papers::Arguments),
    #[command(about = "Draw the figures of results, or the time-sequence graphs of captures")]
    Plot(plot::Arguments),
    #[command(about = "Show the TCP presets, or all parameters of one")]
    Presets(presets::Arguments),
    #[command(about = "Run an experiment in virtual time")]
    Sim(sim::Arguments),
    #[command(about = "Run an experiment on Linux's own TCP, in network namespaces")]
    Testbed(testbed::Arguments),
    #[command(about = "Make traces of a link, from orbits or from other programs' files")]
    Trace(trace::Arguments),
}

fn main() -> ExitCode {
    let arguments: Arguments = match Program::Bentpipe.parse() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    // What carries packets waits for no reader.
    let patience = match arguments.command {
        Command::Gateway(_) | Command::Link(_) => Patience::WaitsForNobody,
        _ => Patience::Waits,
    };
    let mut outputs = match Outputs::begin(Program::Bentpipe.name(), patience) {
        Ok(outputs) => outputs,
        Err(code) => return code,
    };
    let result: Result<ExitCode, Box<dyn std::error::Error>> = match arguments.command {
        Command::Bench(arguments) => bench::run(&arguments).map_err(Into::into),
        Command::Demo(arguments) => demo::run(&arguments).map_err(Into::into),
        Command::Fuzz(arguments) => fuzz::run(&arguments).map_err(Into::into),
        Command::Gateway(arguments) => gateway::run(&arguments, &mut outputs).map_err(Into::into),
        Command::Link(arguments) => link::run(&arguments).map_err(Into::into),
        Command::Papers(arguments) => papers::run(&arguments).map_err(Into::into),
        Command::Plot(arguments) => plot::run(&arguments).map_err(Into::into),
        Command::Presets(arguments) => presets::run(&arguments).map_err(Into::into),
        Command::Sim(arguments) => sim::run(&arguments).map_err(Into::into),
        Command::Testbed(arguments) => testbed::run(&arguments).map_err(Into::into),
        Command::Trace(arguments) => trace::run(&arguments).map_err(Into::into),
    };
    outputs.end(result)
}
