//! The one place that asks what time it is.

use bentpipe_core::time::Instant;
use nix::libc::{TIME_ERROR, adjtimex, timex};
use std::mem;
use std::time::SystemTime;

/// A monotonic clock (`CLOCK_MONOTONIC`) whose zero is when the run began.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: std::time::Instant,
}

impl Clock {
    /// A clock that reads zero now.
    pub fn start() -> Clock {
        Clock { start: std::time::Instant::now() }
    }

    /// What the wall clock said when this one was at zero, as far as it can be told now.
    pub fn zero(&self) -> SystemTime {
        SystemTime::now().checked_sub(self.start.elapsed()).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// The present moment.
    pub fn now(&self) -> Instant {
        let nanos = self.start.elapsed().as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Tells whether something keeps the wall clock right, as NTP does (adjtimex(2)). None if nobody
/// knows.
#[allow(unsafe_code)]
pub fn is_kept_right() -> Option<bool> {
    // SAFETY: a timex is numbers alone. All of them zero, it sets nothing.
    let mut timex: timex = unsafe { mem::zeroed() };
    // SAFETY: the kernel writes into that structure, and keeps no pointer to it.
    let state = unsafe { adjtimex(&raw mut timex) };
    (state >= 0).then_some(state != TIME_ERROR)
}
