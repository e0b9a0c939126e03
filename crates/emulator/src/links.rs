//! The links that run on this machine, found from another shell: each has a socket in its user's
//! directory, whose name has its process and its own name, whatever network namespace it is in.

use bentpipe_linux::runtime_dir::RuntimeDir;
use bentpipe_linux::serve::{self, ClientError, ServeError, Server};
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use std::fs;
use std::path::PathBuf;

/// How a link's service begins; process and name follow.
const SERVICE: &str = "bentpipe link process";
/// The longest name.
const LONGEST: usize = 32;

/// A link that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningLink {
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    socket: PathBuf,
}

impl RunningLink {
    /// Asks it.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn ask(&self, question: &str) -> Result<Vec<u8>, ClientError> {
        let who = format!("bentpipe link {} (process {})", self.name, self.pid);
        serve::ask_at(&self.socket, &who, question)?.ok_or(ClientError::NotRunning(who))
    }
}

/// Answers questions to the link `name` of this process: [`Server::for_operators`].
///
/// # Errors
/// [`ServeError`].
pub fn serve(
    name: &str,
    answer: impl FnMut(&str) -> Option<Vec<u8>> + Send + 'static,
) -> Result<Server, ServeError> {
    Server::for_operators(&format!("{SERVICE} {} {name}", std::process::id()), answer)
}

/// Whether a link can have this name: letters, digits, `.` and `_`.
pub fn is_name(name: &str) -> bool {
    let ordinary = |byte: u8| byte.is_ascii_alphanumeric() || b"._".contains(&byte);
    (1..=LONGEST).contains(&name.len())
        && name.bytes().all(ordinary)
        // Else it could be a process.
        && !name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Our user's links that run, by process.
pub fn running() -> Vec<RunningLink> {
    let links = files().into_iter().filter_map(|(file, pid)| {
        let (_, rest) = parse(file.file_name()?.to_str()?)?;
        let name = rest.strip_suffix("-control.sock")?.to_owned();
        is_alive(pid).then_some(RunningLink { pid, name, socket: file })
    });
    let mut links: Vec<_> = links.collect();
    links.sort_by_key(|link| link.pid);
    links
}

/// Removes the sockets and locks of links that were killed; their processes.
pub fn remove_leftovers() -> Vec<u32> {
    let mut dead = Vec::new();
    for (file, pid) in files() {
        if !is_alive(pid) && fs::remove_file(file).is_ok() {
            dead.push(pid);
        }
    }
    dead.sort_unstable();
    dead.dedup();
    dead
}

/// Files of links, each with its process.
fn files() -> Vec<(PathBuf, u32)> {
    let entries = RuntimeDir::find().ok().and_then(|dir| fs::read_dir(dir.path()).ok());
    let entries = entries.into_iter().flatten().filter_map(Result::ok);
    entries
        .filter_map(|entry| {
            let (pid, _) = parse(entry.file_name().to_str()?)?;
            Some((entry.path(), pid))
        })
        .collect()
}

/// Process and rest of `4026531840-bentpipe-link-process-4711-eth1_eth2-control.sock`.
fn parse(file: &str) -> Option<(u32, &str)> {
    let (_namespace, service) = file.split_once('-')?;
    let rest = service.strip_prefix(&SERVICE.replace(' ', "-"))?.strip_prefix('-')?;
    let (pid, rest) = rest.split_once('-')?;
    Some((pid.parse().ok().filter(|pid| *pid > 0)?, rest))
}

fn is_alive(pid: u32) -> bool {
    kill(Pid::from_raw(pid.cast_signed()), None) != Err(Errno::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_tells_whose_it_is() {
        let file = "4026531840-bentpipe-link-process-4711-eth1_eth2-control.sock";
        assert_eq!(parse(file), Some((4711, "eth1_eth2-control.sock")));
        for foreign in
            ["1-bentpipe-link.lock", "1-bentpipe-link-3.lock", "1-bentpipe-link-process-x-y"]
        {
            assert_eq!(parse(foreign), None, "{foreign}");
        }
        assert!(is_name("eth1_eth2.7") && !is_name("4711") && !is_name("a-b") && !is_name(""));
    }
}
