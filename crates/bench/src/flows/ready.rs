//! Waits for sockets by epoll, until a load is to end.

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollTimeout};
use std::io;
use std::time::Duration;

/// The longest wait: how often threads look whether they are to end.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Waits for `events`, for [`LOOK`] at most. How many there are.
///
/// # Errors
/// epoll's.
pub(super) fn wait(epoll: &Epoll, events: &mut [EpollEvent]) -> io::Result<usize> {
    let look = EpollTimeout::try_from(LOOK).unwrap_or(EpollTimeout::ZERO);
    match epoll.wait(events, look) {
        Err(Errno::EINTR) => Ok(0),
        other => Ok(other?),
    }
}
