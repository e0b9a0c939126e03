//! An experiment whose runs are made elsewhere: which is next, and what came back.

use crate::campaign::{check_figures, finish};
use crate::error;
use crate::experiment::Experiment;
use crate::progress::{Progress, outcome};
use bentpipe_lab::{Campaign, Dispatch, Event, Failure, Folder, Job, Key, LabError, Next, Store};
use bentpipe_scenario::{Experiment as Checked, Point};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

/// The client's side of an experiment on other machines.
#[pyclass(frozen, module = "bentpipe._bentpipe")]
pub(crate) struct Plan {
    experiment: Arc<Checked>,
    folder: PathBuf,
    figures: bool,
    store: Store,
    counts: Progress,
    state: Mutex<State>,
}

struct State {
    /// None once it is finished.
    dispatch: Option<Dispatch>,
    latest: Option<Point>,
}

impl Plan {
    fn campaign(&self) -> Campaign<'_> {
        let (experiment, store) = (&*self.experiment, &self.store);
        Campaign { experiment, store, point: None, run: None, shard: None }
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state.lock().map_err(|_| error::runtime("a panic has ended this plan"))
    }

    fn with<T>(
        &self,
        with: impl FnOnce(&mut Dispatch, &mut Option<Point>, &dyn Fn(Event<'_>)) -> T,
    ) -> PyResult<T> {
        let state = &mut *self.lock()?;
        let dispatch = state.dispatch.as_mut();
        let dispatch = dispatch.ok_or_else(|| error::runtime("this plan is finished"))?;
        Ok(with(dispatch, &mut state.latest, &|event| self.counts.on_event(&event)))
    }

    fn point(&self, point: usize) -> PyResult<Point> {
        if point < self.experiment.len() {
            return Ok(self.experiment.point(point));
        }
        Err(PyValueError::new_err(format!("there is no point {point}")))
    }
}

#[pymethods]
impl Plan {
    /// Of `experiment`, with its results in `folder`, and at most `ahead` runs of a point that may
    /// not be needed.
    #[new]
    fn new(
        py: Python<'_>,
        experiment: &Experiment,
        folder: PathBuf,
        ahead: u32,
        figures: bool,
    ) -> PyResult<Plan> {
        let experiment = Arc::clone(&experiment.checked);
        check_figures(&experiment, figures)?;
        let (store, dispatch) = py
            .detach(|| {
                let (_, store) = Folder::open(&folder)?;
                let experiment = &*experiment;
                let campaign =
                    Campaign { experiment, store: &store, point: None, run: None, shard: None };
                let dispatch = Dispatch::new(&campaign, ahead);
                Ok::<_, LabError>((store, dispatch))
            })
            .map_err(error::os)?;
        let dispatch = Some(dispatch);
        let state = Mutex::new(State { dispatch, latest: None });
        Ok(Plan { experiment, folder, figures, store, counts: Progress::default(), state })
    }

    /// The next run as its point, its number and the name of its inputs; `False` if one has to come
    /// back first, and `None` if there is nothing more to do.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let campaign = self.campaign();
        // Each run that is there already is read on the way.
        let (next, key) = py.detach(|| {
            self.with(|dispatch, latest, watch| {
                let next = dispatch.next(&campaign, latest, watch);
                let key = match (next, latest) {
                    (Next::Run(job), Some(point)) => Key::of(&point.canonical, job.run).name(),
                    _ => String::new(),
                };
                (next, key)
            })
        })?;
        match next {
            Next::Run(Job { point, run }) => {
                (point, run, key).into_pyobject(py).map(Bound::into_any)
            }
            Next::Wait => Ok(false.into_pyobject(py)?.to_owned().into_any()),
            Next::Done => Ok(py.None().into_bound(py)),
        }
    }

    /// From now on at most so many runs of a point are made that may not be needed.
    fn ahead(&self, runs: u32) -> PyResult<()> {
        self.with(|dispatch, _, _| dispatch.make_ahead(runs))
    }

    /// A run has come back, as the files of a store.
    fn made(
        &self,
        point: usize,
        run: u32,
        files: Vec<(String, Bound<'_, PyBytes>)>,
    ) -> PyResult<()> {
        let key = Key::of(&self.point(point)?.canonical, run);
        let files: Vec<(String, Vec<u8>)> =
            files.into_iter().map(|(name, content)| (name, content.as_bytes().to_vec())).collect();
        let record = self.store.unpack(key, &files).map_err(error::os)?;
        self.with(|dispatch, _, watch| dispatch.made(Job { point, run }, &record, watch))
    }

    /// A run could not be completed.
    fn failed(&self, point: usize, run: u32, why: String) -> PyResult<()> {
        let failure = Failure::of(&self.point(point)?, run, why);
        self.with(|dispatch, _, watch| dispatch.failed(failure.job, failure, watch))
    }

    /// So many runs are finished, and so many are known to be needed.
    fn counts(&self) -> (u64, u64) {
        self.counts.counts()
    }

    /// Writes tables and figures. All runs have come back.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dispatch = self.lock()?.dispatch.take();
        let dispatch = dispatch.ok_or_else(|| error::runtime("this plan is finished"))?;
        let executed = dispatch.executed(&self.campaign());
        // Tables of a part would pass for those of all.
        if executed.stopped {
            return Err(error::runtime("runs are missing; those that came back are kept"));
        }
        let undrawn = finish(py, &self.experiment, &self.folder, &executed, self.figures)?;
        outcome(py, &executed, undrawn)
    }
}
