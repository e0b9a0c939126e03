//! `bentpipe trace`: files of a link's delay, rate and loss over time.

mod convert;
mod path;
mod read;
mod record;
mod shell;
mod show;
mod verify;

use std::process::ExitCode;

/// Make traces, which links of a scenario and `bentpipe link` replay, and show them
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    #[command(about = "Turn other programs' files into traces")]
    Convert(convert::Arguments),
    #[command(about = "Compute the delay between two places over a constellation")]
    Path(path::Arguments),
    #[command(about = "Measure the delay and loss to another host")]
    Record(record::Arguments),
    #[command(about = "Write the element sets of a shell of satellites")]
    Shell(shell::Arguments),
    #[command(about = "Show what a trace says")]
    Show(show::Arguments),
    #[command(about = "Replay a trace in virtual time and compare it with the file")]
    Verify(verify::Arguments),
}

/// Why `bentpipe trace` failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Standard output.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A file that cannot be read.
    #[error("{path}: {why}")]
    File { path: String, why: std::io::Error },
    /// What it says.
    #[error("{path}, {why}")]
    ElementSets { path: String, why: bentpipe_scenario::orbit::ElementSetsError },
    /// A trace, or another program's file; it names the file.
    #[error(transparent)]
    Foreign(#[from] bentpipe_links::foreign::ForeignError),
    /// The same as a link reads it.
    #[error("{0}")]
    Trace(Box<bentpipe_config::Problem>),
    /// Something else about a file or a host.
    #[error("{place}: {why}")]
    Format { place: String, why: String },
    /// Of a constellation with crosslinks.
    #[error(
        "{0}: a grid needs the first line to say how many planes there are and how many satellites in each, such as `72 22`"
    )]
    NoGrid(String),
    /// Nothing reaches the other end.
    #[error(
        "no way leads from one place to the other in all of this time (see --crosslinks, --relay and --min-elevation)"
    )]
    NoWay,
}

/// Runs one of them.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    match &arguments.command {
        Command::Convert(arguments) => convert::run(arguments),
        Command::Path(arguments) => path::run(arguments),
        Command::Record(arguments) => record::run(arguments),
        Command::Shell(arguments) => shell::run(arguments),
        Command::Show(arguments) => show::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
    }
}
