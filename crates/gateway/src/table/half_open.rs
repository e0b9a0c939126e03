//! Half-open connections: SYNs that were sent on and have no SYN-ACK yet.
//!
//! They have a table of their own, with a limit of its own, so that a flood of SYNs (RFC 4987)
//! costs little and takes no flow's place. In a full table the oldest give way, and their
//! connections are forwarded: that serves everybody, if not all of them faster. Two kinds of
//! entries do not:
//! - What is younger than [`PATIENCE`]. A flood that turns the table over within a satellite's
//!   round trip would push out honest clients before their SYN-ACK can have come back; then it is
//!   SYNs that are forwarded, and those that found room keep it for long enough.
//! - What we have added options to: they would stay with the hosts. So nothing is added while the
//!   table is half full, and half of it can always be had again.
//!
//! A repeated SYN makes an entry no younger, or a flood could hold the table by repeating itself.
//!
//! An entry has no timer: as all wait equally long, the table is looked through when the first is
//! due, at most once a [`SWEEP`].

use crate::config::Config;
use crate::handshake::Syn;
use crate::key::FlowKey;
use bentpipe_core::time::{Duration, Instant};
use std::collections::BTreeMap;

/// By how much an entry may outlive its deadline.
const SWEEP: Duration = Duration::from_secs(1);

/// How long an entry has its place for sure: a handshake over a geostationary satellite, and as
/// long as a client waits before it sends its SYN again (RFC 6298, 2.1).
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a full table is looked through for entries that may go.
const LOOK: Duration = Duration::from_millis(10);

/// The table.
#[derive(Debug, Default)]
pub(super) struct HalfOpen {
    syns: BTreeMap<FlowKey, Syn>,
    /// When the table is looked through; not before the first deadline.
    sweep_at: Instant,
    /// Before that there is no looking for entries that may go.
    look_at: Instant,
}

impl HalfOpen {
    pub(super) fn len(&self) -> usize {
        self.syns.len()
    }

    /// Whether there is an entry for this connection.
    pub(super) fn contains(&self, key: &FlowKey) -> bool {
        self.syns.contains_key(key)
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

    /// Whether options may be added to a SYN, whose entry then has to stay.
    pub(super) fn has_room_to_add(&self, config: &Config) -> bool {
        2 * self.syns.len() < config.max_half_open
    }

    /// Takes out the oldest quarter of those that may go: they give way to others.
    pub(super) fn make_room(&mut self, now: Instant) -> Vec<(FlowKey, Syn)> {
        if now < self.look_at {
            return Vec::new();
        }
        self.look_at = now + LOOK;
        let may_go = |syn: &Syn| may_go(syn, now);
        let mut ages: Vec<Instant> =
            self.syns.values().filter(|syn| may_go(syn)).map(Syn::came_at).collect();
        if ages.is_empty() {
            return Vec::new();
        }
        let last = ages.len() / 4;
        let last = *ages.select_nth_unstable(last).1;
        self.retain(|syn| !may_go(syn) || syn.came_at() > last)
    }

    /// Whether any of them may go.
    pub(super) fn may_make_room(&self, now: Instant) -> bool {
        self.syns.values().any(|syn| may_go(syn, now))
    }

    /// Takes out all that the hosts can do without us.
    pub(super) fn release(&mut self) -> Vec<(FlowKey, Syn)> {
        self.retain(|syn| !syn.is_as_it_came())
    }

    /// Takes out what does not stay.
    fn retain(&mut self, mut stays: impl FnMut(&Syn) -> bool) -> Vec<(FlowKey, Syn)> {
        let mut gone = Vec::new();
        self.syns.retain(|key, syn| {
            let stays = stays(syn);
            if !stays {
                gone.push((*key, *syn));
            }
            stays
        });
        gone
    }

    /// When [`HalfOpen::expire`] has something to do, if ever.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        (!self.syns.is_empty()).then_some(self.sweep_at)
    }

    /// Takes out what has waited long enough.
    pub(super) fn expire(&mut self, now: Instant, config: &Config) -> Vec<(FlowKey, Syn)> {
        if self.poll_timeout().is_none_or(|at| at > now) {
            return Vec::new();
        }
        let mut next = Instant::FAR_FUTURE;
        let gone = self.retain(|syn| {
            let deadline = syn.deadline(config);
            let waits = deadline > now;
            if waits {
                next = next.min(deadline);
            }
            waits
        });
        self.sweep_at = next.max(now + SWEEP);
        gone
    }
}

/// Whether an entry may give way to others.
fn may_go(syn: &Syn, now: Instant) -> bool {
    syn.is_as_it_came() && syn.came_at() + PATIENCE <= now
}
