//! Runs `ip` and `nft`: their languages are stable, readable in a log, and all or nothing where it
//! matters (`nft -f` is one transaction); netlink libraries would bring more code than they save.
//!
//! A command that hangs (a wrapper in the PATH, a lock that somebody holds) is killed after some
//! time, and that is said. No loop that carries packets runs one, but ends and repairs wait for
//! them.

mod streams;

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use streams::{Outcome, Streams};

/// How long a command may take. `nft` reads firewalls of a hundred thousand rules in less, on a
/// slow machine.
const LIMIT: Duration = Duration::from_secs(10);

/// How long one that was killed may take to be gone. In the kernel it may be stuck for longer: it
/// is left then.
const KILLED: Duration = Duration::from_secs(1);

/// From one look at whether it has ended to the next.
const LOOK: Duration = Duration::from_millis(1);

/// The most that is read of one of its outputs, in bytes. A firewall of a hundred thousand rules
/// is less; what is more may be more than a router's memory.
const LONGEST: usize = 16 << 20;

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It is not installed.
    #[error("`{program}` is missing: install the Debian package {package}")]
    Missing {
        /// The command.
        program: &'static str,
        /// What brings it.
        package: &'static str,
    },
    /// It could not be run.
    #[error("cannot run `{program}`: {source}")]
    Run {
        /// The command.
        program: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// It failed.
    #[error("`{command}` failed: {message}")]
    Failed {
        /// The command with its arguments.
        command: String,
        /// The first line that it wrote to its standard error.
        message: String,
    },
    /// It did not end.
    #[error("`{command}` hangs: killed after {limit:?}")]
    Hangs {
        /// The command with its arguments.
        command: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// It has said more than is read.
    #[error("`{command}` says more than {limit} bytes: killed")]
    Long {
        /// The command with its arguments.
        command: String,
        /// The most that is read.
        limit: usize,
    },
}

/// Runs `program` with `input` on its standard input and returns its standard output.
///
/// It runs in a process group of its own: a second Ctrl-C must not stop the clearing up.
///
/// # Errors
/// [`CommandError`].
pub fn run(program: &'static str, arguments: &[&str], input: &str) -> Result<String, CommandError> {
    run_within(LIMIT, program, arguments, input)
}

/// The same, if it takes no longer than `limit`.
///
/// # Errors
/// [`CommandError`].
pub(crate) fn run_within(
    limit: Duration,
    program: &'static str,
    arguments: &[&str],
    input: &str,
) -> Result<String, CommandError> {
    let end = Instant::now() + limit;
    let failed = |source| CommandError::Run { program, source };
    let mut child = spawn(program, arguments)?;
    let streams = Streams::of(&mut child, input, LONGEST).map_err(failed)?;
    let outcome = streams.carry(end).map_err(failed)?;
    let command = || [&[program], arguments].concat().join(" ");
    let ended = match outcome {
        Outcome::Ended(said) => wait(&mut child, end).map_err(failed)?.map(|status| (status, said)),
        Outcome::Late => None,
        Outcome::Long => {
            kill(&mut child);
            return Err(CommandError::Long { command: command(), limit: LONGEST });
        }
    };
    let Some((status, said)) = ended else {
        kill(&mut child);
        let error = CommandError::Hangs { command: command(), limit };
        // Not everybody who runs one says why it failed, and this is not the command's own word.
        tracing::warn!("{error}");
        return Err(error);
    };
    if status.success() {
        return Ok(String::from_utf8_lossy(&said.out).into_owned());
    }
    let errors = String::from_utf8_lossy(&said.errors);
    let message = errors.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    Err(CommandError::Failed { command: command(), message: message.trim().to_owned() })
}

fn spawn(program: &'static str, arguments: &[&str]) -> Result<Child, CommandError> {
    let spawn = |path: &str| {
        Command::new(path)
            .args(arguments)
            // Some answers are told by their words.
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
    };
    let child = match spawn(program) {
        // Not every PATH has the system's directories.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            spawn(&format!("/usr/sbin/{program}"))
        }
        other => other,
    };
    child.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => {
            let package = match program {
                "nft" => "nftables",
                _ => "iproute2",
            };
            CommandError::Missing { program, package }
        }
        _ => CommandError::Run { program, source },
    })
}

/// How it ended, if it does so before `end`.
fn wait(child: &mut Child, end: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        let ended = child.try_wait()?;
        if ended.is_some() || Instant::now() >= end {
            return Ok(ended);
        }
        thread::sleep(LOOK);
    }
}

/// Kills it and what it has started.
fn kill(child: &mut Child) {
    use nix::sys::signal::{Signal, killpg};
    // It was not waited for, so the number is still its own.
    let _ = killpg(nix::unistd::Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
    let _ = wait(child, Instant::now() + KILLED);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(limit: u64, script: &str, input: &str) -> Result<String, CommandError> {
        run_within(Duration::from_secs(limit), "sh", &["-c", script], input)
    }

    #[test]
    fn what_goes_in_and_comes_out_may_be_long() {
        let long = "0123456789\n".repeat(100_000);
        assert_eq!(sh(60, "cat", &long).unwrap(), long);
        // One that does not listen is no failure.
        assert_eq!(sh(60, "echo done", &long).unwrap(), "done\n");
    }

    #[test]
    fn a_command_that_does_not_end_what_it_says_is_killed() {
        let error = sh(60, "yes", "").unwrap_err().to_string();
        assert_eq!(error, "`sh -c yes` says more than 16777216 bytes: killed");
        assert!(matches!(sh(60, "yes >&2", ""), Err(CommandError::Long { .. })));
    }

    #[test]
    fn a_failure_is_told_by_its_first_line() {
        let error = sh(60, "echo >&2; echo why >&2; exit 3", "").unwrap_err().to_string();
        assert!(error.ends_with("failed: why"), "{error}");
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_what_it_has_started() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
        for hangs in [&script, "exec >&- 2>&-; sleep 1000"] {
            let error = sh(1, hangs, "").unwrap_err().to_string();
            assert!(error.ends_with("hangs: killed after 1s"), "{error}");
        }
        let child = std::fs::read_to_string(file).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
        // Whoever adopts it may take its time to reap it.
        let gone = (0..400).any(|_| {
            thread::sleep(Duration::from_millis(10));
            state().map_or(true, |state| state.contains(") Z "))
        });
        assert!(gone, "{:?}", state());
    }
}
