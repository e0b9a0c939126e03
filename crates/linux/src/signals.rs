//! Signals as something to poll for, so that they end an event loop cleanly, or not at all.
//!
//! `signal-hook`, because its handlers are async-signal-safe and it needs no signal mask, which
//! children would inherit.

mod core_dump;

pub use core_dump::dump_core_upon_second_quit;

use nix::libc;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR2};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

/// Which signal came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT: Ctrl-C, which the terminal also sends to our children.
    Interrupt,
    /// SIGTERM, sent to us alone.
    Terminate,
    /// SIGQUIT: Ctrl-\.
    Quit,
    /// SIGHUP: the terminal has hung up, or the configuration is to be read again.
    Hangup,
    /// SIGUSR2: another process takes the place of this one.
    Restart,
    /// One that has no meaning here, by its number.
    Meaningless(i32),
}

/// What would end the process if nothing were done about it (signal(7)), but for the faults of a
/// process itself, what Rust ignores already (SIGPIPE), and what has a meaning.
const MEANINGLESS: &[i32] = &[
    libc::SIGUSR1,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
    libc::SIGXCPU,
    libc::SIGXFSZ,
];

/// Catches signals from its creation to the end of the process.
#[derive(Debug)]
pub struct Signals {
    pipe: UnixStream,
    waker: UnixStream,
    pending: Mutex<Pending>,
    /// What SIGHUP is told as.
    hangup: Signal,
}

#[derive(Debug)]
struct Pending {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    /// Numbers that have come and were not told.
    untold: VecDeque<i32>,
}

impl Signals {
    /// Starts to catch SIGINT and SIGTERM: from here on they no longer end the process. A terminal
    /// that hangs up (SIGHUP) counts as SIGTERM.
    ///
    /// # Errors
    /// When no pipe or handler can be made.
    pub fn catch() -> io::Result<Signals> {
        Signals::of(&[SIGTERM, SIGINT, SIGHUP], Signal::Terminate)
    }

    /// Starts to catch all signals that would end the process, but for SIGKILL and its own faults.
    ///
    /// # Errors
    /// When no pipe or handler can be made.
    pub fn catch_all() -> io::Result<Signals> {
        let real_time = libc::SIGRTMIN()..=libc::SIGRTMAX();
        let all = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR2].into_iter();
        let all: Vec<i32> = all.chain(MEANINGLESS.iter().copied()).chain(real_time).collect();
        Signals::of(&all, Signal::Hangup)
    }

    fn of(numbers: &[i32], hangup: Signal) -> io::Result<Signals> {
        let (read, write) = UnixStream::pair()?;
        let (pipe, waker) = (read.try_clone()?, write.try_clone()?);
        waker.set_nonblocking(true)?;
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, numbers)?;
        let pending = Mutex::new(Pending { delivery, untold: VecDeque::new() });
        Ok(Signals { pipe, waker, pending, hangup })
    }

    /// A signal that has come and was not told, if one has; of several each is told.
    /// The descriptor is readable until there is none.
    pub fn received(&self) -> Option<Signal> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let Pending { delivery, untold } = &mut *pending;
        untold.extend(delivery.pending());
        let number = untold.pop_front()?;
        if !untold.is_empty() {
            // A pipe that is full is readable all the more.
            let _ = (&self.waker).write(b"X");
        }
        Some(match number {
            SIGINT => Signal::Interrupt,
            SIGTERM => Signal::Terminate,
            SIGQUIT => Signal::Quit,
            SIGHUP => self.hangup,
            SIGUSR2 => Signal::Restart,
            number => Signal::Meaningless(number),
        })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// What a signal is called.
pub fn name(number: i32) -> String {
    match nix::sys::signal::Signal::try_from(number) {
        Ok(signal) => signal.as_str().to_owned(),
        Err(_) => format!("signal {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use signal_hook::low_level::raise;

    fn is_readable(signals: &Signals) -> bool {
        let mut fds = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO).unwrap() == 1
    }

    #[test]
    fn each_signal_is_told_once() {
        let signals = Signals::catch_all().unwrap();
        assert_eq!((is_readable(&signals), signals.received()), (false, None));
        let sent = [SIGHUP, libc::SIGUSR1, libc::SIGPROF, SIGTERM, libc::SIGXFSZ, libc::SIGRTMAX()];
        sent.iter().for_each(|number| raise(*number).unwrap());
        let mut told = Vec::new();
        while is_readable(&signals) {
            told.extend(signals.received());
        }
        assert_eq!(told.len(), sent.len(), "{told:?}");
        for signal in [Signal::Hangup, Signal::Terminate, Signal::Meaningless(libc::SIGRTMAX())] {
            assert!(told.contains(&signal), "{signal:?} of {told:?}");
        }
        assert_eq!(signals.received(), None);
    }

    #[test]
    fn signals_have_names() {
        assert_eq!(name(libc::SIGUSR1), "SIGUSR1");
        assert_eq!(name(libc::SIGRTMIN() + 1), "signal 35");
    }
}
