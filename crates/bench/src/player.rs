//! The makers of runs: virtual time, or real hosts.

use bentpipe_results::{Outcome, RunError};
use bentpipe_scenario::Experiment;
use bentpipe_testbed::ephemeral::EphemeralTestbed;
use bentpipe_testbed::flows::PlayError;
use bentpipe_testbed::network::{Request, Stacks};
use bentpipe_testbed::plan::{self, LivePoint};
use std::env;
use std::process;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Progress {
    /// Of its longest time.
    pub(crate) share: f64,
    /// What applications have read, where that is known while it lasts.
    pub(crate) delivered: Option<u64>,
}

/// Where runs are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// In virtual time.
    Simulated,
    /// On Linux's own TCP, in network namespaces. It takes root.
    Live,
}

impl World {
    /// A maker of runs, one at a time. `worker`: no two at a time have the same.
    pub(crate) fn player(self, worker: usize) -> Box<dyn Player> {
        match self {
            World::Simulated => Box::new(Simulator),
            World::Live => Box::new(RealHosts { worker, testbed: None }),
        }
    }
}

/// Makes runs, one at a time.
pub(crate) trait Player {
    /// Makes run `run` of a point. `go_on` hears now and then how far it has come, and says whether
    /// it is to go on; so does `stop`, while the network is set up.
    ///
    /// # Errors
    /// [`RunError`].
    fn play(
        &mut self,
        experiment: &Arc<Experiment>,
        point: usize,
        run: u64,
        stop: &AtomicBool,
        go_on: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Outcome, RunError>;
}

struct Simulator;

impl Player for Simulator {
    fn play(
        &mut self,
        experiment: &Arc<Experiment>,
        point: usize,
        run: u64,
        _: &AtomicBool,
        go_on: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Outcome, RunError> {
        let go_on = |share| go_on(Progress { share, delivered: None });
        bentpipe_sim::run(&experiment.point(point).scenario, run, go_on)
    }
}

struct RealHosts {
    worker: usize,
    testbed: Option<Testbed>,
}

/// A testbed that is up, for the points of its experiment.
struct Testbed {
    experiment: Arc<Experiment>,
    points: Vec<LivePoint>,
    network: EphemeralTestbed,
}

impl RealHosts {
    /// The testbed of an experiment. That of another one is taken down before.
    fn testbed(
        &mut self,
        experiment: &Arc<Experiment>,
        stop: &AtomicBool,
    ) -> Result<&mut Testbed, RunError> {
        let failed = |error: &dyn ToString| RunError::Failed(error.to_string());
        if self.testbed.as_ref().is_none_or(|up| !Arc::ptr_eq(&up.experiment, experiment)) {
            self.testbed = None;
            let name = format!("bench-{}-{}", process::id(), self.worker);
            let points = plan::points(experiment, "the case", &name, Stacks::AsAsked, None)
                .map_err(|error| failed(&error))?;
            let binary = env::current_exe().map_err(|error| failed(&error))?;
            let request = Request {
                name: &name,
                file: "the case",
                experiment,
                stacks: Stacks::AsAsked,
                binary: &binary,
                realtime: true,
            };
            let network = EphemeralTestbed::up(&request, &points[0], stop)?;
            self.testbed = Some(Testbed { experiment: Arc::clone(experiment), points, network });
        }
        self.testbed.as_mut().ok_or(RunError::Cancelled)
    }
}

impl Player for RealHosts {
    fn play(
        &mut self,
        experiment: &Arc<Experiment>,
        point: usize,
        run: u64,
        stop: &AtomicBool,
        go_on: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Outcome, RunError> {
        let Testbed { points, network, .. } = self.testbed(experiment, stop)?;
        let mut go_on = |progress: bentpipe_testbed::flows::Progress| {
            let bentpipe_testbed::flows::Progress { share, delivered } = progress;
            go_on(Progress { share, delivered: Some(delivered) })
        };
        let run = u32::try_from(run).unwrap_or(u32::MAX);
        let played = network.run(&points[point], run, None, &mut go_on);
        Ok(played.map_err(|error: PlayError| RunError::from(error))?.outcome)
    }
}
