//! A scenario's links as the core has them.

use bentpipe_core::link::{LinkConfig, Outages};
use bentpipe_core::time::Instant;
use bentpipe_scenario::{Direction, Scenario, Seeds};

/// The configuration of one direction of a link, whose random numbers are those of `name`.
pub(super) fn config(
    scenario: &Scenario,
    direction: &Direction,
    seeds: Seeds,
    name: &str,
) -> LinkConfig {
    let mut rng = seeds.rng(&format!("{name}/outages"));
    let outages = direction.outage_spans(&mut rng, scenario.run.duration);
    let spans = outages.into_iter().map(|(begin, length)| {
        let begin = Instant::ZERO + begin;
        begin..begin + length
    });
    LinkConfig {
        rate: direction.rate.clone(),
        delay: direction.delay.clone(),
        order: direction.order,
        queue: direction.queue,
        packet_loss: direction.loss.clone(),
        bit_errors: direction.bit_errors.clone(),
        outages: Outages::listed(spans.collect()).expect("spans are in order and apart"),
        seed: seeds.stream(&format!("{name}/loss")),
    }
}
