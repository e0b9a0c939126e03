//! How late this machine's timers are by themselves: what no link on it can be better than.

use crate::lateness::Lateness;
use bentpipe_core::time::Duration as Span;
use bentpipe_linux::poll;
use nix::poll::ppoll;
use nix::sys::time::TimeSpec;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long each sleep is.
const SLEEP: Duration = Duration::from_millis(1);

/// Sleeps again and again on the calling thread until `ended`; by how much later than asked it
/// woke.
pub(crate) fn measure(ended: &AtomicBool) -> Lateness {
    poll::set_timer_slack();
    let mut lateness = Lateness::default();
    while !ended.load(Ordering::Relaxed) {
        let due = Instant::now() + SLEEP;
        // As the emulator waits.
        let _ = ppoll(&mut [], Some(TimeSpec::from(SLEEP)), None);
        let late = Instant::now().saturating_duration_since(due);
        lateness.add(Span::from_nanos(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX)));
    }
    lateness
}
