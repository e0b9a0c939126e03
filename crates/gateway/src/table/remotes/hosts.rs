//! Far hosts, each with the identity that was last reported in its flows. A peer gateway may also
//! report none.

use crate::announce::Identity;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Hosts that are known at once.
pub(super) const MAX_HOSTS: usize = 4_096;

/// The hosts that were last noted or looked up.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    /// With when they were, in such events.
    identities: BTreeMap<IpAddr, (Option<Identity>, u64)>,
    by_use: BTreeMap<u64, IpAddr>,
    uses: u64,
}

impl Hosts {
    /// The identity behind which a host is, or none, if it is known which.
    pub(super) fn find(&mut self, host: IpAddr) -> Option<Option<Identity>> {
        let (identity, used) = self.identities.get_mut(&host)?;
        self.uses += 1;
        self.by_use.remove(&std::mem::replace(used, self.uses));
        self.by_use.insert(self.uses, host);
        Some(*identity)
    }

    /// The same, which is no use of it.
    pub(super) fn peek(&self, host: IpAddr) -> Option<Option<Identity>> {
        self.identities.get(&host).map(|(identity, _)| *identity)
    }

    /// The hosts that are behind an identity.
    pub(super) fn identified(&self) -> impl Iterator<Item = (IpAddr, Identity)> {
        let hosts = self.identities.iter();
        hosts.filter_map(|(host, (identity, _))| Some((*host, (*identity)?)))
    }

    /// Notes that a host is behind this identity, or none; behind which it was before.
    pub(super) fn insert(&mut self, host: IpAddr, identity: Option<Identity>) -> Option<Identity> {
        self.uses += 1;
        let former = self.identities.insert(host, (identity, self.uses));
        if let Some((_, used)) = former {
            self.by_use.remove(&used);
        }
        self.by_use.insert(self.uses, host);
        if self.identities.len() > MAX_HOSTS
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.identities.remove(&oldest);
        }
        former.and_then(|(identity, _)| identity)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.identities.len(), self.by_use.len());
        self.identities.len()
    }
}
