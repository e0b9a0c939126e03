//! Hosts that pose as gateways, and gateways that lie.

use super::Draw;
use crate::fuzz::plan::{Change, FaultPlan, Hazard, Meddler, MiddleboxPosition};
use crate::{Alias, Lies};
use rand::RngExt;

impl Draw {
    /// In every second plan, at a host or on the satellite link.
    pub(super) fn liars(&mut self, plan: &mut FaultPlan) {
        if !self.flip() {
            return;
        }
        plan.hazards.insert(Hazard::Lies);
        let position = self.pick(&[
            MiddleboxPosition::Satellite,
            MiddleboxPosition::Satellite,
            MiddleboxPosition::Cable(0),
            MiddleboxPosition::Cable(1),
        ]);
        // Who says that he is a gateway is left with options that he cannot speak, when the other
        // gateway stops. That harms nobody else.
        let hands_over = plan.changes.iter().any(|(_, change)| matches!(change, Change::Drain(_)));
        let name = self.rng.random();
        let lies = Lies {
            alias: self.pick(&[Alias::Own(name), Alias::New, Alias::Stolen]),
            share: self.pick(&[0.05, 0.5, 1.0]),
            bytes: self.pick(&[0.0, 0.25, 1.0, 4.0, 100.0, 1e9]),
            clock: self.pick(&[-1.0, 0.0, 0.5, 0.999, 1.0, 1.001, 2.0, 1e6]),
            announces: self.flip() && !hands_over,
        };
        let seed = self.rng.random();
        plan.meddlers.push((position, Meddler::Lies { lies, seed }));
    }
}
