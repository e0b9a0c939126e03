//! Parameters in force: the operator's, with what is known of the links by now.

use super::Gateway;
use crate::Side;
use crate::config::{Config, LegConfig, Losses};
use crate::policy::Policy;
use bentpipe_core::tcp::buffer::Buffer;
use std::sync::Arc;

impl<B: Buffer> Gateway<B> {
    /// The parameters as the operator has set them.
    pub fn config(&self) -> &Config {
        &self.configured
    }

    /// The parameters in force: what the other gateway says of the link, and what the circuit
    /// breaker has found, are in them.
    pub fn in_force(&self) -> &Config {
        &self.config
    }

    /// The leg towards `side` as the operator, and of the satellite link the other gateway,
    /// describe it.
    pub(super) fn described(&self, side: Side) -> LegConfig {
        let leg = self.configured.leg(side);
        match side {
            Side::Satellite => leg.with_told(self.told.believed()).followed(),
            Side::Lan => *leg,
        }
    }

    /// Puts the parameters in force that follow from what is configured and known. Nothing else
    /// changes them.
    pub(super) fn put_in_force(&mut self) {
        let leg = |side| match (self.described(side), self.links[side].is_broken()) {
            (leg, true) => LegConfig { losses: Losses::Believed, ..leg },
            (leg, false) => leg,
        };
        let policy = &self.configured.policy;
        let observe = policy.observe && !self.enabled;
        self.config = Arc::new(Config {
            satellite: leg(Side::Satellite),
            lan: leg(Side::Lan),
            policy: Policy { observe, ..policy.clone() },
            ..self.configured.clone()
        });
    }
}
