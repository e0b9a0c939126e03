//! The simulator as a runner whose runs end when a control raises an exception.

use super::raised;
use bentpipe_lab::Runner;
use bentpipe_results::{RunError, RunResults, Sinks};
use bentpipe_scenario::Scenario;
use pyo3::prelude::*;

/// Makes runs, as `bentpipe_sim::run_into` does. The error of a control's exception has its
/// traceback.
pub(crate) struct Simulator;

impl Runner for Simulator {
    fn run(
        &self,
        scenario: &Scenario,
        run: u64,
        sinks: Sinks,
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<RunResults, RunError> {
        // A run that panicked may have left one.
        raised::take();
        let mut unless_raised = |share| !raised::is_there() && go_on(share);
        let results = bentpipe_sim::run_into(scenario, run, sinks, &mut unless_raised);
        match raised::take() {
            Some(error) => Err(RunError::Failed(Python::attach(|py| traceback(py, error)))),
            None => results,
        }
    }

    /// Python makes a state for each thread that calls it, and discards that when the call ends.
    /// Here one call is around all others.
    fn on_thread(&self, work: &mut (dyn FnMut() + Send)) {
        Python::attach(|py| py.detach(work));
    }
}

/// An exception with the lines that led to it.
fn traceback(py: Python<'_>, error: PyErr) -> String {
    let plain = error.to_string();
    let lines = || -> PyResult<String> {
        let inspection = py.import("bentpipe.inspection")?;
        inspection.call_method1("shown", (error.into_value(py),))?.extract()
    };
    lines().unwrap_or(plain)
}
