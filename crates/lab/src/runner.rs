//! The maker of runs, which the caller brings along: the simulator, or a stand-in for it in tests.

use bentpipe_results::{RunError, RunResults, Sinks};
use bentpipe_scenario::Scenario;

/// Makes runs of scenarios. Every function with the signature of [`Runner::run`] is one,
/// `bentpipe_sim::run_into` among them.
pub trait Runner: Sync {
    /// Makes run `run` of `scenario`, counted from zero. It hands what is recorded to `sinks` as it
    /// comes, and tells `go_on` now and then the share of its time that has passed. If that returns
    /// false, the run is given up.
    ///
    /// # Errors
    /// [`RunError`].
    fn run(
        &self,
        scenario: &Scenario,
        run: u64,
        sinks: Sinks,
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<RunResults, RunError>;

    /// Does the work of a thread that makes runs, with what the runner needs around all of them.
    fn on_thread(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }
}

impl<F> Runner for F
where
    F: Fn(&Scenario, u64, Sinks, &mut dyn FnMut(f64) -> bool) -> Result<RunResults, RunError>
        + Sync,
{
    fn run(
        &self,
        scenario: &Scenario,
        run: u64,
        sinks: Sinks,
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<RunResults, RunError> {
        self(scenario, run, sinks, go_on)
    }
}
