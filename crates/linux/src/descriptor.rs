//! A descriptor that the process which started this one has left open for it.

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Takes what was passed on as `descriptor`, and does not pass it on in turn. `None` if it is not
/// open, or one of the three that all share. It is taken once: to be called before this process has
/// opened anything.
///
/// # Errors
/// What the kernel says.
#[expect(unsafe_code, reason = "a number on the command line becomes a descriptor")]
pub fn inherited(descriptor: RawFd) -> io::Result<Option<OwnedFd>> {
    let is_open = std::fs::symlink_metadata(format!("/proc/self/fd/{descriptor}")).is_ok();
    if descriptor <= 2 || !is_open {
        return Ok(None);
    }
    // SAFETY: it is open, was passed on to this process by its parent, and nobody else closes it
    // here.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    fcntl(&descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).map_err(io::Error::from)?;
    Ok(Some(descriptor))
}
