//! `bentpipe-gateway`: the gateway alone, for routers.
#![forbid(unsafe_code)]

use bentpipe_daemon::command;
use bentpipe_daemon::invocation::Program;
use bentpipe_terminal::outputs::{Outputs, Patience};
use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "bentpipe-gateway", version)]
struct CommandLine {
    #[command(flatten)]
    gateway: command::Arguments,
}

fn main() -> ExitCode {
    let CommandLine { gateway } = match Program::Gateway.parse() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let mut outputs = match Outputs::begin(Program::Gateway.name(), Patience::WaitsForNobody) {
        Ok(outputs) => outputs,
        Err(code) => return code,
    };
    let result = command::run(&gateway, &mut outputs);
    outputs.end(result.map_err(Into::into))
}
