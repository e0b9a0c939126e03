//! TCP by hand: connections and a link between them, stepped segment by segment.

mod congestion;
mod connection;
mod link;
mod segment;

pub(crate) use connection::{Connection, presets};
pub(crate) use link::Link;
pub(crate) use segment::Segment;

use bentpipe_core::time::{Duration, Instant};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A moment, from seconds.
fn instant(seconds: f64) -> PyResult<Instant> {
    // A hundred years.
    if (0.0..3.2e9).contains(&seconds) {
        return Ok(Instant::ZERO + Duration::from_secs_f64(seconds));
    }
    Err(PyValueError::new_err(format!("a moment of {seconds} s (expected seconds from 0 on)")))
}

/// Seconds of a moment.
fn seconds(instant: Instant) -> f64 {
    instant.saturating_since(Instant::ZERO).as_secs_f64()
}

/// What text says that cannot be used, as `ValueError`.
fn refused(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
