//! What goes wrong with `bentpipe link`.

use crate::sim;
use bentpipe_config::DocumentError;
use bentpipe_emulator::between::BetweenError;
use bentpipe_emulator::netns_command::NetnsCommandError;
use bentpipe_links::SettingsError;
use bentpipe_linux::poll::LoopError;
use std::io;

/// Why `bentpipe link` failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Not two interfaces.
    #[error(
        "--between takes two interfaces separated by a comma, such as `eth1,eth2`, or both with their network \
         namespaces: `here:sat0,there:sat0`"
    )]
    Between,
    /// Namespaces.
    #[error(transparent)]
    Namespaces(#[from] bentpipe_emulator::netns_pair::NetnsPairError),
    /// No link.
    #[error("which link? Give --rate and --delay, --down and --up, --profile or --scenario")]
    NoLink,
    /// Two links.
    #[error("--scenario says all of the link: settings and profiles do not go with it")]
    Both,
    /// No name.
    #[error(
        "`{0}` is no name of a link: up to 32 letters, digits, `.` and `_`, and not only digits"
    )]
    Name(String),
    /// Nobody to ask.
    #[error("no `bentpipe link` of yours runs on this machine")]
    NoneRuns,
    /// Others run.
    #[error("no link `{0}` of yours runs on this machine: there are {1}")]
    NotRunning(String, String),
    /// Too many.
    #[error("several links run: choose with --link one of {0}")]
    SeveralRun(String),
    /// It says no.
    #[error("{0}")]
    Refused(String),
    /// Asking it.
    #[error(transparent)]
    Client(#[from] bentpipe_linux::serve::ClientError),
    /// Real-time priority.
    #[error("--realtime: {0} (it takes root)")]
    RealTime(io::Error),
    /// A recording that cannot be begun.
    #[error("cannot record to {0}: {1}")]
    Record(String, io::Error),
    /// Its length is none.
    #[error("--record-max: {0}")]
    RecordMax(String),
    /// Several links.
    #[error("{0} has several links: choose with --link one of {1}")]
    WhichLink(String, String),
    /// No such link.
    #[error("{0} has no link `{1}`: it has {2}")]
    UnknownLink(String, String, String),
    /// Not live.
    #[error("`medium`: {0} shares it with other links; both directions of one link can share one")]
    Medium(String),
    /// Not live, or a setting.
    #[error(transparent)]
    Live(#[from] bentpipe_emulator::live::LiveError),
    /// A setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The scenario's file.
    #[error(transparent)]
    Source(#[from] sim::Error),
    /// What stands in it.
    #[error(transparent)]
    Scenario(#[from] DocumentError),
    /// Setting up.
    #[error(transparent)]
    Interfaces(#[from] BetweenError),
    /// Running the command.
    #[error(transparent)]
    NetnsCommand(#[from] NetnsCommandError),
    /// The test of this machine.
    #[error(transparent)]
    SelfTest(#[from] bentpipe_emulator::self_test::SelfTestError),
    /// Running.
    #[error(transparent)]
    Emulator(#[from] LoopError),
    /// Signals or standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
}
