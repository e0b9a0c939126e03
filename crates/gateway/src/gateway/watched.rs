//! Links of known rate whose losses are their own: what the flows see of them, and what is done when one
//! is not what it is held for.

use super::Gateway;
use crate::Side;
use crate::config::Losses;
use crate::flow::{CLIENT, Phase, SERVER};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::congestion::Control;
use bentpipe_core::time::Instant;

impl<B: Buffer> Gateway<B> {
    /// Something has happened to what flow `id` has in flight.
    pub(super) fn watch_links(&mut self, now: Instant, id: usize) {
        let Some(flow) = self.flows.get_mut(id) else { return };
        let Phase::Split(split) = &mut flow.phase else { return };
        let mut broken = None;
        for leg in [CLIENT, SERVER] {
            let side = flow.sides[leg];
            let link = &mut self.links[side as usize];
            if !link.is_watched() {
                continue;
            }
            let sender = split.sender_mut(leg);
            link.set_in_flight(&mut flow.turns[side as usize], sender.in_flight());
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
    fn believe_losses(&mut self, side: Side) {
        tracing::warn!(
            ?side,
            "the link carries less than half of its rate: losses are taken for congestion from now on"
        );
        let leg = self.config.leg_mut(side);
        leg.losses = Losses::Believed;
        let (control, rate) = (leg.sender.control, leg.rate);
        self.links[side as usize].stop_watching(rate);
        for (_, flow) in &mut self.flows {
            let Phase::Split(split) = &mut flow.phase else { continue };
            for leg in [CLIENT, SERVER].into_iter().filter(|leg| flow.sides[*leg] == side) {
                let sender = split.sender_mut(leg);
                if matches!(sender.control(), Control::KnownLink { .. }) {
                    sender.set_control(control);
                }
            }
        }
    }
}
