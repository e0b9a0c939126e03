//! Remotes: the gateways behind the satellite link.
//!
//! Each has a link of its own, on which its flows take turns.
//!
//! A remote is known by the identity that its gateway reports. It is made where one is reported in
//! an acceptable segment of an open flow: that flow's handshake has shown that its sender hears us.
//! A gateway has one identity at a time. So a remote is over when it has no flows, and a flow or a
//! host of it comes with another identity.
//!
//! There are at most [`MAX_REMOTES`], of which the least recently used one goes first. Remotes that
//! do nothing cost nothing: turns are sought among those that have flows waiting, by the moments at
//! which their turns are due. So each is served in its time, and none that is full or slow keeps
//! another one waiting.

mod hosts;

use super::memories::Memories;
use super::remote_view::{RemoteName, RemoteView};
use super::scheduler::LinkScheduler;
use crate::announce::Identity;
use crate::config::LegConfig;
use bentpipe_core::time::{Duration, Instant, earliest};
use hosts::Hosts;
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::num::NonZeroU16;

/// Remotes that are known at once.
const MAX_REMOTES: usize = 1_024;

/// A remote's place in the table, while it is known. With none it takes two bytes: there are many
/// flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RemoteId(NonZeroU16);

impl RemoteId {
    fn of(slot: usize) -> RemoteId {
        let place = u16::try_from(slot + 1).ok().and_then(NonZeroU16::new);
        RemoteId(place.expect("there are at most 1,024"))
    }

    /// A number below 16 that another one hardly has.
    pub(super) fn low_bits(self) -> u8 {
        (self.0.get() % 16) as u8
    }

    fn slot(self) -> usize {
        usize::from(self.0.get()) - 1
    }
}

/// A gateway behind the satellite link.
#[derive(Debug)]
struct Remote {
    /// None of the newcomers.
    identity: Option<Identity>,
    /// That was reported, since the remote is known.
    is_reported: bool,
    link: LinkScheduler,
    /// The flows that lead to it.
    flows: BTreeSet<usize>,
    /// When something was last done with its link, in such events.
    used: u64,
    /// It is among those whose next turn is to be looked up.
    is_touched: bool,
    /// When its next turn is, as far as that was looked up.
    due: Option<Instant>,
}

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Remotes {
    remotes: Slab<Remote>,
    by_identity: BTreeMap<Identity, RemoteId>,
    /// The flows whose remote has not reported yet have a link for themselves.
    newcomers: Option<RemoteId>,
    hosts: Hosts,
    /// What earlier runs had found of remotes that are not known yet.
    pub(super) memories: Memories,
    uses: u64,
    /// Remotes whose next turns may be other ones than were looked up.
    touched: Vec<usize>,
    /// The next turns of those that have flows waiting.
    due: BTreeSet<(Instant, usize)>,
}

impl Remotes {
    /// The remote of this identity, if it is known.
    pub(super) fn find(&self, identity: Identity) -> Option<RemoteId> {
        self.by_identity.get(&identity).copied()
    }

    /// Adds a remote, whose link is behind `leg`. There must be [room](Remotes::surplus).
    pub(super) fn insert(&mut self, identity: Identity, leg: &LegConfig) -> RemoteId {
        let remembered = self.memories.take(identity).map(|it| it.link(leg));
        let id = self.insert_unnamed(remembered.unwrap_or_else(|| LinkScheduler::of_remote(leg)));
        self.name(id, identity);
        id
    }

    /// Flows whose remote is not known, and may report soon: they share a link behind `leg`. There
    /// must be room for it.
    pub(super) fn newcomers(&mut self, leg: &LegConfig) -> RemoteId {
        if let Some(id) = self.newcomers {
            return id;
        }
        let is_first = self.by_identity.is_empty();
        let remembered = is_first.then(|| self.memories.take_only()).flatten();
        let link = remembered.map_or_else(|| LinkScheduler::of_remote(leg), |it| it.link(leg));
        let id = self.insert_unnamed(link);
        *self.newcomers.insert(id)
    }

    /// Whether a remote's identity was reported since it is known, and not guessed.
    pub(super) fn is_reported(&self, id: RemoteId) -> bool {
        self.remotes[id.slot()].is_reported
    }

    /// The identity of a remote was reported.
    pub(super) fn note_reported(&mut self, id: RemoteId) {
        self.remotes[id.slot()].is_reported = true;
    }

    /// Whether this stands for the flows whose remote is not known.
    pub(super) fn is_unnamed(&self, id: RemoteId) -> bool {
        self.newcomers == Some(id)
    }

    /// A remote has this identity, and no other one.
    pub(super) fn name(&mut self, id: RemoteId, identity: Identity) {
        if let Some(before) = self.remotes[id.slot()].identity.replace(identity) {
            self.by_identity.remove(&before);
        }
        // It is known from now on: what was remembered of it is not to outlive that.
        let _ = self.memories.take(identity);
        self.by_identity.insert(identity, id);
        self.newcomers = self.newcomers.filter(|newcomers| *newcomers != id);
    }

    fn insert_unnamed(&mut self, link: LinkScheduler) -> RemoteId {
        self.uses += 1;
        RemoteId::of(self.remotes.insert(Remote {
            identity: None,
            is_reported: false,
            link,
            flows: BTreeSet::new(),
            used: self.uses,
            is_touched: false,
            due: None,
        }))
    }

    /// The remote that has to go before another one comes, if any.
    pub(super) fn surplus(&self) -> Option<RemoteId> {
        let is_full = self.remotes.len() >= MAX_REMOTES;
        let named = || self.remotes.iter().filter(|(_, remote)| remote.identity.is_some());
        let oldest = || named().min_by_key(|(_, remote)| remote.used);
        is_full.then(oldest).flatten().map(|(slot, _)| RemoteId::of(slot))
    }

    /// Forgets a remote, which has no flows any more.
    pub(super) fn remove(&mut self, id: RemoteId) {
        let remote = self.remotes.remove(id.slot());
        debug_assert!(remote.flows.is_empty());
        match remote.identity {
            Some(identity) => drop(self.by_identity.remove(&identity)),
            None => self.newcomers = None,
        }
        self.touched.retain(|slot| *slot != id.slot());
        if let Some(due) = remote.due {
            self.due.remove(&(due, id.slot()));
        }
    }

    /// Forgets a remote whose place another one has taken, if it has no flows any more.
    pub(super) fn remove_if_over(&mut self, id: RemoteId, successor: RemoteId) {
        if id != successor && self.remotes.get(id.slot()).is_some_and(|it| it.flows.is_empty()) {
            self.remove(id);
        }
    }

    /// All of them, newcomers included.
    pub(super) fn ids(&self) -> Vec<RemoteId> {
        self.remotes.iter().map(|(slot, _)| RemoteId::of(slot)).collect()
    }

    /// The identity of a remote, if one is known.
    pub(super) fn identity_bits(&self, id: RemoteId) -> Option<u32> {
        self.remotes[id.slot()].identity.map(Identity::bits)
    }

    /// The name of a remote.
    pub(super) fn name_of(&self, id: RemoteId) -> RemoteName {
        RemoteName::of(self.remotes[id.slot()].identity)
    }

    /// All of them, newcomers included, as an operator sees them.
    pub(super) fn views(&self) -> impl Iterator<Item = RemoteView> {
        self.remotes.iter().map(|(_, remote)| RemoteView {
            name: RemoteName::of(remote.identity),
            flows: remote.flows.len() as u64,
            used_at: remote.link.rate(),
            window: remote.link.found_window(),
        })
    }

    /// All of them but newcomers, with their identities.
    pub(super) fn named(&self) -> impl Iterator<Item = (Identity, RemoteId)> {
        self.by_identity.iter().map(|(identity, id)| (*identity, *id))
    }

    /// The link of a remote.
    pub(super) fn link(&self, id: RemoteId) -> &LinkScheduler {
        &self.remotes[id.slot()].link
    }

    /// The link of a remote, to be used.
    pub(super) fn link_mut(&mut self, id: RemoteId) -> &mut LinkScheduler {
        let remote = &mut self.remotes[id.slot()];
        self.uses += 1;
        remote.used = self.uses;
        if !remote.is_touched {
            remote.is_touched = true;
            self.touched.push(id.slot());
        }
        &mut remote.link
    }

    /// Goes by a wall clock that was set: it said this at the moment zero.
    pub(super) fn set_wall_clock(&mut self, wall_clock: Duration) {
        for (_, remote) in &mut self.remotes {
            remote.link.set_wall_clock(wall_clock);
        }
    }

    /// The link of the only remote, if there is one.
    pub(super) fn only_link(&self) -> Option<&LinkScheduler> {
        self.only().map(|id| self.link(id))
    }

    /// Whether none is known.
    pub(super) fn is_empty(&self) -> bool {
        self.by_identity.is_empty()
    }

    /// The only remote, if there is one.
    pub(super) fn only(&self) -> Option<RemoteId> {
        self.by_identity.values().next().copied().filter(|_| self.by_identity.len() == 1)
    }

    /// The identity that was last reported in a flow of this host.
    pub(super) fn identity_of(&mut self, host: IpAddr) -> Option<Identity> {
        self.hosts.find(host).flatten()
    }

    /// Hosts, each with the identity that was last reported in its flows.
    pub(super) fn identified_hosts(&self) -> impl Iterator<Item = (IpAddr, Identity)> {
        self.hosts.identified()
    }

    /// Whether the peer gateway of this host has acknowledged, and has not reported with that.
    pub(super) fn is_silent(&self, host: IpAddr) -> bool {
        self.hosts.peek(host) == Some(None)
    }

    /// Whether an identity was reported in a flow of this host.
    pub(super) fn reports(&self, host: IpAddr) -> bool {
        self.hosts.peek(host).flatten().is_some()
    }

    /// Notes that this identity was reported in a flow of a host. The one that was before.
    pub(super) fn note_host(&mut self, host: IpAddr, identity: Identity) -> Option<Identity> {
        self.hosts.insert(host, Some(identity))
    }

    /// Notes that the peer gateway of a host does not report.
    pub(super) fn note_silent(&mut self, host: IpAddr) {
        self.hosts.insert(host, None);
    }

    /// The flows of a remote.
    pub(super) fn flows(&self, id: RemoteId) -> impl Iterator<Item = usize> {
        self.remotes[id.slot()].flows.iter().copied()
    }

    /// How many flows lead where one of them does; one, if it leads to no known remote.
    pub(super) fn count_flows(&self, id: Option<RemoteId>) -> u64 {
        id.map_or(1, |id| self.remotes[id.slot()].flows.len() as u64).max(1)
    }

    /// Flow `flow` leads to a remote from now on.
    pub(super) fn join(&mut self, id: RemoteId, flow: usize) {
        self.remotes[id.slot()].flows.insert(flow);
    }

    /// It does no more.
    pub(super) fn leave(&mut self, id: RemoteId, flow: usize) {
        self.remotes[id.slot()].flows.remove(&flow);
    }

    /// The flow whose turn it may be now on its remote's link, if any. It does not wait any more.
    pub(super) fn next(&mut self, now: Instant) -> Option<usize> {
        while let Some(slot) = self.touched.pop() {
            self.remotes[slot].is_touched = false;
            self.look_up(now, slot);
        }
        while let Some(&(at, slot)) = self.due.first()
            && at <= now
        {
            let next = self.remotes[slot].link.next(now);
            self.look_up(now, slot);
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// Looks up when the next turn on a remote's link is.
    fn look_up(&mut self, now: Instant, slot: usize) {
        let remote = &mut self.remotes[slot];
        let due = remote.link.prepare(now);
        if let Some(before) = std::mem::replace(&mut remote.due, due) {
            self.due.remove(&(before, slot));
        }
        self.due.extend(due.map(|due| (due, slot)));
    }

    /// When the next turn on a remote's link is, if any flow waits for one.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let touched =
            self.touched.iter().filter_map(|slot| self.remotes[*slot].link.poll_timeout());
        earliest(self.due.first().map(|(at, _)| *at), touched.min())
    }
}

#[cfg(test)]
mod tests;
