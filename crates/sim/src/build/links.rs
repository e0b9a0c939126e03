//! A scenario's links as the core has them.

use bentpipe_core::link::LinkConfig;
use bentpipe_core::time::Duration;
use bentpipe_links::{Direction, Seeds};
use bentpipe_scenario::Scenario;

/// The configuration of one direction of a link that is also out at the times `down`, whose random numbers are those of `name`.
pub(super) fn config(
    scenario: &Scenario,
    direction: &Direction,
    down: Vec<(Duration, Duration)>,
    seeds: Seeds,
    name: &str,
) -> LinkConfig {
    direction.config(seeds, name, scenario.run.duration, down)
}
