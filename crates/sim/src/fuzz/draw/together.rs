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
        each_config(plan).for_each(|config| self.find_together(config));
    }

    /// Some of these share a carrier with other pairs, or are held to. A reload may begin or end
    /// it.
    pub(super) fn shared_carriers(&mut self, plan: &mut FaultPlan) {
        each_config(plan).for_each(|config| config.satellite.shared_carrier = self.flip());
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

/// What gateways begin with, and are told later.
fn each_config(plan: &mut FaultPlan) -> impl Iterator<Item = &mut Config> {
    let first = plan.middle.iter_mut().filter_map(|middle| match middle {
        Middle::Gateway(config) => Some(&mut **config),
        Middle::Router => None,
    });
    let reloads = plan.changes.iter_mut().filter_map(|(_, change)| match change {
        Change::Reload(_, config) => Some(&mut **config),
        _ => None,
    });
    first.chain(reloads)
}
