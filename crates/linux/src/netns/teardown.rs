//! What this process has made and must unmake: namespaces, child processes, directories.
//!
//! Values that own such a thing unmake it when dropped. This register is for the ways out on
//! which nothing is dropped: signals, and (for the next run to clean up) SIGKILL.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{NETNS_DIR, NetnsError, run};

/// Every name of ours begins so; the maker's process id follows.
pub const PREFIX: &str = "bentpipe-";
/// Directories of a run: in /run, where only root can have put a name before us.
const RUN_DIR: &str = "/run";
/// How long children may take to end by themselves when we tear down.
const GRACE: Duration = Duration::from_secs(5);

#[derive(Debug)]
struct Register {
    /// Set once, upon a signal: from then on nothing new is made.
    closed: bool,
    namespaces: BTreeSet<String>,
    children: BTreeSet<i32>,
    directories: BTreeSet<PathBuf>,
    /// How many names this process has handed out.
    names: u32,
}

static REGISTER: Mutex<Register> = Mutex::new(Register {
    closed: false,
    namespaces: BTreeSet::new(),
    children: BTreeSet::new(),
    directories: BTreeSet::new(),
    names: 0,
});

/// The register; a panic elsewhere does not keep us from cleaning up.
fn register() -> MutexGuard<'static, Register> {
    REGISTER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A name for a set of namespaces that no other run has, and that tells its maker.
pub fn unique_name() -> String {
    let mut register = register();
    register.names += 1;
    format!("{PREFIX}{}-{}", std::process::id(), register.names)
}

/// From now on SIGINT, SIGTERM and SIGHUP unmake everything and end the process with 128 plus
/// the signal's number, as a shell reports it.
///
/// # Errors
/// If the system refuses the handlers.
pub fn on_signals() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            unmake_everything();
            std::process::exit(128 + signal);
        }
    })?;
    Ok(())
}

/// Returns, unless a signal is ending the process: then it ends here.
pub fn defer_to_signals() {
    while register().closed {
        thread::sleep(GRACE);
    }
}

/// Removes what runs that were killed have left: namespaces with the processes in them, and
/// directories. Those of living processes stay. Returns how many things were removed.
pub fn remove_leftovers() -> usize {
    let mut removed = 0;
    for name in left_in(NETNS_DIR) {
        delete_namespace(&name);
        removed += 1;
    }
    for name in left_in(RUN_DIR) {
        removed += usize::from(fs::remove_dir_all(Path::new(RUN_DIR).join(name)).is_ok());
    }
    removed
}

/// A directory of this run, which goes when this value is dropped or the run is torn down.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Makes `/run/NAME`.
    ///
    /// # Errors
    /// If it exists already, or we are not root.
    pub fn create(name: &str) -> io::Result<RunDirectory> {
        let path = Path::new(RUN_DIR).join(name);
        let mut register = register();
        fs::create_dir(&path)?;
        register.directories.insert(path.clone());
        Ok(RunDirectory { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        let mut register = register();
        let _ = fs::remove_dir_all(&self.path);
        register.directories.remove(&self.path);
    }
}

/// Makes the namespace `name` by `make`, unless the run is being torn down.
pub(super) fn making_namespace<T>(
    name: &str,
    make: impl FnOnce() -> Result<T, NetnsError>,
) -> Result<T, NetnsError> {
    // The lock is held while `make` runs: a signal either comes before, and nothing is made, or
    // after, and the namespace is in the register.
    let mut register = register();
    if register.closed {
        return Err(NetnsError::Interrupted);
    }
    let made = make()?;
    register.namespaces.insert(name.to_owned());
    Ok(made)
}

/// Starts a child by `start`, which returns it with its process id, unless tearing down.
pub(super) fn starting_child<T>(
    start: impl FnOnce() -> Result<(T, u32), NetnsError>,
) -> Result<T, NetnsError> {
    let mut register = register();
    if register.closed {
        return Err(NetnsError::Interrupted);
    }
    let (child, pid) = start()?;
    register.children.insert(pid.cast_signed());
    Ok(child)
}

/// Reaps a child by `reap`, which says whether it has ended. Until it is reaped its process id
/// is its own, so nobody else is ever signalled in its place.
pub(super) fn reaping_child<T>(pid: u32, reap: impl FnOnce() -> Option<T>) -> Option<T> {
    let mut register = register();
    let ended = reap()?;
    register.children.remove(&pid.cast_signed());
    Some(ended)
}

/// Deletes a namespace of this process, if the teardown has not done so already.
pub(super) fn remove_namespace(name: &str) {
    let mut register = register();
    if register.namespaces.remove(name) {
        delete_namespace(name);
    }
}

fn unmake_everything() {
    let mut register = register();
    register.closed = true;
    let mut children = std::mem::take(&mut register.children);
    for &pid in &children {
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
    }
    let deadline = Instant::now() + GRACE;
    while !children.is_empty() {
        children.retain(|&pid| {
            // An error means that its owner reaped it before the lock was ours.
            matches!(
                waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG)),
                Ok(WaitStatus::StillAlive)
            )
        });
        if Instant::now() > deadline {
            for &pid in &children {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
                let _ = waitpid(Pid::from_raw(pid), None);
            }
            children.clear();
        }
        thread::sleep(Duration::from_millis(10));
    }
    for name in &std::mem::take(&mut register.namespaces) {
        delete_namespace(name);
    }
    for path in &std::mem::take(&mut register.directories) {
        let _ = fs::remove_dir_all(path);
    }
}

/// Ends the processes inside a namespace of ours and deletes it.
pub fn delete_namespace(name: &str) {
    let inside = run(Command::new("ip").args(["netns", "pids", name]), None).unwrap_or_default();
    for pid in inside.split_whitespace().filter_map(|pid| pid.parse().ok()) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
    if let Err(error) = run(Command::new("ip").args(["netns", "delete", name]), None) {
        tracing::warn!("{error}");
    }
}

/// Names in `directory` that a dead process of ours has left.
fn left_in(directory: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| maker_of(name).is_some_and(|pid| kill(pid, None) == Err(Errno::ESRCH)))
        .collect()
}

/// The process that made a name: 4711 for `bentpipe-4711-1-h1`.
fn maker_of(name: &str) -> Option<Pid> {
    let (pid, _rest) = name.strip_prefix(PREFIX)?.split_once('-')?;
    pid.parse().ok().filter(|&pid| pid > 0).map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_maker() {
        let name = unique_name();
        assert_eq!(maker_of(&format!("{name}-h1")), Some(Pid::this()));
        assert_ne!(unique_name(), name);
        for foreign in ["bentpipe-h1", "bentpipe--1-h1", "bpa-12-h1", "bentpipe-12", "12"] {
            assert_eq!(maker_of(foreign), None, "{foreign}");
        }
    }
}
