//! Links of known rate whose losses are their own: what the flows see of them, and what is done
//! when one is not what it is held for.

use super::Gateway;
use super::access::Context;
use super::scheduler::LinkScheduler;
use super::view::{LinkView, TakenFor};
use crate::Side;
use crate::config::{FoundBy, LegConfig};
use crate::leg::{Leg, PerLeg};
use crate::lifecycle::SplicedFlow;
use crate::observe::Event;
use crate::splice::LegTcp;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::congestion::CongestionAlgorithm;
use bentpipe_core::tcp::sender::Sender;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;

impl<B: Buffer> Gateway<B> {
    /// The satellite link as it stands.
    pub fn satellite_link(&self) -> LinkView {
        let (leg, link) = (&self.config.satellite, &self.links[Side::Satellite]);
        let used = self.links.remotes.only_link().unwrap_or(link);
        let losses = match leg.tolerates_losses() {
            // A gateway behind which there are only clients announces itself in SYNs, which do not
            // make it known.
            true if link.is_told() && (self.peer_known || link.is_reported()) => TakenFor::Link,
            true => TakenFor::ToldApart,
            false => TakenFor::Believed,
        };
        LinkView {
            losses,
            circuit_broken: link.is_broken(),
            rate: leg.rate,
            told: leg.told.rate,
            contradiction: self.told.contradiction(),
            used_at: used.rate(),
        }
    }

    /// The link carries less than half of what it is sent. From now on losses are taken for
    /// congestion, by all flows.
    pub(crate) fn believe_losses(&mut self, side: Side) {
        self.events.push(Event::CircuitBroken(side));
        self.links[side].break_circuit(self.config.leg(side).rate);
        self.put_in_force();
        self.flows_believe(side);
    }

    /// Flows that take the losses of the link on `side` for its own do so no more.
    pub(super) fn flows_believe(&mut self, side: Side) {
        let control = self.config.leg(side).sender.congestion;
        for (_, flow) in &mut self.flows {
            let sides = flow.sides();
            if let Some((spliced, _)) = flow.spliced_mut() {
                believe(spliced, sides, side, control);
            }
        }
    }

    /// Flow `id` has hibernated, and may have missed that losses are to be believed.
    pub(super) fn believe_after_hibernation(&mut self, id: usize) {
        let Some(flow) = self.flows.get_mut(id) else { return };
        let sides = flow.sides();
        let Some((spliced, _)) = flow.spliced_mut() else { return };
        for side in Side::BOTH.into_iter().filter(|side| !self.links[*side].is_told()) {
            believe(spliced, sides, side, self.config.leg(side).sender.congestion);
        }
    }

    /// The windows of flow `id` follow its links, if it does not hibernate.
    pub(super) fn follow_links(&mut self, id: usize) {
        let Some(flow) = self.flows.get_mut(id) else { return };
        let (sides, remote) = (flow.sides(), flow.remote);
        let Some((spliced, _)) = flow.spliced_mut() else { return };
        for leg in Leg::BOTH {
            let link = self.links.of(sides[leg], remote);
            let LegTcp { tcb, peer, .. } = spliced.leg_mut(leg);
            let (sender, peer) = (&mut tcb.sender, *peer);
            follow_link(sender, peer, link, self.config.leg(sides[leg]));
        }
    }

    /// The congestion control of each leg towards `side` of flows that do not hibernate.
    #[cfg(test)]
    pub(crate) fn controls(&self, side: Side) -> Vec<CongestionAlgorithm> {
        let mut controls = Vec::new();
        for (_, flow) in &self.flows {
            let Some(spliced) = flow.spliced() else { continue };
            for leg in Leg::BOTH.into_iter().filter(|leg| flow.sides()[*leg] == side) {
                controls.push(spliced.splice().tcb(leg).sender.congestion());
            }
        }
        controls
    }
}

impl Context<'_> {
    /// The flow is asked for something to send: a leg that has its first data begins with what of
    /// its link is free, where that is wanted.
    pub(super) fn begin_with_free_share<B: Buffer>(&mut self, flow: &mut SplicedFlow<B>) {
        for leg in Leg::BOTH {
            let side = self.sides[leg];
            let Some(free_share) = &mut self.links[side].free_share else { continue };
            let sender = &mut flow.leg_mut(leg).tcb.sender;
            if !sender.is_done()
                && let Some(window) = free_share.first_window(&mut self.turns[side])
            {
                sender.begin_with(Bytes::new(window));
            }
        }
    }

    /// The flow is asked for something to send: one that begins has no more than ten segments where
    /// others begin, too.
    pub(super) fn end_spread<B: Buffer>(&mut self, now: Instant, flow: &mut SplicedFlow<B>) {
        for leg in Leg::BOTH {
            let sender = &mut flow.leg_mut(leg).tcb.sender;
            if sender.is_spreading()
                && self.links.of_mut(self.sides[leg], self.remote).ends_spread(now)
            {
                sender.end_spread();
            }
        }
    }

    /// The flow is asked for something to send: on a link whose flows have one window together,
    /// super-segments are no longer than window and rate let.
    pub(super) fn limit_bursts<B: Buffer>(&self, flow: &mut SplicedFlow<B>) {
        for leg in Leg::BOTH {
            let side = self.sides[leg];
            let sender = &mut flow.leg_mut(leg).tcb.sender;
            let shares = sender.congestion() == CongestionAlgorithm::SharedLink;
            let burst = shares.then(|| self.link(side).burst(&self.turns[side])).flatten();
            sender.limit_burst(burst.map(Bytes::new));
        }
    }

    /// Something has happened to what the flow has in flight.
    pub(super) fn watch_links<B: Buffer>(&mut self, now: Instant, flow: &mut SplicedFlow<B>) {
        // Behind one carrier there are several paths anyway.
        let apart = self.config.satellite.found_by == FoundBy::AllFlows;
        for leg in Leg::BOTH {
            let side = self.sides[leg];
            let link = self.links.of_mut(side, self.remote);
            let LegTcp { tcb, peer, .. } = flow.leg_mut(leg);
            let (sender, peer) = (&mut tcb.sender, *peer);
            if let Some(free_share) = &mut link.free_share {
                let window = Some(sender.cwnd().count()).filter(|_| !sender.is_done());
                free_share.uses(&mut self.turns[side], window);
            }
            link.spread(sender.take_spread());
            if !link.is_watched() {
                continue;
            }
            let unheard = sender.unanswered() > 0;
            link.set_in_flight(&mut self.turns[side], sender.in_flight().count(), unheard);
            let report = sender.take_link_report();
            let rtt = report.rtt.filter(|_| peer && side == Side::Satellite && apart);
            let several = rtt.is_some_and(|it| link.has_paths(now, &mut self.turns[side], it));
            let knows = matches!(sender.congestion(), CongestionAlgorithm::KnownLink { .. });
            let broken =
                (knows || !link.is_told()) && link.on_report(now, &mut self.turns[side], report);
            follow_link(sender, peer, link, self.config.leg(side));
            let window = link.found_window();
            if several {
                link.set_apart(now);
                let identity = self.remote.and_then(|it| self.links.remotes.identity_bits(it));
                self.events.push(Event::SeveralPaths(identity));
            }
            if let Some(window) = window {
                flow.provide(leg, window);
            }
            if broken {
                self.break_circuit(side);
            }
        }
    }
}

/// Gives up a sender's own window where the flows of its link have one together, and takes one up
/// again where they have not. Without a `peer` gateway it keeps it: there may be
/// another queue behind the link.
fn follow_link(sender: &mut Sender, peer: bool, link: &LinkScheduler, config: &LegConfig) {
    match (peer && link.has_window(), sender.congestion()) {
        (true, CongestionAlgorithm::TolerantCubic) => {
            sender.set_congestion(CongestionAlgorithm::SharedLink);
        }
        (false, CongestionAlgorithm::SharedLink) if config.tolerates_losses() => {
            sender.find_window(CongestionAlgorithm::TolerantCubic);
        }
        (false, CongestionAlgorithm::SharedLink) => {
            sender.find_window(config.sender.congestion);
        }
        _ => {}
    }
    // A known link's flows have them from their beginning.
    if !matches!(sender.congestion(), CongestionAlgorithm::KnownLink { .. }) {
        let shares = sender.congestion() == CongestionAlgorithm::SharedLink;
        let loses = shares && config.sender.spare_copies && link.loses_by_itself();
        sender.set_spare_copies(loses);
    }
}

/// The legs of a flow towards `side` that take losses for the link's own believe them from now on.
fn believe<B: Buffer>(
    flow: &mut SplicedFlow<B>,
    sides: PerLeg<Side>,
    side: Side,
    control: CongestionAlgorithm,
) {
    for leg in Leg::BOTH.into_iter().filter(|leg| sides[*leg] == side) {
        let sender = &mut flow.leg_mut(leg).tcb.sender;
        if matches!(sender.congestion(), CongestionAlgorithm::KnownLink { .. }) {
            sender.set_congestion(control);
            sender.set_spare_copies(false);
        }
    }
}
