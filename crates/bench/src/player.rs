//! The makers of runs: virtual time, or real hosts.

use bentpipe_results::{RunError, RunResults};
use bentpipe_scenario::Experiment;
use bentpipe_testbed::ephemeral::{self, EphemeralTestbed};
use bentpipe_testbed::flows;
use bentpipe_testbed::network::{Request, Stacks};
use bentpipe_testbed::plan::{self, ForeignPrograms, LivePoint};
use bentpipe_testbed::play::Run;
use bentpipe_testbed::proxy::ProxyCommand;
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Progress {
    /// Of its longest time.
    pub(crate) share: f64,
    /// What applications have read, where that is known while it lasts.
    pub(crate) delivered: Option<u64>,
}

/// A run that was made.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) results: RunResults,
    /// The share of packets that were more than 1 ms late, of the worst link: on a busy machine
    /// links are.
    pub(crate) late: f64,
}

/// Where runs are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum World {
    /// In virtual time.
    Simulated,
    /// On Linux's own TCP, in network namespaces. It takes root.
    Live {
        /// The commands of foreign gateways.
        proxies: Vec<ProxyCommand>,
    },
}

impl World {
    /// A maker of runs, one at a time. `worker`: no two at a time have the same.
    pub(crate) fn player(&self, worker: usize) -> Box<dyn Player> {
        match self {
            World::Simulated => Box::new(Simulator),
            World::Live { proxies } => {
                Box::new(RealHosts { worker, proxies: proxies.clone(), testbed: None })
            }
        }
    }

    /// Takes down what is left of live testbeds whose commands were killed.
    pub(crate) fn remove_leftovers(&self) {
        if matches!(self, World::Live { .. }) {
            ephemeral::remove_leftovers(TESTBEDS);
        }
    }

    /// Whether a foreign gateway of this name can take part.
    pub(crate) fn has_proxy(&self, name: &str) -> bool {
        match self {
            World::Simulated => false,
            World::Live { proxies } => proxies.iter().any(|proxy| proxy.name == name),
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
    ) -> Result<Played, RunError>;
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
    ) -> Result<Played, RunError> {
        let go_on = |share| go_on(Progress { share, delivered: None });
        let results = bentpipe_sim::run(&experiment.point(point).scenario, run, go_on)?;
        Ok(Played { results, late: 0.0 })
    }
}

struct RealHosts {
    worker: usize,
    proxies: Vec<ProxyCommand>,
    testbed: Option<Testbed>,
}

/// A testbed that is up, for the points of its experiment.
struct Testbed {
    experiment: Arc<Experiment>,
    network: EphemeralTestbed,
}

/// What testbeds are [named](ephemeral::name) after.
const TESTBEDS: &str = "bench";

/// What messages call a scenario, whose case they name.
const FILE: &str = "its scenario";

impl RealHosts {
    /// The testbed of an experiment, at the beginning as it is at the point `live`. That of another
    /// experiment is taken down before.
    fn testbed(
        &mut self,
        experiment: &Arc<Experiment>,
        name: &str,
        live: &LivePoint,
        stop: &AtomicBool,
    ) -> Result<&mut EphemeralTestbed, RunError> {
        let same = |up: &Testbed| Arc::ptr_eq(&up.experiment, experiment);
        let up = match self.testbed.take() {
            Some(up) if same(&up) => up,
            other => {
                drop(other);
                let binary = env::current_exe().map_err(|error| failed(&error))?;
                let request = Request {
                    name,
                    file: FILE,
                    experiment,
                    stacks: Stacks::AsAsked,
                    proxies: &self.proxies,
                    binary: &binary,
                    realtime: true,
                };
                let network = EphemeralTestbed::up(&request, live, stop)?;
                Testbed { experiment: Arc::clone(experiment), network }
            }
        };
        Ok(&mut self.testbed.insert(up).network)
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
    ) -> Result<Played, RunError> {
        // A program that dies of the same Ctrl-C is no failure.
        let stopped = |error| match stop.load(Ordering::Relaxed) {
            true => RunError::Cancelled,
            false => error,
        };
        let name = ephemeral::name(TESTBEDS, self.worker);
        let programs = ForeignPrograms { browser: None, proxies: &self.proxies };
        let live = plan::point(experiment, point, FILE, &name, Stacks::AsAsked, programs);
        let live = live.map_err(|error| failed(&error))?;
        let testbed = self.testbed(experiment, &name, &live, stop).map_err(stopped)?;
        let mut go_on = |progress: flows::Progress| {
            let flows::Progress { share, delivered } = progress;
            go_on(Progress { share, delivered: Some(delivered) })
        };
        let run = u32::try_from(run).unwrap_or(u32::MAX);
        let made = testbed.run(&live, run, None, &mut go_on);
        let Run { results, late, .. } = made.map_err(|error| stopped(error.into()))?;
        Ok(Played { results, late })
    }
}

fn failed(error: &dyn ToString) -> RunError {
    RunError::Failed(error.to_string())
}
