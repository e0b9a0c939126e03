//! The remote to which a flow leads.
//!
//! It is guessed when the flow begins: the remote of the latest report from the same host, or the
//! only one. The flow's first report tells, and a later one with another identity moves the flow.

use super::Gateway;
use super::remotes::{RemoteId, Remotes};
use crate::Side;
use crate::announce::{Identity, Report};
use crate::config::FoundBy;
use crate::key::Endpoint;
use crate::leg::Leg;
use bentpipe_core::tcp::buffer::Buffer;

impl<B: Buffer> Gateway<B> {
    /// Tells peer gateways this identity, which is to be random for each boot. Without it, or if it
    /// is 0, they do not tell this gateway from others.
    pub fn identify_as(&mut self, identity: u32) {
        self.identity = Identity::new(identity);
    }

    /// What is reported to peers.
    pub(super) fn report(&self) -> Option<Report> {
        let together = self.config.satellite.found_by.is_together();
        self.identity
            .filter(|_| self.config.announce && together)
            .map(|identity| Report { identity })
    }

    /// Flow `id` begins: if there is a peer gateway at its other end, it is held to lead to the
    /// remote of its host, or to the only one.
    pub(super) fn guess_remote(&mut self, id: usize) {
        let Some((leg, (host, _))) = self.far_end(id) else { return };
        let spliced = self.flows[id].spliced();
        if spliced.is_none_or(|spliced| !spliced.splice().leg(leg).peer) {
            return;
        }
        let known = self.links.remotes.identity_of(host);
        let remote = match known.and_then(|identity| self.remote(identity)) {
            None => self.links.remotes.only(),
            remote => remote,
        };
        if remote.is_some() {
            self.change_remote(id, remote);
        }
    }

    /// Something has happened to flow `id`, whose remote is not known yet. If its host's is, that
    /// is it: also where the connection's SYN has lost the announcement, as its link is the same.
    /// So is the only one, if there is a peer gateway.
    pub(super) fn guess_late(&mut self, id: usize) {
        let unknown = self.flows.get(id).is_some_and(|flow| flow.remote.is_none());
        if !unknown || self.links.remotes.is_empty() {
            return;
        }
        let Some((leg, (host, _))) = self.far_end(id) else { return };
        let Some(spliced) = self.flows[id].spliced() else { return };
        let peer = spliced.splice().leg(leg).peer;
        let known = self.links.remotes.identity_of(host);
        let of_host = known.and_then(|identity| self.find_remote(identity));
        let remote = of_host.or_else(|| self.links.remotes.only().filter(|_| peer));
        if remote.is_some() {
            self.change_remote(id, remote);
        }
    }

    /// A peer gateway has reported its identity in an acceptable segment of flow `id`.
    pub(super) fn on_report(&mut self, id: usize, Report { identity }: Report) {
        let Some((_, (host, _))) = self.far_end(id) else { return };
        let of_host = self.links.remotes.note_host(host, identity);
        let Some(remote) = self.remote(identity) else { return };
        let of_flow = self.flows[id].remote;
        let of_host = of_host.and_then(|identity| self.find_remote(identity));
        if of_flow != Some(remote) {
            self.change_remote(id, Some(remote));
        }
        // Another identity has taken its place.
        for former in [of_host, of_flow].into_iter().flatten() {
            self.links.remotes.remove_if_over(former, remote);
        }
    }

    /// The remote of this identity, where remotes have links of their own.
    fn remote(&mut self, identity: Identity) -> Option<RemoteId> {
        let leg = self.described(Side::Satellite);
        if !Remotes::are_apart(&leg) {
            return None;
        }
        if let Some(known) = self.find_remote(identity) {
            return Some(known);
        }
        if let Some(oldest) = self.links.remotes.surplus() {
            self.dissolve(oldest);
        }
        Some(self.links.remotes.insert(self.known_as(identity), &leg))
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

    /// Forgets all remotes.
    pub(super) fn dissolve_remotes(&mut self) {
        for remote in self.links.remotes.ids() {
            self.dissolve(remote);
        }
    }

    fn change_remote(&mut self, id: usize, to: Option<RemoteId>) {
        let flow = &mut self.flows[id];
        self.links.change_remote(id, &mut flow.turns[Side::Satellite], &mut flow.remote, to);
        self.follow_links(id);
    }

    /// How many flows lead to each remote that is known, by identity.
    #[cfg(test)]
    pub(crate) fn remotes(&self) -> Vec<(Identity, usize)> {
        let remotes = &self.links.remotes;
        remotes.identified().map(|(identity, id)| (identity, remotes.flows(id).count())).collect()
    }

    /// The leg of flow `id` that leads to the satellite, and its host.
    fn far_end(&self, id: usize) -> Option<(Leg, Endpoint)> {
        let flow = self.flows.get(id)?;
        let leg = Leg::BOTH.into_iter().find(|leg| flow.sides()[*leg] == Side::Satellite)?;
        Some((leg, flow.ends()[leg]))
    }
}
