//! Whoever watches over a gateway that lives and does not answer.
//!
//! When a gateway dies, its programs and devices vanish and the kernel forwards. When it hangs, or
//! is stopped, packets would wait in its devices until nobody has vouched for it any more for
//! [`PATIENCE`](crate::bump::PATIENCE). A process that is stopped or waits for something comes back
//! no sooner for that. So a second process, which a SIGSTOP of the first does not stop, hears a
//! beat from the loop over a pipe, and takes back what was vouched for when there is none. As soon
//! as the loop goes on, it vouches again. One that is short of a processor has the whole time. So
//! the watchdog reads the gateway's `/proc/self/stat`, by a descriptor from the gateway itself: a
//! unit may hide other processes (`hidepid` of proc(5)). Only opening is checked, not reading.
//!
//! The gateway goes on rather than end: it releases the connections that it had, since their hosts
//! may have gone on between themselves, but first it delivers what it owes, which an end would cost
//! them. It does so if packets have gone by, which the kernel counts: if the
//! whole machine has stood still for a while, nothing has passed, and the connections stay.
//!
//! The pipe ends with the gateway, however that ends, and the watchdog with the pipe. What a killed
//! gateway has left it then removes.
//!
//! It acts before it speaks, and what it says waits in a queue of its own process (`output`):
//! whoever reads the log, and may be why the gateway hangs, cannot hold it up. No signal ends it,
//! since those who signal a service may signal all of its processes.

use crate::bump::Vouching;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_linux::descriptor;
use bentpipe_linux::instance::Instance;
use bentpipe_linux::privileges::{self, PrivilegeError};
use bentpipe_linux::serve;
use bentpipe_linux::signals::Signals;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{SFlag, fstat};
use std::fs::File;
use std::io::{self, Read, Write};
use std::mem;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Instant as Deadline;

/// From beat to beat.
const BEAT: Duration = Duration::from_millis(200);

/// Silence, in milliseconds, after which a loop seems to hang …
const SILENCE: u16 = 700;
/// … and further silence, in milliseconds, after which it does: when the watchdog has stood still,
/// too, the beat comes as soon as both go on. A SYN that waits in the device is repeated after a
/// second (RFC 6298): by then the kernel is to forward.
const DOUBT: u16 = 100;

/// The loop turns.
const ALIVE: u8 = b'.';
/// The gateway ends in order: there is nothing left to do.
const FAREWELL: u8 = b'!';
/// What the watchdog says first: it watches.
const WATCHING: u8 = b'w';

/// A watchdog that does not watch after so many milliseconds will not.
const START: u16 = 10_000;

/// How long it may take to end with the gateway. What it may be doing is then done by the gateway
/// as well.
const PARTING: Duration = Duration::from_secs(3);
/// From one look at that to the next.
const LOOK: Duration = Duration::from_millis(2);

/// How long a process that was killed may take to let go of its lock. Its files are closed in their
/// order, and a device among them may take seconds where many come and go.
const LETTING_GO: Duration = Duration::from_secs(30);

/// The gateway's ends of the pipes. Dropping it ends the watchdog.
#[derive(Debug)]
pub struct Watchdog {
    process: Child,
    pipe: ChildStdin,
    told: ChildStdout,
    last: Option<Instant>,
}

impl Watchdog {
    /// Starts `command`, and waits until it watches.
    ///
    /// It is to call [`watch`] with the descriptors whose numbers are its last two arguments. A
    /// gateway that says that it is ready has its watchdog.
    ///
    /// # Errors
    /// When there is no such process or pipe, or the process does not watch.
    pub fn start(mut command: Command, vouching: &impl AsFd) -> io::Result<Watchdog> {
        // In a group of its own: Ctrl-Z and Ctrl-C are for the gateway.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let passed_on = [to_pass_on(vouching)?, to_pass_on(&File::open("/proc/self/stat")?)?];
        command.args(passed_on.each_ref().map(|passed_on| passed_on.as_raw_fd().to_string()));
        let mut process = command.spawn()?;
        drop(passed_on);
        let pipe = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut told = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        if let Err(error) = hear_first_word(&mut told) {
            // It ends with its pipe, unless it is stuck.
            let _ = process.kill().and_then(|()| process.wait());
            return Err(error);
        }
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        fcntl(&told, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Watchdog { process, pipe, told, last: None })
    }

    /// When the next beat is due.
    pub(crate) fn next(&self) -> Instant {
        self.last.map_or(Instant::ZERO, |last| last + BEAT)
    }

    /// The loop turns. A pipe that is full has beats enough.
    ///
    /// # Errors
    /// When the watchdog is gone.
    pub(crate) fn beat(&mut self, now: Instant) -> io::Result<()> {
        if now < self.next() {
            return Ok(());
        }
        self.last = Some(now);
        match self.pipe.write(&[ALIVE]) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
        // It says nothing; that it is gone shows.
        match self.told.read(&mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

/// A copy of a descriptor for the child. Another child that is started at this moment has it, too,
/// which does no harm.
fn to_pass_on(descriptor: &impl AsFd) -> io::Result<OwnedFd> {
    let copy = descriptor.as_fd().try_clone_to_owned()?;
    fcntl(&copy, FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(copy)
}

/// Waits until the watchdog says that it watches.
fn hear_first_word(told: &mut ChildStdout) -> io::Result<()> {
    // A signal may come in between; it waits until the loop turns.
    let said = is_readable_within(told, START)?;
    let mut word = [0];
    if !said || told.read(&mut word)? == 0 || word[0] != WATCHING {
        return Err(io::Error::other("the watchdog did not start"));
    }
    Ok(())
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // If the pipe is full it ends as for a gateway that was killed.
        let _ = self.pipe.write(&[FAREWELL]);
        // Its log waits for nobody for longer than a second; one that is stopped would be waited
        // for for ever.
        let end = Deadline::now() + PARTING;
        while matches!(self.process.try_wait(), Ok(None)) {
            if Deadline::now() >= end {
                let _ = self.process.kill();
                break;
            }
            thread::sleep(LOOK);
        }
    }
}

/// Why a watchdog cannot watch.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// It was not started by a gateway.
    #[error("only a gateway starts its watchdog: standard input is not a pipe")]
    NoPipe,
    /// It would have had more rights than it needs.
    #[error(transparent)]
    Privileges(#[from] PrivilegeError),
    /// Waiting failed.
    #[error("the watchdog cannot wait: {0}")]
    Io(#[from] io::Error),
}

/// What the watchdog process of `service` does, until its standard input ends. It logs what it
/// does. `vouching` and `stat` are the numbers of the descriptors that [`Watchdog::start`] has
/// passed on.
///
/// # Errors
/// [`WatchError`].
pub fn watch(service: &str, vouching: RawFd, stat: RawFd) -> Result<(), WatchError> {
    // Before anything else is opened.
    let vouching = descriptor::inherited(vouching)?.ok_or(WatchError::NoPipe)?;
    let stat = File::from(descriptor::inherited(stat)?.ok_or(WatchError::NoPipe)?);
    let vouching = Vouching::of_descriptor(vouching);
    // The gateway may need us until its end.
    let _signals = Signals::catch_all()?;
    let stdin = io::stdin();
    let mode = fstat(&stdin).map_err(io::Error::from)?.st_mode;
    if SFlag::from_bits_truncate(mode) & SFlag::S_IFMT != SFlag::S_IFIFO {
        return Err(WatchError::NoPipe);
    }
    privileges::give_up_as_watchdog()?;
    say(WATCHING)?;
    // Before the first beat it has vouched for nothing.
    let (mut begun, mut hangs) = (false, false);
    loop {
        match hear(&stdin)? {
            Heard::Nothing if !begun => {}
            Heard::Nothing => {
                // It may be short of a processor, or turn in a circle; to release its connections
                // is dearer than to wait until what it has vouched for lapses.
                if !is_running(&stat) && !hangs {
                    hangs = retracted(&vouching);
                    if hangs {
                        tracing::warn!("the gateway does not answer: the kernel forwards");
                    }
                }
            }
            Heard::Beat => {
                begun = true;
                if mem::take(&mut hangs) {
                    tracing::warn!("the gateway answers again");
                }
            }
            Heard::Farewell => return Ok(()),
            Heard::End => {
                retracted(&vouching);
                // Unless another has taken its place.
                if let Ok(_lock) = Instance::lock_within(service, LETTING_GO) {
                    serve::clear(service);
                }
                return Ok(());
            }
        }
    }
}

/// Takes back what the gateway has vouched for; whether that was done.
fn retracted(vouching: &Vouching) -> bool {
    let done = vouching.retract();
    if let Err(error) = &done {
        tracing::error!(%error, "the kernel does not hear that the gateway hangs");
    }
    done.is_ok()
}

/// Tells the gateway.
fn say(word: u8) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(&[word])?;
    out.flush()
}

enum Heard {
    Nothing,
    Beat,
    Farewell,
    End,
}

fn hear(pipe: &impl AsFd) -> io::Result<Heard> {
    if !is_readable_within(pipe, SILENCE)? && !is_readable_within(pipe, DOUBT)? {
        return Ok(Heard::Nothing);
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

/// Whether something is to be read, or becomes so within so many milliseconds. Signals that come in
/// between cost no time: whoever sends them could keep us from hearing the silence.
fn is_readable_within(pipe: &impl AsFd, millis: u16) -> io::Result<bool> {
    let end = Deadline::now() + Duration::from_millis(millis.into());
    loop {
        let left = end.saturating_duration_since(Deadline::now());
        // Rounded up, or the last millisecond would be spent in turning.
        let left =
            PollTimeout::from(u16::try_from(left.as_micros().div_ceil(1000)).unwrap_or(millis));
        match poll(&mut [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)], left) {
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
            Ok(ready) => return Ok(ready > 0),
        }
    }
}

/// Whether a process runs or waits for a processor: it is neither stopped nor asleep (proc(5),
/// `/proc/PID/stat`). One of which that cannot be read is taken to run: it has the whole time.
fn is_running(stat: &File) -> bool {
    // The state stands behind the number and the name, which has 64 bytes at most.
    let mut bytes = [0; 256];
    let Ok(length) = stat.read_at(&mut bytes, 0) else { return true };
    // The name may have any characters.
    let behind = bytes[..length].rsplit(|byte| *byte == b')').next().unwrap_or_default();
    behind.trim_ascii_start().starts_with(b"R")
}

#[cfg(test)]
mod tests {
    use super::{Watchdog, is_running};
    use std::fs::File;
    use std::process::{Child, Command};

    #[test]
    fn a_process_that_does_not_watch_is_none() {
        for says in ["true", "echo something else"] {
            let mut command = Command::new("sh");
            command.args(["-c", says]);
            let error = Watchdog::start(command, &std::io::stderr()).expect_err("no watchdog");
            assert!(error.to_string().contains("did not start"), "{error}");
        }
    }

    #[test]
    fn a_watchdog_is_handed_the_state_of_the_process_that_starts_it() {
        let mut command = Command::new("sh");
        let script =
            "read pid rest </proc/self/fd/$2; test $pid = $PPID && printf w; head -c 1 >/dev/null";
        command.args(["-c", script, "sh"]);
        Watchdog::start(command, &std::io::stderr()).expect("it says that it watches");
    }

    #[test]
    fn who_asks_runs_and_who_waits_does_not() {
        let mut turns = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh");
        let mut waits = Command::new("sleep").arg("60").spawn().expect("sleep");
        let stat =
            |process: &Child| File::open(format!("/proc/{}/stat", process.id())).expect("stat");
        let (of_turning, of_waiting) = (stat(&turns), stat(&waits));
        // Until it has begun to sleep it runs, and one that turns waits for its program's pages now
        // and then.
        let comes_to_be = |stat: &File, running: bool| {
            (0..3000).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(10));
                is_running(stat) == running
            })
        };
        let slept = comes_to_be(&of_waiting, false);
        let turned = comes_to_be(&of_turning, true);
        for process in [&mut turns, &mut waits] {
            process.kill().expect("it lives");
            process.wait().expect("it ends");
        }
        assert!(slept && turned);
        assert!(is_running(&of_waiting), "of one that is gone nothing can be read");
    }
}
