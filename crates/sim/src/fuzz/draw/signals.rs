//! What signals do to gateways: a second one ends a gateway that drains, and SIGHUP gives it other
//! parameters.
//!
//! What a log does that fails is not drawn: no gateway's core has one, and the live tests break its
//! program's.

use super::{Draw, PATIENCE};
use crate::fuzz::plan::{Change, FaultPlan, Hazard, Middle};
use bentpipe_core::time::Instant;
use bentpipe_core::units::{Bytes, Rate};
use bentpipe_gateway::Config;

impl Draw {
    /// One plan in twelve has a second signal, and one in eight reloads.
    pub(super) fn signals(&mut self, plan: &mut FaultPlan) {
        if self.one_in(12) {
            self.second_signal(plan);
        }
        if self.one_in(8) {
            self.reloads(plan);
        }
        plan.changes.sort_by_key(|(at, _)| *at);
    }

    fn second_signal(&mut self, plan: &mut FaultPlan) {
        for index in [0, 1] {
            if !matches!(plan.middle[index], Middle::Gateway(_)) || !self.flip() {
                continue;
            }
            plan.hazards.insert(Hazard::SecondSignal);
            let (at, later) = (self.moment(&plan.calls), self.millis(0, 2_000));
            plan.changes.push((at, Change::Drain(index)));
            plan.changes.push((at + later, Change::End(index)));
        }
        if plan.hazards.contains(&Hazard::SecondSignal) {
            for application in plan.calls.iter_mut().flat_map(|call| &mut call.applications) {
                application.abort_after.get_or_insert(PATIENCE);
            }
        }
    }

    fn reloads(&mut self, plan: &mut FaultPlan) {
        for index in [0, 1] {
            let Middle::Gateway(config) = &plan.middle[index] else { continue };
            let mut config = (**config).clone();
            for _ in 0..self.between(0, 3) {
                plan.hazards.insert(Hazard::Reload);
                self.change(&mut config);
                let at: Instant = self.moment(&plan.calls);
                plan.changes.push((at, Change::Reload(index, Box::new(config.clone()))));
            }
        }
    }

    /// What is said of the link, and limits.
    fn change(&mut self, config: &mut Config) {
        let rates = [None, Some(500_000), Some(2_000_000), Some(20_000_000)];
        config.satellite.rate = self.pick(&rates).map(Rate::from_bits_per_sec);
        config.satellite.round_trip = self.flip().then(|| self.millis(10, 600));
        config.memory = Bytes::new(self.pick(&[512 << 20, 1 << 20, 400 << 10, 70_000]));
        config.guaranteed = Bytes::new(self.pick(&[16 << 10, 4 << 10]));
        config.max_stream = self.pick(&[None, Some(100_000), Some(20_000)]).map(Bytes::new);
        config.max_flows = self.pick(&[1, 20, 1_000]);
    }
}
