//! What is said of a panic: one line in the log. The gateway goes on if it was in a flow, so that
//! whoever causes them may do it again and again: the log has no more than one a second.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const BETWEEN_LINES: Duration = Duration::from_secs(1);

/// When the log may have another panic, and how many it has left out.
#[derive(Debug, Default)]
struct Limit {
    next: Option<Instant>,
    left_out: u64,
}

impl Limit {
    /// How many were left out, if another one may be told `now`.
    fn pass(&mut self, now: Instant) -> Option<u64> {
        if self.next.is_some_and(|next| now < next) {
            self.left_out += 1;
            return None;
        }
        self.next = Some(now + BETWEEN_LINES);
        Some(std::mem::take(&mut self.left_out))
    }
}

/// Has panics told in the log from now on.
pub(super) fn log() {
    let limit = Mutex::new(Limit::default());
    panic::set_hook(Box::new(move |info| {
        let mut limit = limit.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(left_out) = limit.pass(Instant::now()) else { return };
        drop(limit);
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        // Only for who asks for it, by RUST_BACKTRACE.
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            tracing::error!(place, left_out, "panic: {}\n{backtrace}", message(info.payload()));
        } else {
            tracing::error!(place, left_out, "panic: {}", message(info.payload()));
        }
    }));
}

/// What a panic says, in one line.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("without a message");
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Does `act`; if it panics, that ends the gateway, and is told however much the log has left out.
pub(super) fn ends_with<T>(act: impl FnOnce() -> T) -> T {
    panic::catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|payload| {
        let why = message(&*payload);
        tracing::error!(why, "a defect outside of any flow: the gateway ends");
        panic::resume_unwind(payload)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_panic_a_second_is_told() {
        let (mut limit, start) = (Limit::default(), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        let told: Vec<_> = [0, 1, 999, 1_000, 1_001, 9_000].map(|ms| limit.pass(at(ms))).into();
        assert_eq!(told, [Some(0), None, None, Some(2), None, Some(1)]);
    }
}
