//! Runs for an experiment whose plan is elsewhere.

use crate::control::Simulator;
use crate::error;
use crate::experiment::Experiment;
use bentpipe_lab::{Attempt, Key, Shipment, Store, make};
use bentpipe_scenario::{Experiment as Checked, Point};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends runs that nobody wants any more.
#[pyclass(frozen, module = "bentpipe._bentpipe")]
#[derive(Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Stop {
        Stop::default()
    }

    /// They end soon.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A run that came to an end: its point, its number, its files, or why there are none.
type Ended<'py> = (usize, u32, Option<Vec<(String, Bound<'py, PyBytes>)>>, Option<String>);

/// Makes runs of `experiment`, each given as its point and its number. Those that `stop` has ended
/// are not among what it returns.
#[pyfunction]
pub(crate) fn make_runs<'py>(
    py: Python<'py>,
    experiment: &Experiment,
    jobs: Vec<(usize, u32)>,
    stop: &Stop,
) -> PyResult<Vec<Ended<'py>>> {
    let experiment = &*experiment.checked;
    if let Some((point, _)) = jobs.iter().find(|(point, _)| *point >= experiment.len()) {
        return Err(PyValueError::new_err(format!("there is no point {point}")));
    }
    let ended = py.detach(|| all(experiment, &jobs, &stop.0)).map_err(error::os)?;
    let file = |(name, content): (String, Vec<u8>)| (name, PyBytes::new(py, &content));
    Ok(ended
        .into_iter()
        .map(|(point, run, result)| match result {
            Ok(files) => (point, run, Some(files.into_iter().map(file).collect()), None),
            Err(why) => (point, run, None, Some(why)),
        })
        .collect())
}

/// The same before Python has it.
type Made = (usize, u32, Result<Shipment, String>);

fn all(experiment: &Checked, jobs: &[(usize, u32)], stop: &AtomicBool) -> io::Result<Vec<Made>> {
    let folder = tempfile::tempdir()?;
    let store = Store::open(folder.path())?;
    let mut latest: Option<Point> = None;
    let mut ended = Vec::new();
    for &(index, run) in jobs {
        let point = match latest.take() {
            Some(point) if point.index == index => point,
            _ => experiment.point(index),
        };
        match make(&Simulator, &store, &point, run, &mut |_| !stop.load(Ordering::Relaxed))? {
            Attempt::Made(_) => {
                ended.push((index, run, Ok(store.pack(Key::of(&point.canonical, run))?)));
            }
            Attempt::Failed(why) => ended.push((index, run, Err(why))),
            Attempt::GivenUp => break,
        }
        latest = Some(point);
    }
    Ok(ended)
}
