//! Processes that outlive the command that starts them.

use super::NetworkError;
use super::state::Known;
use bentpipe_linux::netns::NetnsError;
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

/// Starts `command`, which writes to `log`, and waits until it has written the line `ready`.
pub(super) fn start(
    what: &str,
    command: &mut Command,
    log: &Path,
    ready: &str,
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
        let text = fs::read_to_string(log).unwrap_or_default();
        if text.lines().any(|line| line.starts_with(ready))
            && let Some(known) = known
        {
            return Ok(known);
        }
        let ended = child.try_wait().ok().flatten();
        if ended.is_some() || Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            let text = fs::read_to_string(log).unwrap_or_default();
            let output = match text.trim() {
                "" => format!("nothing written in {READY_WITHIN:?}"),
                text => text.replace('\n', "; "),
            };
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
