//! Congestion controls and pairs of gateways, scored on traces of links.

use crate::control::Simulator;
use crate::error;
use crate::experiment::Experiment;
use bentpipe_core::units::parse_duration;
use bentpipe_lab::traces::{self, Contender, Way, scores};
use bentpipe_lab::{Folder, LabError, Options, execute};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// What is run: each contender on each trace with each number of flows.
#[pyclass(frozen, module = "bentpipe._bentpipe")]
pub(crate) struct TraceBench(traces::TraceBench);

#[pymethods]
impl TraceBench {
    /// Contenders as `bentpipe bench traces` takes them, and the names of congestion controls in
    /// Python behind them. Without traces those that come with bentpipe.
    #[new]
    fn new(
        paths: Vec<String>,
        contenders: Vec<String>,
        controls: Vec<String>,
        flows: Vec<u32>,
        duration: &str,
        runs: u32,
        way: Option<&str>,
    ) -> PyResult<TraceBench> {
        let wrong = |why: String| PyValueError::new_err(why);
        let way = way.map(|name| {
            Way::of_word(name)
                .ok_or_else(|| wrong(format!("way is {name:?} (expected \"up\" or \"down\")")))
        });
        let way = way.transpose()?;
        let of_path = |path: &String| traces::of_path(path, way).map_err(error::os);
        let read = match paths.is_empty() {
            true => traces::built_in(way).map_err(error::os)?,
            false => paths.iter().map(of_path).collect::<PyResult<Vec<_>>>()?.concat(),
        };
        let read_one = |text: &String| {
            Contender::read(text, &controls).map_err(|error| wrong(error.to_string()))
        };
        let mut contenders = contenders.iter().map(read_one).collect::<PyResult<Vec<_>>>()?;
        for control in &controls {
            if !contenders.iter().any(|contender| contender.uses(control)) {
                contenders.push(read_one(control)?);
            }
        }
        if contenders.is_empty() || flows.is_empty() || flows.contains(&0) {
            return Err(wrong(
                "at least one contender is needed, and numbers of flows above 0".to_owned(),
            ));
        }
        let longest = parse_duration(duration).map_err(|why| wrong(format!("duration: {why}")))?;
        Ok(TraceBench(traces::TraceBench::new(read, contenders, flows, longest, runs)))
    }

    /// How many contenders there are.
    fn __len__(&self) -> usize {
        self.0.contenders.len()
    }

    /// What of the traces was left out, or taken as something.
    fn notes(&self) -> Vec<String> {
        self.0.traces.iter().flat_map(|trace| trace.notes.clone()).collect()
    }

    /// The scenario's text.
    fn text(&self) -> String {
        self.0.scenario()
    }

    /// The traces that it names, as its files.
    fn files(&self) -> BTreeMap<String, String> {
        self.0.files()
    }

    /// The scores of its experiment's runs, which are in `folder`, as JSON.
    fn scores(&self, py: Python<'_>, experiment: &Experiment, folder: PathBuf) -> PyResult<String> {
        let experiment = &*experiment.checked;
        let stop = AtomicBool::new(false);
        let options = Options {
            runner: &Simulator,
            threads: NonZeroUsize::MIN,
            point: None,
            run: None,
            shard: None,
            stop: &stop,
        };
        let summarise = || -> Result<_, LabError> {
            let (_, store) = Folder::open(&folder)?;
            let executed = execute(experiment, &store, &options, &|_| ())?;
            Folder::summarise(experiment, &store, &executed)
        };
        let results = py.detach(summarise).map_err(error::os)?;
        serde_json::to_string(&scores(&self.0, &results)).map_err(error::runtime)
    }
}
