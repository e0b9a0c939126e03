//! TCP by hand: connections and a link between them, stepped segment by segment.

mod connection;
mod link;
mod segment;

pub(crate) use connection::{Connection, check_tcp, presets};
pub(crate) use link::Link;
pub(crate) use segment::Segment;

use crate::clock::{Clock, count, instant, seconds};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What text says that cannot be used, as `ValueError`.
fn refused(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
