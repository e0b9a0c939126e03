//! Links of known rate whose losses are their own: what the flows see of them, and what is done when one
//! is not what it is held for.

use super::Gateway;
use crate::Side;
use crate::config::Losses;
use crate::flow::{Flow, Phase};
use crate::leg::Leg;
use crate::view::{LinkView, TakenFor};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::congestion::Control;
use bentpipe_core::time::Instant;

impl<B: Buffer> Gateway<B> {
    /// The satellite link as it stands.
    pub fn satellite_link(&self) -> LinkView {
        let (leg, link) = (&self.config.satellite, &self.links[Side::Satellite]);
        let losses = match leg.tolerates_losses() {
            // A gateway behind which there are only clients announces itself in SYNs, which do not make it known.
            true if link.is_watched() && (self.peer_known || link.is_reported()) => TakenFor::Link,
            true => TakenFor::ToldApart,
            false => TakenFor::Believed,
        };
        LinkView { losses, circuit_broken: link.is_broken(), rate: leg.rate, used_at: link.rate() }
    }

    /// Something has happened to what flow `id` has in flight.
    pub(super) fn watch_links(&mut self, now: Instant, id: usize) {
        let Some(flow) = self.flows.get_mut(id) else { return };
        let Phase::Split(split) = &mut flow.phase else { return };
        let mut broken = None;
        for leg in Leg::BOTH {
            let side = flow.sides[leg];
            let link = &mut self.links[side];
            if !link.is_watched() {
                continue;
            }
            let sender = split.sender_mut(leg);
            link.set_in_flight(&mut flow.turns[side], sender.in_flight());
            if link.on_report(now, sender.take_link_report()) {
                broken = Some(side);
            }
        }
        if let Some(side) = broken {
            self.believe_losses(side);
        }
    }

    /// The link carries less than half of what it is sent. From now on losses are taken for congestion,
    /// by all flows.
    pub(crate) fn believe_losses(&mut self, side: Side) {
        tracing::warn!(
            ?side,
            "the link carries less than half of its rate: losses are taken for congestion from now on"
        );
        let leg = self.config.leg_mut(side);
        leg.losses = Losses::Believed;
        let (control, rate) = (leg.sender.control, leg.rate);
        self.links[side].break_circuit(rate);
        for (_, flow) in &mut self.flows {
            believe(flow, side, control);
        }
    }

    /// Flow `id` has rested, and may have missed that losses are to be believed.
    pub(super) fn believe_after_rest(&mut self, id: usize) {
        for side in Side::BOTH {
            if self.links[side].is_broken() {
                believe(&mut self.flows[id], side, self.config.leg(side).sender.control);
            }
        }
    }

    /// The congestion control of each leg towards `side` of flows that do not rest.
    #[cfg(test)]
    pub(crate) fn controls(&mut self, side: Side) -> Vec<Control> {
        let mut controls = Vec::new();
        for (_, flow) in &mut self.flows {
            let Phase::Split(split) = &mut flow.phase else { continue };
            for leg in Leg::BOTH.into_iter().filter(|leg| flow.sides[*leg] == side) {
                controls.push(split.sender_mut(leg).control());
            }
        }
        controls
    }
}

/// The legs of `flow` towards `side` that take losses for the link's own believe them from now on.
fn believe<B: Buffer>(flow: &mut Flow<B>, side: Side, control: Control) {
    let Phase::Split(split) = &mut flow.phase else { return };
    for leg in Leg::BOTH.into_iter().filter(|leg| flow.sides[*leg] == side) {
        let sender = split.sender_mut(leg);
        if matches!(sender.control(), Control::KnownLink { .. }) {
            sender.set_control(control);
        }
    }
}
