//! Gateways with keys: the same one, two that differ, or one gateway alone.

use super::Draw;
use crate::fuzz::plan::{FaultPlan, Middle};
use bentpipe_gateway::PairKey;

impl Draw {
    /// In every second plan.
    pub(super) fn keys(&mut self, plan: &mut FaultPlan) {
        if !self.flip() {
            return;
        }
        for middle in &mut plan.middle {
            if let Middle::Gateway(config) = middle {
                config.pair_key = match self.between(0, 7) {
                    0 => None,
                    1 => Some(key(1)),
                    _ => Some(key(0)),
                };
            }
        }
    }
}

fn key(number: u32) -> PairKey {
    format!("{number:032x}").parse().expect("a key's digits")
}
