//! What a satellite link can carry of payload.

use super::limit::{PACKET, PAYLOAD, rate_of, share_lost};
use super::measure::LINK;
use bentpipe_core::time::Instant;
use bentpipe_scenario::Scenario;

/// The capacity of a scenario's satellite link, from the server's side, for its flows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Capacity {
    /// Payload in full-sized packets that arrive, in bit/s.
    pub(super) payload: f64,
    /// How many flows share it.
    pub(super) flows: f64,
}

impl Capacity {
    /// Of a scenario; None if its satellite link has no rate.
    pub(super) fn of(scenario: &Scenario) -> Option<Capacity> {
        let link = scenario.links.iter().find(|link| link.name == LINK)?;
        let direction = &link.forward;
        let rate = rate_of(direction)?.bits_per_sec() as f64;
        let lost = share_lost(&direction.loss, direction.bit_errors.at(Instant::ZERO));
        let flows: u32 = scenario.flows.iter().map(|flow| flow.count).sum();
        let payload = rate * PAYLOAD as f64 / PACKET as f64 * (1.0 - lost);
        Some(Capacity { payload, flows: flows.into() })
    }
}
