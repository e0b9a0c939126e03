//! What a process that has set everything up may still do, lest whoever gets hold of it by what it
//! reads from the network has the whole machine.
//!
//! Root's capabilities (capabilities(7)) are given up but for two. Who looks after devices and the
//! programs on them takes CAP_NET_ADMIN and CAP_BPF. `ip`, a child of ours, gets no more than we
//! are permitted.
//! What has clients of its own, a thread that answers questions, keeps none, and neither does a
//! watchdog.
//!
//! Capabilities belong to threads, and a new one has those of the thread that starts it. So a
//! process gives up its own before it starts others, or each of these does so itself.
//!
//! The crate caps, because nix and libc have no calls for them, and it has the types and nothing
//! else.

use crate::kernel_version::KernelVersion;
use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use std::sync::OnceLock;

/// What a gateway needs.
const GATEWAY: &[Capability] = &[Capability::CAP_NET_ADMIN, Capability::CAP_BPF];

/// Why privileges were not given up.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// Capabilities.
    #[error("cannot give up capabilities: {0}")]
    Capabilities(#[from] CapsError),
    /// A property of the process.
    #[error("cannot give up {what}: {errno}")]
    Process {
        /// Which.
        what: &'static str,
        /// What the kernel said.
        errno: Errno,
    },
}

/// Gives up what a gateway does not need once it runs, for good, and for the threads and processes
/// that are started from here on. What we do not have is not needed.
///
/// No core is dumped of what connections carry, unless it is asked for (`show_memory`), and no
/// other process of our user may look at our memory.
///
/// # Errors
/// [`PrivilegeError`].
pub fn give_up_as_gateway() -> Result<(), PrivilegeError> {
    hide_memory()?;
    keep(GATEWAY)
}

/// The same for what watches over a gateway: it writes where it was let, which takes no privilege
/// from Linux 5.19 on, and CAP_BPF before.
///
/// # Errors
/// [`PrivilegeError`].
pub fn give_up_as_watchdog() -> Result<(), PrivilegeError> {
    hide_memory()?;
    keep(match KernelVersion::running() >= KernelVersion(5, 19) {
        true => &[],
        false => &[Capability::CAP_BPF],
    })
}

/// Gives up everything that the calling thread may do beyond what anybody may.
///
/// # Errors
/// [`PrivilegeError`].
pub fn give_up_all_of_this_thread() -> Result<(), PrivilegeError> {
    keep(&[])
}

fn hide_memory() -> Result<(), PrivilegeError> {
    let failed = |errno| PrivilegeError::Process { what: "core dumps", errno };
    let (soft, hard) = getrlimit(Resource::RLIMIT_CORE).map_err(failed)?;
    let _ = CORE_LIMIT.set(soft);
    setrlimit(Resource::RLIMIT_CORE, 0, hard).map_err(failed)?;
    // A program that gets cores through a pipe does not ask for the limit (core(5)).
    prctl::set_dumpable(false).map_err(failed)
}

/// How long a core might have been before memory was hidden.
static CORE_LIMIT: OnceLock<rlim_t> = OnceLock::new();

/// Allows a core as it would have been if memory were not hidden. Safe in a signal handler.
pub(crate) fn show_memory() {
    let Some(soft) = CORE_LIMIT.get() else { return };
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_CORE) {
        let _ = setrlimit(Resource::RLIMIT_CORE, *soft, hard);
    }
    let _ = prctl::set_dumpable(true);
}

/// Keeps these, in the calling thread and its children.
fn keep(kept: &[Capability]) -> Result<(), PrivilegeError> {
    let had = caps::read(None, CapSet::Permitted)?;
    let permitted: CapsHashSet =
        kept.iter().copied().filter(|capability| had.contains(capability)).collect();
    // First, as it takes a capability of its own. Who does not have that one cannot lower the
    // bound; but nothing comes back from there without the privileges that are given up below.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
        for capability in caps::runtime::thread_all_supported() {
            if !kept.contains(&capability) {
                caps::drop(None, CapSet::Bounding, capability)?;
            }
        }
    }
    // No program that is run gets more than we have: not by its owner, nor by its file.
    prctl::set_no_new_privs()
        .map_err(|errno| PrivilegeError::Process { what: "new privileges", errno })?;
    caps::set(None, CapSet::Effective, &permitted)?;
    caps::set(None, CapSet::Permitted, &permitted)?;
    // Children of root have what is permitted anyway, others what is ambient.
    caps::set(None, CapSet::Inheritable, &permitted)?;
    caps::set(None, CapSet::Ambient, &permitted)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A line of the calling thread's own status, or of a child's.
    fn status(of_child: bool, key: &str) -> String {
        let text = if of_child {
            let output = Command::new("cat").arg("/proc/self/status").output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        } else {
            std::fs::read_to_string("/proc/thread-self/status").unwrap()
        };
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no {key} in {text}")).trim().to_owned()
    }

    fn bits(capabilities: &[Capability]) -> u64 {
        let had = caps::read(None, CapSet::Permitted).unwrap();
        let kept = capabilities.iter().filter(|capability| had.contains(capability));
        kept.map(|capability| capability.bitmask()).sum()
    }

    /// In threads of their own, as there is no way back.
    #[test]
    fn only_what_is_kept_is_left_to_a_thread_and_its_children() {
        let number = |text: String| u64::from_str_radix(&text, 16).unwrap();
        for kept in [GATEWAY, &[]] {
            let thread = std::thread::spawn(move || {
                // Less if the tests' user has less.
                let bits = bits(kept);
                keep(kept).unwrap();
                for of_child in [false, true] {
                    assert_eq!(number(status(of_child, "CapEff")), bits);
                    assert_eq!(number(status(of_child, "CapPrm")), bits);
                    assert_eq!(status(of_child, "NoNewPrivs"), "1");
                    if nix::unistd::geteuid().is_root() {
                        let bound: u64 = kept.iter().map(Capability::bitmask).sum();
                        assert_eq!(number(status(of_child, "CapBnd")) & !bound, 0);
                    }
                }
                // Once more, from there: what a watchdog does.
                keep(kept).unwrap();
            });
            thread.join().unwrap();
        }
    }
}
