//! An experiment on this machine's threads.

use crate::control::Simulator;
use crate::error;
use crate::experiment::Experiment;
use crate::progress::{Progress, outcome};
use bentpipe_lab::{Executed, Folder, LabError, Options, drawing, execute};
use bentpipe_scenario::Experiment as Checked;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, available_parallelism};
use std::time::Duration;

/// How often the main thread looks for Ctrl-C, and shows progress.
const LOOK: Duration = Duration::from_millis(50);

/// Makes what is missing in `folder`, and then all tables and figures. `progress` is called now and
/// then with how many runs are finished and how many are needed. What was finished is kept if an
/// exception comes in between.
#[pyfunction]
#[pyo3(signature = (experiment, folder, threads=None, progress=None, figures=true))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    experiment: &Experiment,
    folder: PathBuf,
    threads: Option<NonZeroUsize>,
    progress: Option<Py<PyAny>>,
    figures: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let experiment = &*experiment.checked;
    let threads = threads.or_else(|| available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    check_figures(experiment, figures)?;
    let (_, store) = Folder::open(&folder).map_err(error::os)?;
    let stop = AtomicBool::new(false);
    let counts = Progress::default();
    let options =
        Options { runner: &Simulator, threads, point: None, run: None, shard: None, stop: &stop };
    let executed = thread::scope(|scope| {
        let work =
            scope.spawn(|| execute(experiment, &store, &options, &|event| counts.on_event(&event)));
        let watched = watch(py, || work.is_finished(), &counts, progress.as_ref());
        // An exception, Ctrl-C among them: the runs are given up, and waited for.
        stop.store(watched.is_err(), Ordering::Relaxed);
        let executed = py.detach(|| work.join());
        watched?;
        executed.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(error::os)
    })?;
    let undrawn = finish(py, experiment, &folder, &executed, figures)?;
    outcome(py, &executed, undrawn)
}

/// A figure that cannot be drawn is refused before hours of runs.
pub(crate) fn check_figures(experiment: &Checked, figures: bool) -> PyResult<()> {
    if figures { drawing::check(experiment).map(drop).map_err(error::runtime) } else { Ok(()) }
}

fn watch(
    py: Python<'_>,
    finished: impl Fn() -> bool + Sync,
    counts: &Progress,
    progress: Option<&Py<PyAny>>,
) -> PyResult<()> {
    loop {
        let end = finished();
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1(py, counts.counts())?;
        }
        if end {
            return Ok(());
        }
        py.detach(|| nap(&finished));
    }
}

/// Waits for the end, but not for long.
fn nap(finished: &(impl Fn() -> bool + Sync)) {
    for _ in 0..LOOK.as_millis() {
        if finished() {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Writes what the runs say. Returns why figures could not be drawn: results are there all the
/// same.
pub(crate) fn finish(
    py: Python<'_>,
    experiment: &Checked,
    path: &Path,
    executed: &Executed,
    figures: bool,
) -> PyResult<Vec<String>> {
    let write = || -> Result<(), LabError> {
        let (mut folder, store) = Folder::open(path)?;
        if !figures {
            folder = folder.without_figures();
        }
        if !folder.is_current(experiment, executed) {
            folder.write(experiment, &store, executed)?;
        }
        Ok(())
    };
    py.detach(write).map_err(error::os)?;
    if !figures {
        return Ok(Vec::new());
    }
    let drawn = py.detach(|| drawing::draw(path, experiment));
    Ok(drawn.failures.iter().map(ToString::to_string).collect())
}
