//! Half-open connections: SYNs that were sent on and have no SYN-ACK yet.
//!
//! They have a table of their own, with a limit of its own, so that a flood of SYNs (RFC 4987)
//! costs little and takes no flow's place. Beyond the limit SYNs are forwarded, and their
//! connections with them: that serves everybody, if not all of them faster. To drop the oldest
//! entry instead would be to drop, in a flood, those of honest clients before their SYN-ACK can
//! have come back over the satellite; and what we have added to their SYN would stay with the
//! hosts.
//!
//! An entry has no timer: as all wait equally long, the table is looked through when the first is
//! due, at most once a [`SWEEP`].

use super::clients::Clients;
use crate::config::Config;
use crate::flow::Syn;
use crate::key::FlowKey;
use bentpipe_core::time::{Duration, Instant};
use std::collections::BTreeMap;

/// By how much an entry may outlive its deadline.
const SWEEP: Duration = Duration::from_secs(1);

/// The table.
#[derive(Debug, Default)]
pub(super) struct HalfOpen {
    syns: BTreeMap<FlowKey, Syn>,
    /// When the table is looked through; not before the first deadline.
    sweep_at: Instant,
}

impl HalfOpen {
    pub(super) fn len(&self) -> usize {
        self.syns.len()
    }

    pub(super) fn get_mut(&mut self, key: &FlowKey) -> Option<&mut Syn> {
        self.syns.get_mut(key)
    }

    pub(super) fn insert(&mut self, config: &Config, key: FlowKey, syn: Syn) {
        if self.syns.is_empty() {
            self.sweep_at = syn.deadline(config);
        }
        self.syns.insert(key, syn);
    }

    /// Takes an entry out, for what it was.
    pub(super) fn remove(&mut self, key: &FlowKey) -> Option<Syn> {
        self.syns.remove(key)
    }

    /// When [`HalfOpen::expire`] has something to do, if ever.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        (!self.syns.is_empty()).then_some(self.sweep_at)
    }

    /// Forgets what has waited long enough.
    pub(super) fn expire(&mut self, now: Instant, config: &Config, clients: &mut Clients) {
        if self.poll_timeout().is_none_or(|at| at > now) {
            return;
        }
        let mut next = Instant::FAR_FUTURE;
        self.syns.retain(|key, syn| {
            let deadline = syn.deadline(config);
            let waits = deadline > now;
            if waits {
                next = next.min(deadline);
            } else {
                clients.remove(syn.client(key).0);
            }
            waits
        });
        self.sweep_at = next.max(now + SWEEP);
    }
}
