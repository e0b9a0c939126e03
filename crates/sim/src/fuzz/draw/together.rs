//! Gateways whose flows find their link together.

use super::Draw;
use crate::fuzz::plan::{Change, FaultPlan, Middle};
use bentpipe_gateway::{Config, FoundBy};

impl Draw {
    /// In every second plan, of some gateways or of both. A reload may begin or end it.
    pub(super) fn found_together(&mut self, plan: &mut FaultPlan) {
        if !self.flip() {
            return;
        }
        let reloads = plan.changes.iter_mut().filter_map(|(_, change)| match change {
            Change::Reload(_, config) => Some(config),
            _ => None,
        });
        let first = plan.middle.iter_mut().filter_map(|middle| match middle {
            Middle::Gateway(config) => Some(config),
            Middle::Router => None,
        });
        first.chain(reloads).for_each(|config| self.find_together(config));
    }

    fn find_together(&mut self, config: &mut Config) {
        config.satellite.found_by = self.pick(&[
            FoundBy::AllFlows,
            FoundBy::AllFlows,
            FoundBy::AllFlows,
            FoundBy::AllRemotes,
            FoundBy::EachFlow,
        ]);
        // With a rate there is nothing to be found.
        if !self.one_in(4) {
            config.satellite.rate = None;
            config.satellite.return_rate = None;
        }
    }
}
