//! What ICMP says, and whether it is true. Drawn after all else, so that a seed is otherwise what
//! it was before there was this.

use super::Draw;
use crate::fuzz::attack::Forgery;
use crate::fuzz::plan::{Change, FaultPlan, Hazard, MiddleboxPosition, Passage, Strait};
use bentpipe_core::tcp::tcb::MIN_PATH_MTU;
use bentpipe_core::time::Instant;

/// What all boxes and hosts can send.
const FULL: u32 = 1500;

impl Draw {
    /// Adds it to `plan`.
    pub(super) fn icmp(&mut self, plan: &mut FaultPlan) {
        for (hazard, percent) in
            [(Hazard::MtuChange, 15), (Hazard::Unreachable, 10), (Hazard::ForgedIcmp, 15)]
        {
            if self.between(1, 100) <= percent {
                plan.hazards.insert(hazard);
            }
        }
        let [mtus, dead_ends, forged] =
            [Hazard::MtuChange, Hazard::Unreachable, Hazard::ForgedIcmp]
                .map(|hazard| plan.hazards.contains(&hazard));
        if mtus || dead_ends {
            let v6 = plan.addresses[0].is_ipv6();
            let position = self.pick(&[
                MiddleboxPosition::Satellite,
                MiddleboxPosition::Satellite,
                MiddleboxPosition::Cable(0),
                MiddleboxPosition::Cable(1),
            ]);
            let mtu = if mtus && self.flip() { self.mtu(v6) } else { FULL };
            plan.strait = Some(Strait { position, mtu });
            let passages = if mtus { self.between(1, 3) } else { 0 };
            for _ in 0..passages {
                let (at, mtu) = (self.moment(&plan.calls), self.mtu(v6));
                plan.changes.push((at, Change::Strait(Passage::Open(mtu))));
            }
            let closings = if dead_ends { self.between(1, 2) } else { 0 };
            for _ in 0..closings {
                let (at, lasting) = (self.moment(&plan.calls), self.millis(50, 15_000));
                let mtu = if mtus { self.mtu(v6) } else { FULL };
                plan.changes.push((at, Change::Strait(Passage::DeadEnd)));
                plan.changes.push((at + lasting, Change::Strait(Passage::Open(mtu))));
            }
        }
        if forged {
            for _ in 0..self.between(5, 40) {
                let at: Instant = self.moment(&plan.calls);
                let attack = self.attack(&plan.calls, Forgery::Icmp);
                plan.changes.push((at, Change::Attack(attack)));
            }
        }
        plan.changes.sort_by_key(|(at, _)| *at);
    }

    /// What a router may have, and hosts believe.
    fn mtu(&mut self, v6: bool) -> u32 {
        let min = if v6 { 1280 } else { MIN_PATH_MTU };
        let any = self.between(u64::from(min), u64::from(FULL)) as u32;
        self.pick(&[min, any, any, any, FULL])
    }
}
