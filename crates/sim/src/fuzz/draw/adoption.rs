//! Draws adoption and hand-over: last, so that seeds without them stay as they were.

use super::{DRAIN, Draw};
use crate::fuzz::attack::Forgery;
use crate::fuzz::plan::{Call, Change, FaultPlan, Hazard, Middle};
use crate::host::script::Pace;
use bentpipe_core::time::Duration;
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

    /// In one plan in eight gateways are stopped in good order, and those that follow know their
    /// connections.
    pub(super) fn recall(&mut self, plan: &mut FaultPlan) {
        if !self.one_in(8) {
            return;
        }
        if self.flip() {
            self.lengthen(&mut plan.calls);
        }
        for index in [0, 1] {
            let stopped = self.between(0, 2) > 0;
            let mut at = match self.flip() {
                true => plan.calls[0].at + self.millis(100, 3_000),
                false => self.moment(&plan.calls),
            };
            let Middle::Gateway(config) = &mut plan.middle[index] else { continue };
            config.soft_state = true;
            config.reset_drain = DRAIN;
            plan.hazards.insert(Hazard::Recall);
            if !stopped {
                continue;
            }
            plan.changes.push((at, Change::Drain(index)));
            // What it holds is delivered first: that may take a while.
            for longest in [500, 2_000, 10_000] {
                at += self.millis(1, longest);
                plan.changes.push((at, Change::Stop(index)));
                let later = if self.flip() { Duration::ZERO } else { self.millis(1, 2_000) };
                plan.changes.push((at + later, Change::Start(index)));
            }
        }
        // Seed 68584: what has guessed the window of a box may be what the host behind it takes,
        // once that is handed back.
        for (_, change) in &mut plan.changes {
            if let Change::Attack(attack) = change
                && !matches!(attack.forgery, Forgery::Flood(_))
            {
                attack.forgery = Forgery::Blind;
            }
        }
        plan.changes.sort_by_key(|(at, _)| *at);
    }

    /// Connections that last some seconds.
    fn lengthen(&mut self, calls: &mut [Call]) {
        for call in calls {
            for application in &mut call.applications {
                application.bytes = application.bytes.max(self.between(20_000, 200_000));
                let every = self.millis(50, 300);
                application.write = Pace { chunk: self.between(2_000, 20_000), every };
            }
        }
    }
}
