//! Processes that outlive the command that starts them.

use super::NetworkError;
use super::state::Known;
use bentpipe_linux::netns::{Namespace, NetnsError};
use nix::sys::signal::Signal;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long one may take to set itself up, on a machine that is busy.
const READY_WITHIN: Duration = Duration::from_secs(40);
/// How long one may take to end, once it has been told twice.
const GRACE: Duration = Duration::from_secs(5);
/// How often we look.
const LOOK: Duration = Duration::from_millis(10);

/// The last lines of its log that are shown of one that fails.
const SHOWN: usize = 3;

/// The sign that a process is ready.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ready<'a> {
    /// By a line of its log that begins so.
    Says(&'a str),
    /// By listening on this port of TCP in this namespace.
    Listens(&'a Namespace, u16),
}

impl Ready<'_> {
    fn is_met(self, log: &Path) -> bool {
        match self {
            Ready::Says(line) => {
                let text = fs::read_to_string(log).unwrap_or_default();
                text.lines().any(|said| said.starts_with(line))
            }
            Ready::Listens(namespace, port) => is_listening(namespace, port),
        }
    }

    /// The words for a process that has not become ready.
    fn missing(self) -> String {
        match self {
            Ready::Says(_) => format!("nothing written in {READY_WITHIN:?}"),
            Ready::Listens(_, port) => format!("nothing listens on port {port}"),
        }
    }
}

/// Tells whether a socket of this namespace listens on this port of TCP.
pub(super) fn is_listening(namespace: &Namespace, port: u16) -> bool {
    let tables = ["tcp", "tcp6"].map(|table| format!("/proc/thread-self/net/{table}"));
    let read = || tables.map(|path| fs::read_to_string(path).unwrap_or_default());
    let tables = namespace.run(read).unwrap_or_default();
    tables.iter().any(|table| listens(table, port))
}

/// Finds a socket that listens on `port` in a table of sockets (proc_pid_net(5)).
fn listens(table: &str, port: u16) -> bool {
    let port = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let (local, state) = (columns.next(), columns.nth(1));
        local.is_some_and(|local| local.ends_with(&port)) && state == Some("0A")
    })
}

/// Starts `command`, which writes to `log`, and waits until it is `ready`.
pub(super) fn start(
    what: &str,
    command: &mut Command,
    log: &Path,
    ready: Ready<'_>,
) -> Result<Known, NetworkError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |source| NetnsError::Program { program: program.clone(), source };
    let file = File::create(log).map_err(failed)?;
    let other = file.try_clone().map_err(failed)?;
    // A process group of its own: Ctrl-C at the terminal is not for it.
    command.process_group(0).stdin(Stdio::null()).stdout(file).stderr(other);
    let mut child = command.spawn().map_err(failed)?;
    let known = Known::of(child.id());
    let deadline = Instant::now() + READY_WITHIN;
    loop {
        let ended = child.try_wait().ok().flatten();
        if ended.is_none()
            && ready.is_met(log)
            && let Some(known) = known
        {
            return Ok(known);
        }
        if ended.is_some() || Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            let text = fs::read_to_string(log).unwrap_or_default();
            let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            let mut said = lines[lines.len().saturating_sub(SHOWN)..].to_vec();
            let missing = ready.missing();
            if said.is_empty() || ended.is_none() {
                said.insert(0, &missing);
            }
            let output = said.join("; ");
            return Err(NetnsError::NotReady { what: what.to_owned(), output }.into());
        }
        thread::sleep(LOOK);
    }
}

/// Ends them: in order if they can, within some seconds in any case.
pub(super) fn end(processes: &[Known]) {
    let all = |signal: Signal| processes.iter().for_each(|process| process.signal(signal));
    all(Signal::SIGTERM);
    wait(processes, Duration::from_millis(100));
    // A gateway delivers what it holds, unless it is told twice.
    all(Signal::SIGTERM);
    if !wait(processes, GRACE) {
        all(Signal::SIGKILL);
        wait(processes, GRACE);
    }
}

/// Whether all have ended within `patience`.
fn wait(processes: &[Known], patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    while processes.iter().any(Known::is_alive) {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}
