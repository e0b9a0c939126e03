//! Real-time priority (sched(7)): on a busy machine an ordinary thread that wakes waits for its
//! turn, milliseconds long; one of these does not.

use nix::errno::Errno;
use nix::libc;
use std::io;

/// The lowest: it goes before all ordinary threads, and after whatever else is real-time.
const PRIORITY: libc::c_int = 1;

/// Gives the calling thread real-time priority (`SCHED_RR`). Threads and processes that it starts
/// from now on are ordinary ones.
///
/// # Errors
/// What the kernel says: it takes root (`CAP_SYS_NICE`).
#[allow(unsafe_code)]
pub fn begin() -> io::Result<()> {
    // SAFETY: `sched_param` is a C structure of integers; all zeros is a value.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = PRIORITY;
    let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the parameter is read during the call and lives until it returns; 0 is the calling
    // thread.
    let result = unsafe { libc::sched_setscheduler(0, policy, &param) };
    Errno::result(result)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code)]
    fn a_thread_is_real_time_and_those_it_starts_are_not() {
        // SAFETY: it takes the thread by number, 0 being the calling one, and no memory.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        if let Err(error) = begin() {
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            return;
        }
        assert_eq!(policy() & !libc::SCHED_RESET_ON_FORK, libc::SCHED_RR);
        let started = std::thread::spawn(policy).join().unwrap();
        assert_eq!(started, libc::SCHED_OTHER);
    }
}
