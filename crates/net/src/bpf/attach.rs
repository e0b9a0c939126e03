//! Programs on a device: on what comes in, before the network stack sees it, or on what is about to leave, behind it.

use super::program::Program;
use super::{BpfError, syscall};
use nix::net::if_::if_nametoindex;
use std::os::fd::{AsFd, OwnedFd};

/// Before all others that are attached there.
const BEFORE: u32 = 1 << 3;

/// On which packets of the device a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Those that come in.
    Ingress = 46,
    /// Those that leave.
    Egress = 47,
}

/// A program is attached for as long as this lives, and not longer than this process.
#[derive(Debug)]
pub(crate) struct Attached {
    _link: OwnedFd,
}

impl Attached {
    /// Attaches `program` to the device of this name, before whatever is attached there.
    ///
    /// # Errors
    /// [`BpfError::Attach`].
    pub(crate) fn new(program: &Program, device: &str, hook: Hook) -> Result<Attached, BpfError> {
        let link = if_nametoindex(device)
            .and_then(|number| syscall::link(program.as_fd(), number, hook as u32, BEFORE))
            .map_err(|errno| BpfError::Attach {
                device: device.to_owned(),
                source: errno.into(),
            })?;
        Ok(Attached { _link: link })
    }
}
