//! A scenario's links as the core has them.

use bentpipe_core::link::{LinkConfig, QueueLimit};
use bentpipe_core::time::Duration;
use bentpipe_scenario::{Direction, Seeds};

/// The configuration of one direction of the link called `name`.
pub(super) fn config(
    direction: &Direction,
    seeds: Seeds,
    name: &str,
    way: &str,
    seed: u64,
) -> LinkConfig {
    let _ = (seeds, name, way);
    LinkConfig {
        rate: direction.rate.as_ref().map(|rate| rate.at(Duration::ZERO)),
        delay: direction.delay.at(Duration::ZERO),
        queue: match direction.queue.limit() {
            limit @ (QueueLimit::Packets(_) | QueueLimit::Bytes(_) | QueueLimit::Unlimited) => {
                limit
            }
        },
        packet_loss: direction.loss.at(Duration::ZERO),
        bit_errors: direction.bit_errors,
        seed,
    }
}
