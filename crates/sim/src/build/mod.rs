//! From a scenario to a simulation of one of its runs.

mod network;
mod traffic;

pub use network::{BuiltLink, Layout};
pub(crate) use network::{gateway as restart, route};

use crate::simulation::Simulation;
use bentpipe_links::Seeds;
use bentpipe_scenario::Scenario;

/// A scenario's run, ready to begin.
#[derive(Debug)]
pub struct Built {
    /// The world with its workloads.
    pub simulation: Simulation,
    /// Where the scenario's nodes and links are in it.
    pub layout: Layout,
    /// The run's random numbers.
    pub seeds: Seeds,
}

/// Builds run `run` (counted from zero) of `scenario`.
pub fn build(scenario: &Scenario, run: u64) -> Built {
    let seeds = scenario.seeds(run);
    let (world, layout) = network::build(scenario, seeds);
    let mut simulation = Simulation::new(world);
    simulation.set_web_caches(layout.web_caches.clone());
    traffic::add(&mut simulation, scenario, &layout, seeds);
    Built { simulation, layout, seeds }
}
