//! Gateways that split connections in mid-life. Drawn last, so that a seed without them is what it was before.

use super::Draw;
use crate::fuzz::plan::{FaultPlan, Hazard, Middle};
use bentpipe_core::units::Bytes;

impl Draw {
    /// One plan in eight has such gateways, in both places or in one.
    pub(super) fn adoption(&mut self, plan: &mut FaultPlan) {
        if !self.one_in(8) {
            return;
        }
        for middle in &mut plan.middle {
            let after = self.pick(&[1, 500, 3_000, 20_000, 60_000]);
            let Middle::Gateway(config) = middle else { continue };
            if self.between(0, 3) > 0 {
                config.adopt_after = Some(Bytes::new(after));
                plan.hazards.insert(Hazard::Adoption);
            }
        }
    }
}
