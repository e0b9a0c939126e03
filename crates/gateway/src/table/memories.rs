//! Links that an earlier run had found, until flows lead to them again.
//!
//! They are known by the identity that their gateway had then. It may have another one by now: then
//! what is remembered for it becomes that of the first one to report in its place.

use super::Gateway;
use super::remotes::RemoteId;
use super::scheduler::{LinkScheduler, Memory};
use crate::Side;
use crate::announce::Identity;
use crate::config::LegConfig;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Rate;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What was found so long ago is not remembered.
const MAX_AGE: Duration = Duration::from_secs(24 * 3_600);

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
    /// The link behind a leg, begun with what is remembered.
    pub(super) fn link(&self, leg: &LegConfig) -> LinkScheduler {
        LinkScheduler::remembering(leg, self.memory, self.arriving)
    }
}

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Memories(BTreeMap<Identity, Remembered>);

impl Memories {
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

impl<B: Buffer> Gateway<B> {
    /// Begins with the links that an earlier run has found.
    ///
    /// Those that are older than a day are left out, and all where links are not found together. It
    /// is called before there are flows.
    pub fn remember_links(&mut self, now: Instant, links: &[RememberedLink]) {
        if !self.described(Side::Satellite).finds_together() {
            return;
        }
        for link in links.iter().filter(|link| link.age <= MAX_AGE) {
            let Some(identity) = Identity::new(link.identity) else { continue };
            let memory = Memory::found(now, link.rate, link.round_trip, link.age);
            let arriving = link.arriving.bits_per_sec() as f64 / 8.0;
            self.links.remotes.memories.0.insert(identity, Remembered { memory, arriving });
            for host in &link.hosts {
                self.links.remotes.note_host(*host, identity);
            }
        }
    }

    /// The links to remote gateways that are to be remembered.
    pub fn links_to_remember(&self, now: Instant) -> Vec<RememberedLink> {
        let remotes = &self.links.remotes;
        let found = remotes.named().filter_map(|(identity, id)| {
            let link = remotes.link(id);
            Some((identity, link.to_remember(now)?, link.arrived.rate()))
        });
        let unused = remotes.memories.0.iter();
        let unused = unused
            .filter_map(|(identity, it)| Some((*identity, it.memory.parts(now)?, it.arriving)));
        let mut hosts: BTreeMap<Identity, Vec<IpAddr>> = BTreeMap::new();
        for (host, identity) in remotes.identified_hosts() {
            hosts.entry(identity).or_default().push(host);
        }
        let links = found.chain(unused).map(|(identity, (rate, round_trip, age), arriving)| {
            RememberedLink {
                identity: identity.bits(),
                hosts: hosts.remove(&identity).unwrap_or_default(),
                rate,
                round_trip,
                arriving: Rate::from_bits_per_sec((arriving * 8.0) as u64),
                age,
            }
        });
        links.filter(|link| link.age <= MAX_AGE).collect()
    }

    /// A remote to which flows were held to lead reports another identity.
    ///
    /// Its gateway was started again, and it keeps its link.
    pub(super) fn rename_unreported(&mut self, of_flow: Option<RemoteId>, identity: Identity) {
        if let Some(guessed) = of_flow
            && !self.links.remotes.is_reported(guessed)
            && self.links.remotes.find(identity).is_none()
        {
            self.links.remotes.name(guessed, identity);
        }
    }
}
