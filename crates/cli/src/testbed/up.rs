//! `bentpipe testbed up`.

use super::{Error, name_of, warn};
use crate::sim;
use bentpipe_lab::Source;
use bentpipe_scenario::Change;
use bentpipe_terminal::interrupt::{interrupted, stop_flag};
use bentpipe_testbed::network::{self, Folder, Network, NetworkError, Request, Stacks};
use bentpipe_testbed::plan::{self, ForeignPrograms, PlanError};
use bentpipe_testbed::proxy::ProxyCommand;
use std::path::PathBuf;
use std::process::ExitCode;

/// Brings the network of a scenario up: of a sweep, that of the first point. It stays when this
/// ends.
///
/// The testbed is called like its file, without the ending, unless --name says otherwise. If it is
/// up already, that is said and nothing is done.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe testbed up my.toml
  bentpipe testbed up my.toml --set link.sat.loss=0.01 --name lossy
  bentpipe testbed up my.toml --proxy pepsal=/opt/pepsal
  bentpipe testbed up geo-gateways        an example that comes with bentpipe
")]
pub(super) struct Arguments {
    /// A scenario file, or the name of an example
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What it is to be called
    #[arg(long)]
    name: Option<String>,
    /// Change a field of the scenario, by its path as in a sweep: link.sat.loss=0.01
    #[arg(long = "set", value_name = "PATH=VALUE")]
    changes: Vec<Change>,
    /// Leave TCP settings that Linux does not have as Linux has them, and say which
    #[arg(long)]
    any_stack: bool,
    /// The command of a foreign program that a gateway's `proxy` names: a transparent TCP proxy, to
    /// which the links' TCP is diverted. `{port}` is where it listens (5000); of pepsal the path is
    /// enough
    #[arg(long = "proxy", value_name = "NAME=COMMAND")]
    proxies: Vec<ProxyCommand>,
}

/// Brings it up.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let source = Source::find(&arguments.file).map_err(sim::Error::from)?;
    let experiment = source.experiment(&arguments.changes).map_err(PlanError::from)?;
    sim::say(experiment.notes());
    let name = match &arguments.name {
        Some(name) => network::name_of(name),
        None => name_of(&arguments.file),
    };
    let stacks = if arguments.any_stack { Stacks::Any } else { Stacks::AsAsked };
    let proxies = &arguments.proxies;
    let programs = ForeignPrograms { browser: None, proxies };
    let points = plan::points(&experiment, source.name(), &name, stacks, programs)?;
    if network::names()?.contains(&name) {
        return already(&name, experiment.source(), arguments);
    }
    warn(&points);
    let stop = stop_flag()?;
    let binary = std::env::current_exe()?;
    let request = Request {
        name: &name,
        file: source.name(),
        experiment: &experiment,
        stacks,
        proxies,
        binary: &binary,
        realtime: false,
    };
    let first = &points[0];
    let network = match Network::up(&request, &first.stack, &first.gateways, &stop) {
        Err(NetworkError::Interrupted) => {
            eprintln!("bentpipe testbed: interrupted; nothing is left of {name}");
            return Ok(interrupted());
        }
        other => other?,
    };
    let layout = &network.state().layout;
    let [nodes, links] = [layout.nodes.len(), layout.links.len()];
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    println!(
        "bentpipe testbed: {name} is up, {nodes} nodes and {links} link{}; `bentpipe testbed run {name}` runs \
         its flows",
        plural(links)
    );
    Ok(ExitCode::SUCCESS)
}

/// One of this name is there.
fn already(name: &str, source: &str, arguments: &Arguments) -> Result<ExitCode, Error> {
    let folder = Folder::of(name)?;
    let broken = |missing: String| NetworkError::Broken { name: name.to_owned(), missing };
    let state = match folder.state(name) {
        Err(NetworkError::NotUp(_)) => return Err(broken("it was killed".to_owned()).into()),
        other => other?,
    };
    let missing = state.missing();
    if !missing.is_empty() {
        return Err(broken(missing.join(", ")).into());
    }
    let Arguments { any_stack, proxies, .. } = arguments;
    let same = state.any_stack == *any_stack && state.proxies == *proxies;
    if folder.source()? != source || !same {
        return Err(Error::Differs(name.to_owned()));
    }
    println!("bentpipe testbed: {name} is up already");
    Ok(ExitCode::SUCCESS)
}
