//! What is told while an experiment runs.

use bentpipe_lab::{Event, Executed};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Mutex;

/// Counts of runs. Events come from all threads; whoever shows them looks now and then.
#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<(u64, u64)>);

impl Progress {
    /// Takes note of an event.
    pub(crate) fn on_event(&self, event: &Event<'_>) {
        if let Event::Finished { needed, .. } = event
            && let Ok(mut counts) = self.0.lock()
        {
            *counts = (counts.0 + 1, *needed);
        }
    }

    /// So many runs are finished, and so many are known to be needed. Those that were made ahead
    /// and do not count are in neither.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let (finished, needed) = self.0.lock().map_or_else(|held| *held.into_inner(), |held| *held);
        (finished.min(needed), needed)
    }
}

/// What has come of an experiment, as a dictionary. `undrawn` says why figures are missing.
pub(crate) fn outcome<'py>(
    py: Python<'py>,
    executed: &Executed,
    undrawn: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let failures = executed.failures.iter();
    let failures: Vec<_> = failures
        .map(|failure| {
            let job = failure.job;
            (job.point, job.run, failure.label.clone(), failure.why.clone())
        })
        .collect();
    let outcome = PyDict::new(py);
    outcome.set_item("made", executed.made)?;
    outcome.set_item("found", executed.found)?;
    outcome.set_item("stopped", executed.stopped)?;
    outcome.set_item("failures", failures)?;
    outcome.set_item("undrawn", undrawn)?;
    Ok(outcome)
}
