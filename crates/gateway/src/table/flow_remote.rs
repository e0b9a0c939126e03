//! The remote to which a flow leads.
//!
//! It is guessed when the flow begins: the remote of the latest report from the same host, or the
//! only one. The flow's first report tells, and a later one with another identity moves the flow.

use super::Gateway;
use super::remotes::RemoteId;
use crate::Side;
use crate::announce::{Identity, Report};
use crate::config::FoundBy;
use crate::key::Endpoint;
use crate::leg::Leg;
use crate::splice::LegTcp;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Offset;

impl<B: Buffer> Gateway<B> {
    /// Tells peer gateways this identity, which is to be random for each boot. Without it, or if it
    /// is 0, they do not tell this gateway from others.
    pub fn identify_as(&mut self, identity: u32) {
        self.identity = Identity::new(identity);
    }

    /// What is reported to the peer of flow `id`: if a window is found here, or there, where the
    /// peer has reported itself.
    pub(super) fn report(&self, id: usize) -> Option<Report> {
        let identity = self.identity.filter(|_| self.config.announce)?;
        if !self.config.satellite.finds_together() {
            let together = self.config.satellite.found_by.is_together();
            let (_, (host, _)) = self.far_end(id).filter(|_| together)?;
            self.links.remotes.reports(host).then_some(())?;
        }
        Some(Report::of(identity))
    }

    /// Flow `id` begins: if there is a peer gateway at its other end, it is held to lead to the
    /// remote of its host, or to the only one, or else to one that will report.
    pub(super) fn guess_remote(&mut self, id: usize) {
        let Some((leg, (host, _))) = self.far_end(id) else { return };
        let spliced = self.flows[id].spliced();
        if spliced.is_none_or(|spliced| !spliced.splice().leg(leg).peer) {
            return;
        }
        if self.identity.is_none() || self.links.remotes.is_silent(host) {
            return;
        }
        let known = self.links.remotes.identity_of(host);
        let remote = match known.and_then(|identity| self.remote(identity)) {
            None => self.links.remotes.only().or_else(|| self.newcomers()),
            remote => remote,
        };
        if remote.is_some() {
            self.change_remote(id, remote);
        }
    }

    /// Where flows belong whose remote is not known, if remotes have links of their own. Behind one
    /// carrier any remote is as good as another one.
    fn newcomers(&mut self) -> Option<RemoteId> {
        match self.config.satellite.found_by {
            FoundBy::EachFlow => None,
            FoundBy::AllRemotes => self.remote(Identity::OF_CARRIER),
            FoundBy::AllFlows => {
                let leg = self.described(Side::Satellite);
                if !leg.finds_together() {
                    return None;
                }
                self.make_room_for_remote();
                Some(self.links.remotes.newcomers(&leg))
            }
        }
    }

    /// Something has happened to flow `id`, whose remote is not known yet. If its host's is, that
    /// is it: also where the connection's SYN has lost the announcement, as its link is the same.
    /// So is the only one, if there is a peer gateway. One that has `acknowledged` something, and
    /// has not reported with that, does not report.
    pub(super) fn guess_late(&mut self, id: usize, acknowledged: bool) {
        let remotes = &self.links.remotes;
        let Some(flow) = self.flows.get(id) else { return };
        let unnamed = flow.remote.is_some_and(|remote| remotes.is_unnamed(remote));
        let is_known = flow.remote.is_some() || remotes.is_empty();
        if is_known && !unnamed {
            return;
        }
        let Some((leg, (host, _))) = self.far_end(id) else { return };
        let Some(spliced) = self.flows[id].spliced() else { return };
        let LegTcp { peer, tcb, .. } = spliced.splice().leg(leg);
        let (peer, sent) = (*peer, tcb.sender.snd_una() > Offset::FIRST);
        let known = self.links.remotes.identity_of(host);
        let of_host = known.and_then(|identity| self.find_remote(identity));
        let remote = of_host.or_else(|| self.links.remotes.only().filter(|_| peer));
        let is_silent = remote.is_none() && unnamed && sent && acknowledged;
        if is_silent {
            self.links.remotes.note_silent(host);
        }
        if remote.is_some() || is_silent {
            self.change_remote(id, remote);
        }
    }

    /// A peer gateway has reported its identity in an acceptable segment of flow `id`.
    pub(super) fn on_report(&mut self, now: Instant, id: usize, report: Report) {
        let identity = report.identity;
        let Some((_, (host, _))) = self.far_end(id) else { return };
        let of_host = self.links.remotes.note_host(host, identity);
        let of_flow = self.flows[id].remote;
        if let Some(newcomers) = of_flow.filter(|remote| self.links.remotes.is_unnamed(*remote))
            && self.find_remote(identity).is_none()
        {
            // It is the first of them to be known. What has shown of the link was mostly its.
            self.links.remotes.name(newcomers, self.known_as(identity));
        }
        let known_there = of_host.and_then(|identity| self.find_remote(identity));
        let guessed = of_flow.filter(|_| known_there == of_flow);
        self.rename_unreported(guessed, self.known_as(identity));
        let Some(remote) = self.remote(identity) else { return };
        self.links.remotes.note_reported(remote);
        let of_host = of_host.and_then(|identity| self.find_remote(identity));
        if of_flow != Some(remote) {
            self.change_remote(id, Some(remote));
        }
        self.links.remotes.link_mut(remote).on_peer_report(now, report);
        self.follow_links(id);
        // Another identity has taken its place.
        for former in [of_host, of_flow].into_iter().flatten() {
            self.links.remotes.remove_if_over(former, remote);
        }
    }

    /// The remote of this identity, where remotes have links of their own.
    fn remote(&mut self, identity: Identity) -> Option<RemoteId> {
        let leg = self.described(Side::Satellite);
        if !leg.finds_together() {
            return None;
        }
        if let Some(known) = self.find_remote(identity) {
            return Some(known);
        }
        self.make_room_for_remote();
        Some(self.links.remotes.insert(self.known_as(identity), &leg))
    }

    fn make_room_for_remote(&mut self) {
        if let Some(oldest) = self.links.remotes.surplus() {
            self.dissolve(oldest);
        }
    }

    fn find_remote(&self, identity: Identity) -> Option<RemoteId> {
        self.links.remotes.find(self.known_as(identity))
    }

    /// Behind one carrier all remotes count as one.
    fn known_as(&self, identity: Identity) -> Identity {
        match self.config.satellite.found_by {
            FoundBy::AllRemotes => Identity::OF_CARRIER,
            FoundBy::EachFlow | FoundBy::AllFlows => identity,
        }
    }

    /// Forgets a remote. Its flows share the side's link, each with a window of its own.
    fn dissolve(&mut self, remote: RemoteId) {
        let flows: Vec<usize> = self.links.remotes.flows(remote).collect();
        for id in flows {
            self.change_remote(id, None);
        }
        self.links.remotes.remove(remote);
    }

    /// Forgets all remotes, and what was remembered of them.
    pub(super) fn dissolve_remotes(&mut self) {
        self.links.remotes.memories.clear();
        for remote in self.links.remotes.ids() {
            self.dissolve(remote);
        }
    }

    fn change_remote(&mut self, id: usize, to: Option<RemoteId>) {
        let flow = &mut self.flows[id];
        self.links.change_remote(id, &mut flow.turns[Side::Satellite], &mut flow.remote, to);
        self.follow_links(id);
        // What has held it back may be no more.
        self.queue(id);
    }

    /// How many flows lead to each remote that is known, by identity.
    #[cfg(test)]
    pub(crate) fn remotes(&self) -> Vec<(Identity, usize)> {
        let remotes = &self.links.remotes;
        remotes.named().map(|(identity, id)| (identity, remotes.flows(id).count())).collect()
    }

    /// The leg of flow `id` that leads to the satellite, and its host.
    fn far_end(&self, id: usize) -> Option<(Leg, Endpoint)> {
        let flow = self.flows.get(id)?;
        let leg = Leg::BOTH.into_iter().find(|leg| flow.sides()[*leg] == Side::Satellite)?;
        Some((leg, flow.ends()[leg]))
    }
}
