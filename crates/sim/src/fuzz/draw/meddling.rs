//! Boxes that meddle with packets, and hosts that call again from a port whose connection they have
//! reset.

use super::Draw;
use crate::Fake;
use crate::fuzz::plan::{Change, FaultPlan, Hazard, Meddler, MiddleboxPosition};
use bentpipe_core::time::Duration;
use bentpipe_core::wire::SeqNum;
use rand::RngExt;

/// Longer than anything waits in a queue.
const IN_FLIGHT: Duration = Duration::from_secs(20);

impl Draw {
    /// One plan in twelve has a router that clears DF, with IPv4, and one in eight has fakes.
    pub(super) fn meddlers(&mut self, plan: &mut FaultPlan) {
        let clears = self.one_in(12);
        let position = self.pick(&[
            MiddleboxPosition::Satellite,
            MiddleboxPosition::Satellite,
            MiddleboxPosition::Cable(0),
            MiddleboxPosition::Cable(1),
        ]);
        let (mtu, loss) = (self.between(600, 1_400) as usize, self.rng.random::<f64>() * 0.05);
        if clears && plan.addresses[0].is_ipv4() {
            plan.hazards.insert(Hazard::ClearedDf);
            let seed = self.rng.random();
            plan.meddlers.push((position, Meddler::ClearsDf { mtu, loss, seed }));
        }
        if self.one_in(8) {
            plan.hazards.insert(Hazard::Fakes);
            let host = usize::from(self.flip());
            let fake = self.pick(&[Fake::LowHopLimit, Fake::Signed]);
            let (share, seed) = (self.rng.random::<f64>(), self.rng.random());
            plan.meddlers
                .push((MiddleboxPosition::Cable(host), Meddler::Fakes { fake, share, seed }));
            plan.meddlers.push((MiddleboxPosition::Cable(1 - host), Meddler::FakesEnd));
        }
    }

    /// One plan in eight, if nothing breaks there and gateways know connections by their SYNs
    /// alone.
    pub(super) fn port_reuse(&mut self, plan: &mut FaultPlan) {
        let softly = [Hazard::Adoption, Hazard::Recall].iter().any(|it| plan.hazards.contains(it));
        if !self.one_in(8) || softly || plan.may_break() {
            return;
        }
        plan.hazards.insert(Hazard::PortReuse);
        let after = self.millis(200, 8_000);
        let call = &mut plan.calls[0];
        call.applications[0].abort_after = Some(after);
        call.applications[1].abort_after = None;
        let at = call.at + after + self.millis(0, 2_000);
        let isns = [0; 2].map(|_: u32| SeqNum(self.rng.random()));
        // Until a handshake is complete nothing tells a forgery (RFC 9293, 3.10.7.3), and one may
        // be on its way for long.
        plan.changes.retain(|(struck, change)| match change {
            Change::Attack(attack) => {
                attack.call != 0 || *struck > at + IN_FLIGHT || *struck + IN_FLIGHT < at
            }
            _ => true,
        });
        plan.changes.push((at, Change::CallAgain(0, isns)));
        plan.changes.sort_by_key(|(at, _)| *at);
    }
}
