//! Other programs that are waited for: no longer than they may take, and until somebody interrupts.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program may have ended before that is seen.
const POLL: Duration = Duration::from_millis(5);

/// Why a program runs no more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It has ended.
    Itself(ExitStatus),
    /// What it has done was enough.
    Enough,
    /// It took too long.
    Late,
}

/// Runs programs, and ends them with itself.
pub(crate) struct Children {
    interrupted: Arc<AtomicBool>,
}

impl Children {
    /// From now on signals no longer end this program, but its [`run`](Children::run)s.
    ///
    /// # Errors
    /// The system does not want it.
    pub(crate) fn new() -> io::Result<Children> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
        }
        Ok(Children { interrupted })
    }

    /// Runs `command` until it ends, takes longer than `limit`, or `is_enough`.
    ///
    /// # Errors
    /// It does not start, or somebody interrupts.
    pub(crate) fn run(
        &self,
        command: &mut Command,
        limit: Duration,
        mut is_enough: impl FnMut() -> io::Result<bool>,
    ) -> io::Result<Ended> {
        let mut child = command.spawn()?;
        let deadline = Instant::now() + limit;
        loop {
            let status = child.try_wait()?;
            // Who interrupts a terminal's programs ends them all.
            let ended = if self.interrupted.load(Ordering::Relaxed) {
                Some(Err(io::ErrorKind::Interrupted.into()))
            } else if let Some(status) = status {
                Some(Ok(Ended::Itself(status)))
            } else if is_enough()? {
                Some(Ok(Ended::Enough))
            } else if Instant::now() >= deadline {
                Some(Ok(Ended::Late))
            } else {
                None
            };
            if let Some(ended) = ended {
                if status.is_none() {
                    child.kill()?;
                    child.wait()?;
                }
                return ended;
            }
            thread::sleep(POLL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_ends_itself_or_is_ended() {
        let children = Children::new().unwrap();
        let hour = Duration::from_secs(3600);
        let (mut sleep, mut exit) = (Command::new("sleep"), Command::new("false"));
        sleep.arg("3600");
        let ended = children.run(&mut exit, hour, || Ok(false)).unwrap();
        assert!(matches!(ended, Ended::Itself(status) if status.code() == Some(1)));
        assert_eq!(children.run(&mut sleep, hour, || Ok(true)).unwrap(), Ended::Enough);
        assert_eq!(children.run(&mut sleep, Duration::ZERO, || Ok(false)).unwrap(), Ended::Late);
        children.interrupted.store(true, Ordering::Relaxed);
        let error = children.run(&mut sleep, hour, || Ok(false)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }
}
