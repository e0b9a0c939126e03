//! Whoever watches over a gateway that lives and does not answer.
//!
//! When a gateway dies, its devices vanish and the kernel forwards. When it hangs, or is stopped,
//! packets would wait in its devices for ever. So a second process, which a SIGSTOP of the first
//! does not stop, hears a beat from the loop over a pipe, and puts the gateway's nft table to sleep
//! when there is none: nothing is marked then, and the kernel forwards. Once beats come again the
//! table is woken.
//!
//! The gateway goes on rather than end: connections whose hosts have gone on between themselves it
//! sees as connections whose route has changed, and hands back; to the others it still owes bytes,
//! which an end would cost them.
//!
//! The pipe ends with the gateway, however that ends, and the watchdog with the pipe. What a killed
//! gateway has left of its rules it then removes.

use crate::divert::DivertConfig;
use crate::signals::Signals;
use bentpipe_core::time::{Duration, Instant};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{SFlag, fstat};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

/// From beat to beat.
const BEAT: Duration = Duration::from_millis(200);

/// Silence, in milliseconds, that makes a loop one that hangs. A SYN that waits in the device is repeated after a
/// second (RFC 6298): by then the kernel is to forward.
const SILENCE: u16 = 800;

/// The loop turns.
const ALIVE: u8 = b'.';
/// The gateway ends in order: there is nothing left to do.
const FAREWELL: u8 = b'!';

/// The gateway's end of the pipe. Dropping it ends the watchdog.
#[derive(Debug)]
pub struct Watchdog {
    process: Child,
    pipe: ChildStdin,
    next: Instant,
}

impl Watchdog {
    /// Starts `command`, which is to call [`watch`].
    ///
    /// # Errors
    /// When there is no such process or pipe.
    pub fn start(mut command: Command) -> io::Result<Watchdog> {
        // In a group of its own: Ctrl-Z and Ctrl-C are for the gateway.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let mut process = command.spawn()?;
        let pipe = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Watchdog { process, pipe, next: Instant::ZERO })
    }

    /// When the next beat is due.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// The loop turns. A pipe that is full has beats enough.
    ///
    /// # Errors
    /// When the watchdog is gone.
    pub(crate) fn beat(&mut self, now: Instant) -> io::Result<()> {
        if now < self.next {
            return Ok(());
        }
        self.next = now + BEAT;
        match self.pipe.write(&[ALIVE]) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // If the pipe is full it ends as for a gateway that was killed.
        let _ = self.pipe.write(&[FAREWELL]);
        let _ = self.process.wait();
    }
}

/// Why a watchdog cannot watch.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// It was not started by a gateway.
    #[error("only a gateway starts its watchdog: standard input is not a pipe")]
    NoPipe,
    /// Waiting failed.
    #[error("the watchdog cannot wait: {0}")]
    Io(#[from] io::Error),
}

/// What the watchdog process does, until its standard input ends. It logs what it does.
///
/// # Errors
/// [`WatchError`].
pub fn watch(config: &DivertConfig) -> Result<(), WatchError> {
    // Those who stop a service may signal all of its processes; the gateway may need us until its
    // end.
    let _signals = Signals::catch()?;
    let stdin = io::stdin();
    let mode = fstat(&stdin).map_err(io::Error::from)?.st_mode;
    if SFlag::from_bits_truncate(mode) & SFlag::S_IFMT != SFlag::S_IFIFO {
        return Err(WatchError::NoPipe);
    }
    let mut asleep = false;
    loop {
        match hear(&stdin)? {
            Heard::Nothing if !asleep => {
                tracing::warn!("the gateway does not answer: the kernel forwards");
                // If it does not work it is tried again.
                asleep = said("put to sleep", config.sleep());
            }
            Heard::Nothing => {}
            Heard::Beat if asleep => {
                tracing::warn!("the gateway answers again");
                asleep = !said("woken", config.wake());
            }
            Heard::Beat => {}
            Heard::Farewell => return Ok(()),
            Heard::End => {
                config.clear();
                return Ok(());
            }
        }
    }
}

enum Heard {
    Nothing,
    Beat,
    Farewell,
    End,
}

fn hear(pipe: &impl AsFd) -> io::Result<Heard> {
    let mut fds = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
    match poll(&mut fds, PollTimeout::from(SILENCE)) {
        Ok(0) => return Ok(Heard::Nothing),
        // A signal is as good as a beat: the next silence counts.
        Err(Errno::EINTR) => return Ok(Heard::Beat),
        Err(errno) => return Err(errno.into()),
        Ok(_) => {}
    }
    let mut beats = [0; 64];
    // Not through a buffer, which `poll` does not see.
    let count = nix::unistd::read(pipe, &mut beats)?;
    Ok(match count {
        0 => Heard::End,
        _ if beats[..count].contains(&FAREWELL) => Heard::Farewell,
        _ => Heard::Beat,
    })
}

/// Whether it was done; if not, says so.
fn said<E: std::fmt::Display>(what: &str, done: Result<(), E>) -> bool {
    if let Err(error) = &done {
        tracing::error!(%error, "the gateway's rules could not be {what}");
    }
    done.is_ok()
}
