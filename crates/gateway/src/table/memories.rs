//! Links that an earlier run had found, until flows lead to them again.
//!
//! They are known by the identity that their gateway had then. It may have another one by now: then
//! what is remembered for it becomes that of the first one to report in its place.

use super::scheduler::{LinkScheduler, Memory};
use crate::announce::Identity;
use crate::config::LegConfig;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Rate;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The link to a remote gateway, as an earlier run has found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedLink {
    /// That gateway's name, and the hosts behind it.
    pub identity: u32,
    /// The hosts that are known to be behind it.
    pub hosts: Vec<IpAddr>,
    /// The rate that it carried from here, on the wire.
    pub rate: Rate,
    /// A round trip without a queue.
    pub round_trip: Duration,
    /// The rate that it brought; zero, if that has not shown.
    pub arriving: Rate,
    /// The rate that the operator held it for then (`follow`).
    pub guess: Option<Rate>,
    /// The time since then.
    pub age: Duration,
}

/// A link that is remembered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remembered {
    memory: Memory,
    /// Bytes of payload a second.
    arriving: f64,
}

impl Remembered {
    /// A link as it was written down.
    pub(super) fn of(now: Instant, link: &RememberedLink) -> Remembered {
        let memory = Memory::found(now, link.rate, link.round_trip, link.age);
        Remembered { memory, arriving: link.arriving.bits_per_sec() as f64 / 8.0 }
    }

    /// Its rate, round trip and age now, and the bytes of payload a second that came.
    pub(super) fn parts(&self, now: Instant) -> Option<((Rate, Duration, Duration), f64)> {
        Some((self.memory.parts(now)?, self.arriving))
    }

    /// The link behind a leg, begun with what is remembered.
    pub(super) fn link(&self, leg: &LegConfig) -> LinkScheduler {
        LinkScheduler::remembering(leg, self.memory, self.arriving)
    }
}

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Memories(BTreeMap<Identity, Remembered>);

impl Memories {
    /// This is remembered of a remote.
    pub(super) fn insert(&mut self, identity: Identity, link: Remembered) {
        self.0.insert(identity, link);
    }

    /// All that is remembered.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Identity, &Remembered)> {
        self.0.iter().map(|(identity, link)| (*identity, link))
    }

    /// What is remembered of this remote, which is looked up once.
    pub(super) fn take(&mut self, identity: Identity) -> Option<Remembered> {
        self.0.remove(&identity)
    }

    /// What is remembered, if it is of one remote.
    pub(super) fn take_only(&mut self) -> Option<Remembered> {
        let is_only = self.0.len() == 1;
        is_only.then(|| self.0.pop_first()).flatten().map(|(_, it)| it)
    }

    /// Nothing is remembered any more.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
