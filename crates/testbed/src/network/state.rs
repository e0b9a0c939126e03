//! What is known of a testbed that is up, for the next command: a directory of its own in our
//! user's runtime directory.
//!
//! The state is written before anything is made, so that whatever is killed, `down` knows what
//! there may be. Processes are known by their number and the moment at which they began, which no
//! two share.

use super::NetworkError;
use super::gateway::daemon_name;
use super::layout::{Layout, Role};
use crate::proxy::ProxyCommand;
use bentpipe_linux::instance::{Instance, InstanceError};
use bentpipe_linux::netns::NETNS_DIR;
use bentpipe_linux::runtime_dir::RuntimeDir;
use bentpipe_scenario::Experiment;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const STATE: &str = "state.json";
const SCENARIO: &str = "scenario.toml";
const FILES: &str = "files.json";
const OWNER: &str = "owner.json";
const BEGIN: &str = "testbed-";

/// A process, told from a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Its number.
    pub pid: i32,
    /// When it began, in ticks since the machine did.
    began: u64,
}

impl Known {
    /// The process of this number, if there is one.
    pub(crate) fn of(pid: u32) -> Option<Known> {
        let began = began(pid)?;
        Some(Known { pid: pid.cast_signed(), began })
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        began(self.pid.cast_unsigned()) == Some(self.began)
    }

    /// Sends it a signal, if it still runs.
    pub(crate) fn signal(&self, signal: Signal) {
        if self.is_alive() {
            let _ = kill(Pid::from_raw(self.pid), signal);
        }
    }
}

/// When a process began (proc_pid_stat(5), field 22); None if it has ended.
fn began(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command, in brackets, may hold anything.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    (state != "Z" && state != "X").then(|| fields.nth(18)?.parse().ok())?
}

/// A process of a testbed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Daemon {
    /// `link sat`, `gateway g1`.
    pub what: String,
    /// It.
    pub process: Known,
}

/// A testbed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Its name.
    pub name: String,
    /// The scenario's file, as it was given.
    pub file: String,
    /// TCPs that Linux does not have are left as Linux has them.
    pub any_stack: bool,
    /// Everything was there once.
    pub complete: bool,
    /// The commands of foreign gateways.
    pub proxies: Vec<ProxyCommand>,
    /// What is where.
    pub layout: Layout,
    /// What runs.
    pub daemons: Vec<Daemon>,
    /// Gateways whose links' TCP goes to a foreign program, by their nodes' numbers.
    pub diverted: BTreeSet<usize>,
    /// Gateways that only forward, and have no process.
    pub routers: BTreeSet<usize>,
}

impl State {
    /// The process that is called so.
    pub fn daemon(&self, what: &str) -> Option<&Daemon> {
        self.daemons.iter().find(|daemon| daemon.what == what)
    }

    /// What should run: links, and gateways.
    pub fn processes(&self) -> Vec<String> {
        let links = self.layout.links.iter().map(|link| format!("link {}", link.name));
        let nodes = self.layout.nodes.iter().enumerate();
        let gateways = nodes
            .filter(|(number, node)| node.role == Role::Gateway && !self.routers.contains(number));
        links.chain(gateways.map(|(_, node)| daemon_name(&node.name))).collect()
    }

    /// What should be there and is not, in a few words each.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if !self.complete {
            missing.push("it never came up whole".to_owned());
        }
        let gone = |node: &&super::PlacedNode| !Path::new(NETNS_DIR).join(&node.namespace).exists();
        let nodes = self.layout.nodes.iter().filter(gone);
        missing.extend(nodes.map(|node| format!("namespace of {}", node.name)));
        let runs = |what: &String| self.daemon(what).is_some_and(|it| it.process.is_alive());
        let ended = self.processes().into_iter().filter(|what| !runs(what));
        missing.extend(ended.map(|what| format!("process of {what}")));
        missing
    }
}

/// The directory of a testbed.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// That of the testbed `name`, whether it is there or not.
    ///
    /// # Errors
    /// There is no place for it.
    pub fn of(name: &str) -> Result<Folder, NetworkError> {
        let place = RuntimeDir::create().map_err(InstanceError::from)?;
        Ok(Folder { path: place.path().join(format!("{BEGIN}{name}")) })
    }

    /// The one at `path`.
    pub fn at(path: &Path) -> Folder {
        Folder { path: path.to_owned() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The log of the process that is called so.
    pub fn log(&self, what: &str) -> PathBuf {
        self.path.join(format!("{}.log", file_name(what)))
    }

    /// Where the link of this number is asked.
    pub(crate) fn socket(&self, link: usize) -> PathBuf {
        self.path.join(format!("link-{link}.sock"))
    }

    /// The packets of the link of this number in the last run, if they were recorded.
    pub fn capture(&self, link: usize) -> PathBuf {
        self.path.join(format!("link-{link}.pcapng"))
    }

    pub(crate) fn create(&self) -> Result<(), NetworkError> {
        fs::create_dir_all(&self.path).map_err(|source| self.error(source))
    }

    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }

    /// What is known of the testbed.
    ///
    /// # Errors
    /// [`NetworkError::NotUp`], or it cannot be read.
    pub fn state(&self, name: &str) -> Result<State, NetworkError> {
        let text = match fs::read_to_string(self.path.join(STATE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(NetworkError::NotUp(name.to_owned()));
            }
            other => other.map_err(|source| self.error(source))?,
        };
        serde_json::from_str(&text).map_err(|error| self.error(error.into()))
    }

    pub(crate) fn save(&self, state: &State) -> Result<(), NetworkError> {
        self.write(STATE, &serde_json::json!(state).to_string())
    }

    pub(crate) fn save_experiment(&self, experiment: &Experiment) -> Result<(), NetworkError> {
        self.write(SCENARIO, experiment.source())?;
        self.write(FILES, &serde_json::json!(experiment.files()).to_string())
    }

    /// The scenario's text as it was when the testbed came up.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn source(&self) -> Result<String, NetworkError> {
        fs::read_to_string(self.path.join(SCENARIO)).map_err(|source| self.error(source))
    }

    /// The files that it names, with their texts.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn files(&self) -> Result<BTreeMap<String, String>, NetworkError> {
        let text =
            fs::read_to_string(self.path.join(FILES)).map_err(|source| self.error(source))?;
        serde_json::from_str(&text).map_err(|error| self.error(error.into()))
    }

    /// A text for one of our processes, which can be read after a kill: it is there whole or not at
    /// all.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), NetworkError> {
        let (path, new) = (self.path.join(name), self.path.join(format!(".{name}")));
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &path));
        written.map_err(|source| self.error(source))
    }

    fn error(&self, source: io::Error) -> NetworkError {
        NetworkError::Files { path: self.path.display().to_string(), source }
    }

    /// Who brings it up, runs on it or takes it down, if anybody does.
    pub(crate) fn owner(&self) -> Option<Known> {
        let text = fs::read_to_string(self.path.join(OWNER)).ok()?;
        serde_json::from_str(&text).ok().filter(Known::is_alive)
    }
}

fn file_name(what: &str) -> String {
    what.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// The right to change a testbed, or to run on it.
#[derive(Debug)]
pub struct Held {
    folder: Folder,
    _instance: Instance,
}

impl Held {
    pub(crate) fn take(
        name: &str,
        folder: &Folder,
        patience: Duration,
    ) -> Result<Held, NetworkError> {
        let lock = format!("bentpipe testbed {name}");
        let instance = Instance::lock_within(&lock, patience).map_err(|error| match error {
            InstanceError::Running(_) => NetworkError::Busy(name.to_owned()),
            other => other.into(),
        })?;
        Ok(Held { folder: folder.clone(), _instance: instance })
    }

    /// Lets others know who it is; the folder must be there.
    pub(crate) fn sign(&self) -> Result<(), NetworkError> {
        let own = Known::of(std::process::id());
        self.folder.write(OWNER, &serde_json::json!(own).to_string())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.folder.path.join(OWNER));
    }
}

/// The names of all testbeds of which something is left.
///
/// # Errors
/// There is no place where they could be.
pub fn names() -> Result<BTreeSet<String>, NetworkError> {
    let place = RuntimeDir::find().map_err(InstanceError::from)?;
    let found = |path: &Path| -> Vec<String> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    };
    let folders = found(place.path());
    let mut names: BTreeSet<String> =
        folders.iter().filter_map(|name| name.strip_prefix(BEGIN)).map(str::to_owned).collect();
    let begin = format!("{}{BEGIN}", bentpipe_linux::netns::teardown::PREFIX);
    for space in found(Path::new(NETNS_DIR)) {
        let name = space.strip_prefix(&begin).and_then(|rest| rest.split_once('.'));
        names.extend(name.map(|(name, _)| name.to_owned()));
    }
    Ok(names)
}

/// `text` as a testbed's name.
pub fn name_of(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let name: String = text.chars().map(plain).take(40).collect();
    if name.is_empty() { "testbed".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_a_later_one_of_its_number() {
        let own = Known::of(std::process::id()).unwrap();
        assert!(own.is_alive());
        assert!(!Known { began: own.began + 1, ..own }.is_alive());
        assert_eq!(Known::of(u32::MAX >> 1), None);
    }

    #[test]
    fn names_have_no_dots() {
        assert_eq!(name_of("geo download.v2"), "geo-download-v2");
        assert_eq!(name_of(""), "testbed");
    }
}
