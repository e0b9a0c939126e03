//! The exception that a control has raised, until the run or the call ends.
//!
//! A sender takes no errors from its congestion control. A run, and a call of a `Connection`, stays
//! on one thread: so it is that thread that keeps it.

use pyo3::prelude::*;
use std::cell::RefCell;

thread_local! {
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps the first one.
pub(super) fn keep(error: PyErr) {
    RAISED.with_borrow_mut(|kept| {
        kept.get_or_insert(error);
    });
}

/// Whether there is one. No control of this thread is asked for anything then.
pub(super) fn is_there() -> bool {
    RAISED.with_borrow(Option::is_some)
}

/// It, and none is kept any more.
pub(super) fn take() -> Option<PyErr> {
    RAISED.take()
}

/// Raises it.
pub(crate) fn check() -> PyResult<()> {
    take().map_or(Ok(()), Err)
}
