//! The schedulers of all links: one for each side, and one for each remote.
//!
//! The flows of a side share its link. Where the satellite link's rate is to be found, those that
//! lead to a known remote share that one's link instead.

use super::remotes::{RemoteId, Remotes};
use super::scheduler::{DrrEntry, LinkScheduler};
use crate::config::Config;
use crate::{PerSide, Side};
use bentpipe_core::time::{Instant, earliest};
use std::ops::{Index, IndexMut};

/// See the module's head. A side is an index of the link that its flows without a remote share.
#[derive(Debug)]
pub(super) struct Links {
    sides: PerSide<LinkScheduler>,
    pub(super) remotes: Remotes,
}

impl Links {
    /// Of a gateway without flows.
    pub(super) fn new(config: &Config) -> Links {
        let sides = PerSide::of(|side| LinkScheduler::new(&config.leg(side).followed()));
        Links { sides, remotes: Remotes::default() }
    }

    /// The link towards `side` of a flow that leads to this remote.
    pub(super) fn of(&self, side: Side, remote: Option<RemoteId>) -> &LinkScheduler {
        match remote.filter(|_| side == Side::Satellite) {
            Some(id) => self.remotes.link(id),
            None => &self.sides[side],
        }
    }

    /// The same, to be used.
    pub(super) fn of_mut(&mut self, side: Side, remote: Option<RemoteId>) -> &mut LinkScheduler {
        match remote.filter(|_| side == Side::Satellite) {
            Some(id) => self.remotes.link_mut(id),
            None => &mut self.sides[side],
        }
    }

    /// Moves flow `flow` from its remote's link to that of another one.
    pub(super) fn change_remote(
        &mut self,
        flow: usize,
        turn: &mut DrrEntry,
        remote: &mut Option<RemoteId>,
        to: Option<RemoteId>,
    ) {
        let before = self.of_mut(Side::Satellite, *remote).give_up(turn);
        self.of_mut(Side::Satellite, to).take_over(flow, turn, &before);
        if let Some(id) = *remote {
            self.remotes.leave(id, flow);
        }
        if let Some(id) = to {
            self.remotes.join(id, flow);
        }
        *remote = to;
    }

    /// Flow `flow` is gone.
    pub(super) fn remove(
        &mut self,
        flow: usize,
        turns: &mut PerSide<DrrEntry>,
        remote: &mut Option<RemoteId>,
    ) {
        for side in Side::BOTH {
            self.of_mut(side, *remote).give_up(&mut turns[side]);
        }
        if let Some(id) = remote.take() {
            self.remotes.leave(id, flow);
        }
    }

    /// The flow whose turn it may be now, and the side to whose link it leads. It does not wait any
    /// more.
    pub(super) fn next(&mut self, now: Instant) -> Option<(usize, Side)> {
        let of_side = |side: Side, links: &mut Links| Some((links.sides[side].next(now)?, side));
        let own = Side::BOTH.into_iter().find_map(|side| of_side(side, self));
        own.or_else(|| Some((self.remotes.next(now)?, Side::Satellite)))
    }

    /// When the next turn is, if any flow waits for one.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let sides = self.sides.iter().filter_map(LinkScheduler::poll_timeout).min();
        earliest(sides, self.remotes.poll_timeout())
    }
}

impl Index<Side> for Links {
    type Output = LinkScheduler;

    fn index(&self, side: Side) -> &LinkScheduler {
        &self.sides[side]
    }
}

impl IndexMut<Side> for Links {
    fn index_mut(&mut self, side: Side) -> &mut LinkScheduler {
        &mut self.sides[side]
    }
}
