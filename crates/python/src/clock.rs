//! Moments as Python has them, in seconds, and numbers that are not negative.

use bentpipe_core::time::{Duration, Instant};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A moment, from seconds.
pub(crate) fn instant(seconds: f64) -> PyResult<Instant> {
    // A hundred years.
    if (0.0..3.2e9).contains(&seconds) {
        return Ok(Instant::ZERO + Duration::from_secs_f64(seconds));
    }
    Err(PyValueError::new_err(format!("a moment of {seconds} s (expected seconds from 0 on)")))
}

/// A number of things, which is not negative.
pub(crate) fn count(name: &str, given: i128) -> PyResult<u64> {
    let refused = || PyValueError::new_err(format!("{name} is {given} (expected 0 or more)"));
    u64::try_from(given).map_err(|_| refused())
}

/// The clock of what has no clock: it never goes back.
#[derive(Default)]
pub(crate) struct Clock(pub(crate) Instant);

impl Clock {
    /// A moment, from seconds: the latest one, or a later one.
    pub(crate) fn at(&mut self, seconds: f64) -> PyResult<Instant> {
        let now = instant(seconds)?;
        if now < self.0 {
            let latest = self::seconds(self.0);
            let why =
                format!("a moment of {seconds} s after one of {latest} s: time does not go back");
            return Err(PyValueError::new_err(why));
        }
        self.0 = now;
        Ok(now)
    }
}

/// Seconds of a moment.
pub(crate) fn seconds(instant: Instant) -> f64 {
    instant.saturating_since(Instant::ZERO).as_secs_f64()
}
