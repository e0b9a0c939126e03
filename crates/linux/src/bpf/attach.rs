//! Programs on a device: on what comes in, before the network stack sees it, or on what is about to
//! leave, behind it.

use super::filter::Filter;
use super::program::Program;
use super::{BpfError, syscall};
use crate::kernel_version::KernelVersion;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use std::os::fd::{AsFd, OwnedFd};

/// Before all others that are attached there.
const BEFORE: u32 = 1 << 3;

/// On which packets of the device a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Those that come in.
    Ingress = 46,
    /// Those that leave.
    Egress = 47,
}

/// How programs are attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attachment {
    /// By links of our own, which end with the process, whatever else the device has (Linux 6.6).
    Tcx,
    /// As filters of the device's `clsact`, which a killed process leaves behind. That is not to be
    /// had next to an `ingress` queueing discipline.
    Clsact,
}

impl Attachment {
    /// The better one that the running kernel has.
    pub fn of_this_kernel() -> Attachment {
        match KernelVersion::running() >= KernelVersion(6, 6) {
            true => Attachment::Tcx,
            false => Attachment::Clsact,
        }
    }
}

/// A program is attached for as long as this lives.
#[derive(Debug)]
pub enum Attached {
    /// By tcx.
    Tcx {
        /// Its link, which ends with it.
        link: OwnedFd,
    },
    /// By a filter of clsact.
    Clsact {
        /// The filter, which is deleted with it.
        filter: Filter,
    },
}

impl Attached {
    /// Attaches `program` to the device of this name, before whatever is attached there.
    ///
    /// # Errors
    /// [`BpfError::Attach`].
    pub fn new(
        program: &Program,
        attachment: Attachment,
        device: &str,
        hook: Hook,
    ) -> Result<Attached, BpfError> {
        let attach = |number| -> Result<Attached, Errno> {
            let descriptor = program.as_fd();
            Ok(match attachment {
                Attachment::Tcx => {
                    let link = syscall::link(descriptor, number, hook as u32, BEFORE)?;
                    Attached::Tcx { link }
                }
                Attachment::Clsact => {
                    let filter = Filter::new(descriptor, program.name(), number, hook)?;
                    Attached::Clsact { filter }
                }
            })
        };
        if_nametoindex(device).and_then(attach).map_err(|errno| match (attachment, errno) {
            (Attachment::Clsact, Errno::EEXIST) => BpfError::Ingress { device: device.to_owned() },
            _ => BpfError::attach(device, errno),
        })
    }

    /// Ends; a filter of `clsact` stays attached until another process replaces it. Taking it off
    /// loses what the device sends meanwhile. The program must know by itself that nobody is there.
    pub fn stay_for_successor(self) {
        if let Attached::Clsact { filter } = self {
            filter.stay();
        }
    }

    /// Whether it is still attached: it is not where the device has gone, or somebody has detached
    /// it.
    pub fn stands(&self) -> bool {
        match self {
            Attached::Tcx { link } => syscall::device_of(link.as_fd()).is_ok_and(|it| it != 0),
            Attached::Clsact { filter } => filter.stands(),
        }
    }
}
