//! What is measured in real time: rates, delays and durations, which whatever else the machine does
//! can move. They are no tests: `make bench` takes them, on a machine that has time
//! (`BENTPIPE_LIVE_TESTS=measured`).

mod changes;
mod exactness;
mod on_time;
mod papers;
mod queues;
mod speed;
mod tls;

use std::time::{Duration, Instant};

use crate::probe::{Arrival, serialisation};

/// All of them. Each has the machine for itself.
pub(crate) fn cases() -> Vec<(&'static str, fn())> {
    [
        exactness::CASES,
        changes::CASES,
        queues::CASES,
        on_time::CASES,
        speed::CASES,
        tls::CASES,
        papers::CASES,
    ]
    .concat()
}

/// Runs `work` and says how long it took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let result = work();
    (result, began.elapsed())
}

/// By how much the line's rate is off `bits_per_second`, by the earliest packets of either half:
/// what the machine holds up comes later, never earlier.
fn rate_error(arrivals: &[Arrival], payload: usize, bits_per_second: f64) -> f64 {
    let each = serialisation(payload, bits_per_second);
    let first = arrivals[0];
    let lateness = |arrival: &Arrival| {
        let steps = f64::from(arrival.number) - f64::from(first.number);
        (arrival.at - first.at).as_secs_f64() - steps * each
    };
    let earliest = |part: &[Arrival]| part.iter().map(lateness).fold(f64::INFINITY, f64::min);
    let half = arrivals.len() / 2;
    let (early, late) = (earliest(&arrivals[..half]), earliest(&arrivals[half..]));
    (late - early) / (half as f64 * each)
}

/// Tries again while the machine is busy; fails with what it was at last.
fn in_some_try(what: &str, mut attempt: impl FnMut() -> Result<(), String>) {
    let mut last = String::new();
    for _ in 0..6 {
        match attempt() {
            Ok(()) => return,
            Err(why) => last = why,
        }
    }
    panic!("{what}: {last}");
}
