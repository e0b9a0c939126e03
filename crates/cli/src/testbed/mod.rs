//! `bentpipe testbed`: a scenario on real stacks, in network namespaces.

mod measure;
mod status;
mod up;

use crate::sim;
use bentpipe_lab::LabError;
use bentpipe_linux::netns::{Namespace, NetnsError};
use bentpipe_linux::real_time;
use bentpipe_testbed::network::{self, Folder, NetworkError, Role};
use bentpipe_testbed::plan::{self, LivePoint, PlanError};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Lays a scenario out as network namespaces, and runs its flows there on Linux's own TCP.
///
/// Hosts and routers are Linux, gateways are `bentpipe gateway` or a foreign program, links are the
/// emulator of `bentpipe link`. `run` writes the same tables as `bentpipe sim` does, so that both
/// can be compared. What cannot be had live is refused by its key: other workloads than bulk,
/// request-response, http and ping; middleboxes; route changes and crashes; TCP settings that Linux
/// does not have.
///
/// A testbed stays until `down`, which also removes what is left of one that was killed. It takes
/// root.
#[derive(clap::Args)]
#[command(after_long_help = "\
Example:
  bentpipe testbed up my.toml             its name is my
  bentpipe testbed status
  bentpipe testbed shell client           a shell on that host; or: shell client -- ping -c 3 10.90.0.1
  bentpipe testbed run --runs 5           tables in results/my-testbed
  bentpipe testbed down
")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    #[command(about = "Bring a scenario's network up: it stays until `down`")]
    Up(up::Arguments),
    #[command(
        about = "Run the flows of a testbed that is up, and write tables as `bentpipe sim` does"
    )]
    Run(measure::Arguments),
    #[command(about = "Show hosts, addresses, links and processes")]
    Status(status::Arguments),
    #[command(about = "Open a shell, or run a command, on a host")]
    Shell(Shell),
    #[command(about = "Remove a testbed, whatever is left of it")]
    Down(Down),
    /// Carry the packets of one link
    #[command(hide = true)]
    Carry {
        /// The link's number
        #[arg(long)]
        link: usize,
        /// The testbed's directory
        #[arg(long)]
        directory: PathBuf,
        /// Before ordinary programs, if the kernel allows it
        #[arg(long)]
        realtime: bool,
    },
}

/// Runs `$SHELL`, or a command, in the network namespace of a node of a testbed. Its exit code is
/// passed on.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe testbed shell client
  bentpipe testbed shell client --testbed my -- ping -c 3 10.90.0.1
")]
struct Shell {
    /// The host, router or gateway, as the scenario calls it
    #[arg(value_name = "HOST")]
    host: String,
    /// The testbed's name or file, if several are up
    #[arg(long, value_name = "NAME")]
    testbed: Option<String>,
    /// Run this instead of a shell
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Ends a testbed's processes and removes its namespaces. A run that is under way is interrupted.
/// What a kill has left is found and removed as well.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe testbed down
  bentpipe testbed down my.toml
  bentpipe testbed down --all
")]
struct Down {
    /// The testbed's name or file, if several are up
    #[arg(value_name = "NAME")]
    testbed: Option<String>,
    /// All that are there
    #[arg(long, conflicts_with = "testbed")]
    all: bool,
}

/// Why `bentpipe testbed` failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Not root.
    #[error("bentpipe testbed takes root, for network namespaces: run it with sudo")]
    Root,
    /// Its file.
    #[error(transparent)]
    Source(#[from] sim::Error),
    /// The scenario cannot be run live.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// One with that name, and something else in it.
    #[error("testbed {0} is up with another scenario: `bentpipe testbed down {0}` first")]
    Differs(String),
    /// More than one.
    #[error("several testbeds are up: say which of {0}")]
    Which(String),
    /// None.
    #[error("no testbed is up (`bentpipe testbed up FILE`)")]
    None,
    /// There is no such node.
    #[error("testbed {testbed} has no host `{host}` (there are {known})")]
    NoHost {
        /// The testbed.
        testbed: String,
        /// What was asked for.
        host: String,
        /// What there is.
        known: String,
    },
    /// A point that the experiment does not have.
    #[error("--point {point}: the points are 0 to {last}")]
    NoPoint {
        /// What was asked for.
        point: usize,
        /// The last one.
        last: usize,
    },
    /// The network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A command on a host.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    /// Storing or writing results.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Signals, processes or standard output.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Does what is asked for.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::Root);
    }
    match &arguments.action {
        Action::Up(arguments) => up::run(arguments),
        Action::Run(arguments) => measure::run(arguments),
        Action::Status(arguments) => status::run(arguments),
        Action::Shell(arguments) => shell(arguments),
        Action::Down(arguments) => down(arguments),
        Action::Carry { link, directory, realtime } => carry(*link, directory, *realtime),
    }
}

/// Says on standard error what is not as the scenario has it.
fn warn(points: &[LivePoint]) {
    plan::remarks(points).iter().for_each(|remark| eprintln!("bentpipe testbed: {remark}"));
}

/// The name of the testbed that is meant: by its name or its file, or the only one.
fn named(asked: Option<&str>) -> Result<String, Error> {
    let names = network::names()?;
    match asked {
        Some(name) if names.contains(name) => Ok(name.to_owned()),
        Some(file) => Ok(name_of(Path::new(file))),
        None => only(&names),
    }
}

fn only(names: &BTreeSet<String>) -> Result<String, Error> {
    let mut all = names.iter();
    match (all.next(), all.next()) {
        (Some(name), None) => Ok(name.clone()),
        (None, _) => Err(Error::None),
        _ => Err(Error::Which(names.iter().cloned().collect::<Vec<_>>().join(", "))),
    }
}

/// What a testbed of this file is called.
fn name_of(file: &Path) -> String {
    network::name_of(&file.file_stem().unwrap_or_default().to_string_lossy())
}

fn shell(arguments: &Shell) -> Result<ExitCode, Error> {
    let name = named(arguments.testbed.as_deref())?;
    let layout = Folder::of(&name)?.state(&name)?.layout;
    let Some(node) = layout.node(&arguments.host) else {
        let known: Vec<&str> = layout.nodes.iter().map(|node| node.name.as_str()).collect();
        let (testbed, host) = (name, arguments.host.clone());
        return Err(Error::NoHost { testbed, host, known: known.join(", ") });
    };
    let usual = std::env::var("SHELL").ok().filter(|shell| !shell.is_empty());
    let usual = [usual.unwrap_or_else(|| "/bin/sh".to_owned())];
    let command = if arguments.command.is_empty() { &usual[..] } else { &arguments.command };
    if arguments.command.is_empty() {
        let hosts = layout.nodes.iter().filter(|node| node.role == Role::Host);
        let hosts: Vec<String> =
            hosts.map(|node| format!("{} {}", node.name, node.address)).collect();
        eprintln!("bentpipe testbed: on {} of {name}; {}", node.name, hosts.join(", "));
    }
    let mut process = Namespace::existing(&node.namespace).command(&command[0]);
    process.args(&command[1..]).env("BENTPIPE_HOST", &node.name);
    Err(process.exec().into())
}

fn down(arguments: &Down) -> Result<ExitCode, Error> {
    let names = match arguments.all {
        true => network::names()?,
        false => BTreeSet::from([named(arguments.testbed.as_deref())?]),
    };
    if names.is_empty() {
        return Err(Error::None);
    }
    for name in names {
        network::down(&name)?;
        println!("bentpipe testbed: {name} is down");
    }
    Ok(ExitCode::SUCCESS)
}

/// A link's own process.
fn carry(link: usize, directory: &Path, realtime: bool) -> Result<ExitCode, Error> {
    if realtime && let Err(error) = real_time::begin() {
        tracing::warn!(%error, "no real-time priority");
    }
    let folder = Folder::at(directory);
    let state = folder.state("")?;
    let experiment = plan::saved(&folder, &state.file, &[])?;
    let Some(placed) = state.layout.links.get(link) else { return Ok(ExitCode::FAILURE) };
    let far = Namespace::existing(&state.layout.nodes[placed.ends[1].0].namespace);
    let point = |index| (index < experiment.len()).then(|| experiment.point(index).scenario);
    let ready = || {
        println!("bentpipe testbed carry: ready");
        io::stdout().flush()
    };
    network::carry(&folder, (link, placed), &far, &point, &ready)?;
    Ok(ExitCode::SUCCESS)
}
