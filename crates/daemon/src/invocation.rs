//! The name under which the gateway runs: `bentpipe gateway`, a subcommand of the program that has
//! everything, or `bentpipe-gateway`, which is this crate alone. Both take the same arguments, and
//! name themselves in what they advise.

use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use std::process::ExitCode;
use std::sync::OnceLock;

/// A program that has the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `bentpipe`.
    Bentpipe,
    /// `bentpipe-gateway`.
    Gateway,
}

/// The one that this process is, which it is from its beginning to its end.
static RUNS: OnceLock<Program> = OnceLock::new();

/// As the help texts have it.
const USUAL: &str = "bentpipe gateway";

impl Program {
    /// The one that runs.
    fn running() -> Program {
        *RUNS.get_or_init(|| Program::Bentpipe)
    }

    /// Its name, as a shell knows it.
    pub fn name(self) -> &'static str {
        match self {
            Program::Bentpipe => "bentpipe",
            Program::Gateway => "bentpipe-gateway",
        }
    }

    /// Reads the command line. If it is wrong, or asks for help, that is said, and this is the exit
    /// code.
    ///
    /// # Errors
    /// The exit code, with which the program is to end at once.
    pub fn parse<Arguments: CommandFactory + FromArgMatches>(self) -> Result<Arguments, ExitCode> {
        RUNS.get_or_init(|| self);
        let command = match self {
            Program::Bentpipe => Arguments::command(),
            Program::Gateway => renamed(Arguments::command()),
        };
        let parsed =
            command.try_get_matches().and_then(|found| Arguments::from_arg_matches(&found));
        parsed.map_err(|error| {
            // Help and version are printed as they are; of an error, the part that says what is
            // wrong.
            if !error.use_stderr() {
                error.exit();
            }
            let text = error.to_string();
            let what: Vec<&str> =
                text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
            let what = what.join(" ");
            eprintln!("{}: {} (see --help)", self.name(), what.trim_start_matches("error: "));
            ExitCode::from(2)
        })
    }
}

/// What a shell takes to ask the gateway something: `bentpipe gateway`, or `bentpipe-gateway`.
pub(crate) fn command() -> &'static str {
    match Program::running() {
        Program::Bentpipe => USUAL,
        Program::Gateway => Program::Gateway.name(),
    }
}

/// The arguments that lead to the gateway's own.
pub(crate) fn leading() -> &'static [&'static str] {
    match Program::running() {
        Program::Bentpipe => &["gateway"],
        Program::Gateway => &[],
    }
}

/// The command and all below it, whose help names the program by itself.
fn renamed(command: Command) -> Command {
    let text = |text: Option<&StyledStr>| {
        text.map(|text| text.to_string().replace(USUAL, Program::Gateway.name()))
    };
    let [about, long_about, after, after_long] = [
        command.get_about(),
        command.get_long_about(),
        command.get_after_help(),
        command.get_after_long_help(),
    ]
    .map(text);
    let argument = |argument: Arg| {
        let (help, long) = (text(argument.get_help()), text(argument.get_long_help()));
        let argument = match help {
            Some(help) => argument.help(help),
            None => argument,
        };
        match long {
            Some(long) => argument.long_help(long),
            None => argument,
        }
    };
    let mut command = command.mut_args(argument).mut_subcommands(renamed);
    if let Some(about) = about {
        command = command.about(about);
    }
    if let Some(about) = long_about {
        command = command.long_about(about);
    }
    if let Some(after) = after {
        command = command.after_help(after);
    }
    if let Some(after) = after_long {
        command = command.after_long_help(after);
    }
    command
}
