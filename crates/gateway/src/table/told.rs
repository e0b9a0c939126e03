//! What peer gateways tell of the link, and what becomes of it.
//!
//! It is a hint for what the operator of this end has not said: sizes follow from it, and the rate
//! with which the link is used begins there, is lowered where less is delivered, and raised where
//! the link carries more (`scheduler::rate_control`). Where both ends' operators have said
//! something and it differs, each keeps to his own, and is told.
//!
//! Anybody can send SYNs, so what is told in one counts when its connection is open; a SYN-ACK has
//! answered a SYN of ours. Behind a hub there may be several links: where peers contradict each
//! other, none of them is believed.

use super::Gateway;
use super::scheduler::LinkScheduler;
use crate::Side;
use crate::announce::{Announcement, ToldLink};
use crate::config::LegConfig;
use crate::key::FlowKey;
use crate::observe::Event;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::wire::TcpHeader;
use std::collections::VecDeque;

/// Of so many connections that are being opened it is kept what their SYNs tell: it is told by each
/// one.
const OPENING: usize = 8;

/// What has been told.
#[derive(Debug, Default)]
pub(super) struct ToldLinks {
    /// In SYNs of connections that are not open yet, the oldest first.
    opening: VecDeque<(FlowKey, ToldLink)>,
    /// What is believed, as seen from here, and what was before.
    believed: Option<ToldLink>,
    before: Option<ToldLink>,
    /// What was told has changed, and changed back.
    differs: bool,
    /// What is told and is not what our operator has said.
    contradicts: Option<ToldLink>,
}

impl ToldLinks {
    /// The SYN of a connection tells `link`.
    pub(super) fn note(&mut self, key: FlowKey, link: ToldLink) {
        if link.is_empty() || self.is_known(&link.mirrored()) {
            return;
        }
        self.opening.retain(|(known, _)| *known != key);
        if self.opening.len() == OPENING {
            self.opening.pop_front();
        }
        self.opening.push_back((key, link));
    }

    /// The satellite leg of a connection that is being opened, where its SYN has told something.
    /// That it is no forgery is not known: a promise costs nothing before it is answered.
    pub(super) fn leg_for(&self, key: &FlowKey, leg: &LegConfig) -> LegConfig {
        let told = self.opening.iter().find(|(known, _)| known == key);
        told.map_or(*leg, |(_, link)| leg.with_told(link.mirrored()))
    }

    /// What the SYN of a connection has told, which is open.
    fn take(&mut self, key: &FlowKey) -> Option<ToldLink> {
        let at = self.opening.iter().position(|(known, _)| known == key)?;
        self.opening.remove(at).map(|(_, link)| link)
    }

    /// What is gone by.
    pub(super) fn believed(&self) -> ToldLink {
        self.believed.filter(|_| !self.differs).unwrap_or_default()
    }

    /// What is told and is not what our operator has said, as seen from here.
    pub(super) fn contradiction(&self) -> Option<ToldLink> {
        self.contradicts
    }

    /// The operator has said something else: it is `ours`.
    pub(super) fn reconsider(&mut self, ours: &ToldLink) {
        self.contradicts = self.contradicts.filter(|theirs| !theirs.agrees(ours));
    }

    fn is_known(&self, link: &ToldLink) -> bool {
        self.differs || self.believed.as_ref() == Some(link)
    }

    /// What is to be gone by, if `link` is told. None if that is nothing new.
    fn believe(&mut self, link: ToldLink) -> Option<ToldLink> {
        if self.is_known(&link) {
            return None;
        }
        self.differs = self.before.is_some_and(|before| before.agrees(&link))
            && self.believed.is_some_and(|believed| !believed.agrees(&link));
        self.before = self.believed.replace(link);
        Some(self.believed())
    }
}

impl<B: Buffer> Gateway<B> {
    /// The link by a SYN or SYN-ACK from the satellite. A gateway without our key tells nothing.
    pub(super) fn told_in(&mut self, tcp: &TcpHeader) -> ToldLink {
        let seal = self.config.seal(tcp);
        if Announcement::is_foreign(&tcp.options, seal) {
            self.summary.foreign_announcements += 1;
            if self.summary.foreign_announcements == 1 {
                self.events.push(Event::ForeignAnnouncement);
            }
        }
        Announcement::told_link(&tcp.options, seal)
    }

    /// The connection of this name is open.
    pub(super) fn learn_from_open(&mut self, key: impl FnOnce() -> FlowKey) {
        if !self.told.opening.is_empty()
            && let Some(link) = self.told.take(&key())
        {
            self.learn(link);
        }
    }

    /// A peer gateway has told what it knows of the link.
    pub(super) fn learn(&mut self, link: ToldLink) {
        let link = link.mirrored();
        if link.is_empty() {
            return;
        }
        let ours = self.configured.satellite.told_link();
        let contradicts = Some(link).filter(|link| !link.agrees(&ours));
        if contradicts.is_some() && contradicts != self.told.contradicts {
            self.events.push(Event::LinkContradicted { ours, theirs: link });
        }
        self.told.contradicts = contradicts;
        let old = self.described(Side::Satellite);
        if let Some(link) = self.told.believe(link) {
            self.put_in_force();
            if LinkScheduler::is_another(&old, &self.described(Side::Satellite)) {
                self.change_link(Side::Satellite);
            }
            self.events.push(Event::LinkTold(link));
        }
    }
}
