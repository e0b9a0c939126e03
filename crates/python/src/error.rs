//! Errors as Python's exceptions.

use bentpipe_config::{DocumentError, Problem};
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use std::fmt::Display;

/// `bentpipe.ScenarioError`, with the position.
pub(crate) fn scenario(py: Python<'_>, error: &DocumentError) -> PyErr {
    let make = || {
        let position = &error.position;
        // What the whole file lacks stands at its first byte, where another table may begin.
        let of_file =
            matches!(&*error.problem, Problem::Missing { table, .. } if table == "the file");
        let path = if of_file { "" } else { &*position.path };
        let (line, column) = (position.line, position.column);
        let arguments = (
            error.to_string(),
            &position.file,
            line,
            column,
            error.problem.to_string(),
            &error.point,
            path,
        );
        py.import("bentpipe.errors")?.getattr("ScenarioError")?.call1(arguments)
    };
    make().map_or_else(|failed: PyErr| failed, PyErr::from_value)
}

/// `FileNotFoundError`.
pub(crate) fn not_found(error: impl Display) -> PyErr {
    PyFileNotFoundError::new_err(error.to_string())
}

/// `OSError`: something cannot be read or written.
pub(crate) fn os(error: impl Display) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// `RuntimeError`.
pub(crate) fn runtime(error: impl Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
