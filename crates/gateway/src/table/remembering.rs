//! Links that are handed from one run of a gateway to the next.

use super::Gateway;
use super::memories::{Remembered, RememberedLink};
use super::remotes::RemoteId;
use crate::Side;
use crate::announce::Identity;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Rate;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What was found so long ago is not remembered.
const MAX_AGE: Duration = Duration::from_secs(24 * 3_600);

impl<B: Buffer> Gateway<B> {
    /// Begins with the links that an earlier run has found.
    ///
    /// Those that are older than a day are left out, and those of which the operator said something
    /// else then. So are all where links are not found together. It is called before there are
    /// flows.
    pub fn remember_links(&mut self, now: Instant, links: &[RememberedLink]) {
        if !self.described(Side::Satellite).finds_together() {
            return;
        }
        let guess = self.operators_guess();
        for link in links.iter().filter(|link| link.age <= MAX_AGE && link.guess == guess) {
            let Some(identity) = Identity::new(link.identity) else { continue };
            self.links.remotes.memories.insert(identity, Remembered::of(now, link));
            for host in &link.hosts {
                self.links.remotes.note_host(*host, identity);
            }
        }
    }

    /// The links to remote gateways that are to be remembered.
    pub fn links_to_remember(&self, now: Instant) -> Vec<RememberedLink> {
        let remotes = &self.links.remotes;
        let guess = self.operators_guess();
        let found = remotes.named().filter_map(|(identity, id)| {
            let link = remotes.link(id);
            Some((identity, (link.to_remember(now)?, link.arrived.rate())))
        });
        let unused = remotes.memories.iter();
        let unused = unused.filter_map(|(identity, it)| Some((identity, it.parts(now)?)));
        let mut hosts: BTreeMap<Identity, Vec<IpAddr>> = BTreeMap::new();
        for (host, identity) in remotes.identified_hosts() {
            hosts.entry(identity).or_default().push(host);
        }
        let links = found.chain(unused).map(|(identity, ((rate, round_trip, age), arriving))| {
            RememberedLink {
                identity: identity.bits(),
                hosts: hosts.remove(&identity).unwrap_or_default(),
                rate,
                round_trip,
                arriving: Rate::from_bits_per_sec((arriving * 8.0) as u64),
                guess,
                age,
            }
        });
        let mut links: Vec<RememberedLink> = links.filter(|link| link.age <= MAX_AGE).collect();
        if let [link] = &mut links[..] {
            // It is found without them, and whom hosts have talked to is nobody's business.
            link.hosts.clear();
        }
        links
    }

    /// The rate with which links are begun by the file, whatever a peer gateway has told since.
    fn operators_guess(&self) -> Option<Rate> {
        self.configured.leg(Side::Satellite).followed().guess
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
