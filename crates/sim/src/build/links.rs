//! A scenario's links as the core has them.

use bentpipe_core::link::{LinkConfig, Outages};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_scenario::{Direction, Scenario, Seeds};

/// The configuration of one direction of a link that is also out at the times `down`, whose random numbers are those of `name`.
pub(super) fn config(
    scenario: &Scenario,
    direction: &Direction,
    down: Vec<(Duration, Duration)>,
    seeds: Seeds,
    name: &str,
) -> LinkConfig {
    let mut rng = seeds.rng(&format!("{name}/outages"));
    let mut direction = direction.clone();
    direction.outages.push(bentpipe_scenario::Outages::Planned(down));
    let outages = direction.outage_spans(&mut rng, scenario.run.duration);
    let spans = outages.into_iter().map(|(begin, length)| {
        let begin = Instant::ZERO + begin;
        begin..begin + length
    });
    LinkConfig {
        rate: direction.rate,
        framing: direction.framing,
        delay: direction.delay,
        order: direction.order,
        queue: direction.queue,
        packet_loss: direction.loss,
        bit_errors: direction.bit_errors,
        outages: Outages::listed(spans.collect()).expect("spans are in order and apart"),
        seed: seeds.stream(&format!("{name}/loss")),
    }
}
