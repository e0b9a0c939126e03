//! The name under which the gateway runs: `bentpipe gateway`, a subcommand of the program that has
//! everything, or `bentpipe-gateway`, which is this crate alone. Both take the same arguments, and
//! name themselves in what they advise.

use crate::package::{self, Packaged};
use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
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

/// Which of several gateways of this network namespace it is, or asks; the only one has no name.
static INSTANCE: OnceLock<Option<InstanceName>> = OnceLock::new();

/// The name of one of several gateways in a network namespace.
///
/// Its devices, its lock and its socket have it in their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceName(String);

/// So that a device's name, with this behind `bp-lan-`, is none too long.
const LONGEST_NAME: usize = 8;

impl FromStr for InstanceName {
    type Err = String;

    fn from_str(name: &str) -> Result<InstanceName, String> {
        let ordinary = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(ordinary) {
            true => Ok(InstanceName(name.to_owned())),
            false => Err(format!("a name is 1 to {LONGEST_NAME} letters, digits and `_`")),
        }
    }
}

/// From here on this process is, or asks, the gateway of this name.
pub(crate) fn is_for(instance: Option<InstanceName>) {
    INSTANCE.get_or_init(|| instance);
}

fn instance() -> Option<&'static InstanceName> {
    INSTANCE.get().and_then(Option::as_ref)
}

/// What the gateway is called in its runtime directory, whichever program it is: either finds the
/// other's.
pub(crate) fn service() -> String {
    match instance() {
        Some(InstanceName(name)) => format!("{USUAL} {name}"),
        None => USUAL.to_owned(),
    }
}

/// The TUN devices of the LAN and of the satellite.
pub(crate) fn tuns() -> [String; 2] {
    ["bp-lan", "bp-sat"].map(|device| match instance() {
        Some(InstanceName(name)) => format!("{device}-{name}"),
        None => device.to_owned(),
    })
}

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

    fn packaged(self) -> Packaged {
        match self {
            Program::Bentpipe => Packaged { name: self.name(), section: "1", has_file: false },
            Program::Gateway => Packaged { name: self.name(), section: "8", has_file: true },
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
        let found = package::with_subcommand(command.clone()).try_get_matches();
        if let Ok(found) = &found
            && let Some((package::NAME, given)) = found.subcommand()
            && let Some(folder) = given.get_one::<PathBuf>("folder")
        {
            return Err(match package::write(self.packaged(), command, folder) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("{}: {}: {error}", self.name(), folder.display());
                    ExitCode::FAILURE
                }
            });
        }
        let parsed = found.and_then(|found| Arguments::from_arg_matches(&found));
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

/// The arguments that lead to what the gateway of this name does as `subcommand`.
pub(crate) fn arguments(subcommand: &str) -> Vec<String> {
    let leading: &[&str] = match Program::running() {
        Program::Bentpipe => &["gateway"],
        Program::Gateway => &[],
    };
    let all = leading.iter().copied().chain([subcommand]).map(str::to_owned);
    let name = instance().map(|InstanceName(name)| format!("--name={name}"));
    all.chain(name).collect()
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
