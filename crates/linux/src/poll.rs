//! Waiting for packets, deadlines and signals: the part that the gateway's loop and the emulator's
//! share.

use crate::clock::Clock;
use crate::signals::{Signal, Signals};
use crate::tun::{ReadError, Tun};
use bentpipe_core::time::Instant;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Why an event loop stopped by itself.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// Waiting failed.
    #[error("cannot wait for packets: {0}")]
    Poll(io::Error),
    /// A device failed.
    #[error("cannot read from {device}: {source}")]
    Read {
        /// The TUN device.
        device: String,
        /// What the kernel said.
        source: ReadError,
    },
    /// A device was deleted, and nobody has made it again.
    #[error("the device {0} was deleted and could not be made again: start it again")]
    Deleted(String),
}

impl LoopError {
    /// Reading from `tun` has failed.
    pub fn read(tun: &Tun, source: ReadError) -> LoopError {
        LoopError::Read { device: tun.name().to_owned(), source }
    }
}

/// What there is to do.
#[derive(Debug)]
pub struct Ready {
    /// Which devices have packets.
    pub tuns: [bool; 2],
    /// A signal has come.
    pub signal: Option<Signal>,
    /// The caller's own descriptor has become readable.
    pub own: bool,
}

/// One descriptor that is readable when one of several is.
#[derive(Debug)]
pub struct Either(Epoll);

impl Either {
    /// Readable when one of `all` is.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn of(all: [Option<&dyn AsFd>; 2]) -> io::Result<Either> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for fd in all.into_iter().flatten() {
            epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        }
        Ok(Either(epoll))
    }
}

impl AsFd for Either {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.0.as_fd()
    }
}

/// Whether something can be read, or never will be, now.
pub fn is_readable(fd: &dyn AsFd) -> bool {
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    matches!(nix::poll::poll(&mut fds, PollTimeout::ZERO), Ok(1..))
}

/// Asks the kernel for timers that fire on time: otherwise they fire up to 50 µs late (prctl(2),
/// PR_SET_TIMERSLACK). Less precise timing is no reason to stop.
pub fn set_timer_slack() {
    let _ = nix::sys::prctl::set_timerslack(1);
}

/// Waits for a packet of one of the devices that are `open`, the `deadline`, a signal, or the
/// caller's `own` descriptor.
pub fn wait(
    clock: &Clock,
    (tuns, open): (&[Tun; 2], [bool; 2]),
    signals: &Signals,
    own: Option<&dyn AsFd>,
    deadline: Option<Instant>,
) -> Result<Ready, LoopError> {
    let timeout = deadline.map(|at| TimeSpec::from(at.saturating_since(clock.now())));
    let poll_in = |fd| PollFd::new(fd, PollFlags::POLLIN);
    // Where there is none the signals' descriptor stands in: no allocation on this path.
    let last = own.map_or(signals.as_fd(), AsFd::as_fd);
    let device = |side: usize| if open[side] { tuns[side].as_fd() } else { signals.as_fd() };
    let mut fds = [device(0), device(1), signals.as_fd(), last].map(poll_in);
    match ppoll(&mut fds, timeout, None) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(errno) => return Err(LoopError::Poll(errno.into())),
    }
    let [first, second, signal, last] = fds.map(|fd| fd.any() == Some(true));
    Ok(Ready {
        tuns: [open[0] && first, open[1] && second],
        signal: if signal { signals.received() } else { None },
        own: own.is_some() && last,
    })
}
