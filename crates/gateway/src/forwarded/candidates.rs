//! Connections that are forwarded until they prove long, and then split in mid-life
//! (bharadwaj-2001, section 5).
//!
//! Nothing is promised to anybody before a connection is split. So a candidate may be forgotten at
//! any moment, and is whenever something is not as expected: it goes on as it was.
//!
//! 1. Its SYN and SYN-ACK pass unchanged, and what they agree on is noted
//!    ([`PassedSyn`](crate::handshake::PassedSyn)).
//! 2. What its hosts acknowledge is counted.
//! 3. Once that is enough, what passes is copied. What had passed before is the hosts' own
//!    business.
//! 4. When all that had passed before is acknowledged, and what was copied has no hole, we have
//!    whatever a host may still ask for. The connection is split.
//!
//! Of one whose handshake has not passed here, a [record](crate::handshake::SessionRecord) says
//! what step 1 would have noted, and its hosts [show](recalled) where they are.

mod candidate;
mod copied;
mod direction;
mod recalled;
mod stage;

pub(crate) use candidate::Adopted;
pub(crate) use stage::Reading;

use crate::config::Config;
use crate::handshake::SessionRecord;
use crate::key::FlowKey;
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Bytes;
use candidate::Candidate;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// How long a connection is copied at most: several round trips of a slow link.
const COPYING: Duration = Duration::from_secs(10);

/// How often a full table is looked through for what may give way.
const LOOK: Duration = Duration::from_millis(100);

/// How often it is looked through for what is over.
const SWEEP: Duration = Duration::from_secs(60);

/// In a full table a handshake has its place for so long, and a connection while it is heard so
/// often.
const PATIENCE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// The table.
#[derive(Debug)]
pub(crate) struct Candidates<B> {
    connections: BTreeMap<FlowKey, Box<Candidate<B>>>,
    /// Those that are being copied, by when that is given up.
    copied: BTreeSet<(Instant, FlowKey)>,
    /// Memory of the copies, in bytes.
    held: usize,
    /// How many have no complete handshake.
    opening: usize,
    look_at: Instant,
    sweep_at: Instant,
}

impl<B> Default for Candidates<B> {
    fn default() -> Candidates<B> {
        Candidates {
            connections: BTreeMap::new(),
            copied: BTreeSet::new(),
            held: 0,
            opening: 0,
            look_at: Instant::ZERO,
            sweep_at: Instant::ZERO,
        }
    }
}

impl<B: Buffer> Candidates<B> {
    /// How many there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.connections.len()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Memory that copies take, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// A SYN is forwarded that would be split. Its connection is one from `after` on.
    pub(crate) fn on_syn(
        &mut self,
        now: Instant,
        config: &Config,
        segment: &Segment<'_>,
        after: Bytes,
    ) {
        let key = FlowKey::of(segment.ip, segment.tcp);
        if let Some(known) = self.connections.get_mut(&key) {
            if known.on_syn(now, segment) {
                return;
            }
            self.forget(&key);
        }
        if !self.has_room(now, config) {
            return;
        }
        if let Some(candidate) = Candidate::new(now, segment, after) {
            self.opening += 1;
            self.connections.insert(key, Box::new(candidate));
        }
    }

    /// Reads another segment that is forwarded. Copies may take `free` bytes more. None if it is of
    /// no candidate.
    pub(crate) fn read(
        &mut self,
        now: Instant,
        segment: &Segment<'_>,
        free: usize,
    ) -> Option<Reading> {
        let key = FlowKey::of(segment.ip, segment.tcp);
        let candidate = self.connections.get_mut(&key)?;
        let (held, opening) = (candidate.held(), !candidate.is_open());
        let since = candidate.copied_since();
        let reading = candidate.read(now, segment, free);
        self.held = self.held - held + candidate.held();
        self.opening -= usize::from(opening && candidate.is_open());
        let copied_since = candidate.copied_since();
        if since != copied_since {
            if let Some(since) = since {
                self.copied.remove(&(since + COPYING, key));
            }
            if let Some(since) = copied_since {
                self.copied.insert((since + COPYING, key));
            }
        }
        if reading == Reading::Over {
            self.forget(&key);
        }
        Some(reading)
    }

    /// A connection that was recorded is forwarded, and split once so much `after` is acknowledged
    /// of what passes from now on. It was heard last at `heard`.
    pub(crate) fn recall(
        &mut self,
        heard: Instant,
        config: &Config,
        record: &SessionRecord,
        after: Bytes,
    ) {
        let key = record.key();
        if !self.connections.contains_key(&key) && self.has_room(heard, config) {
            let candidate = Candidate::recalled(heard, record, after);
            self.connections.insert(key, Box::new(candidate));
        }
    }

    /// A SYN is forwarded, or answered by us. If it begins another connection, the one before is
    /// none any more.
    pub(crate) fn begin(&mut self, syn: &Segment<'_>) {
        let key = FlowKey::of(syn.ip, syn.tcp);
        if self.connections.get(&key).is_some_and(|known| known.is_over_by(syn)) {
            self.forget(&key);
        }
    }

    /// No connection is split any more: those whose handshakes are complete are kept to be
    /// recorded.
    pub(crate) fn retire(&mut self) {
        let opening = self.connections.iter().filter(|(_, it)| !it.is_open());
        let gone: Vec<FlowKey> = opening.map(|(key, _)| *key).collect();
        gone.iter().for_each(|key| self.forget(key));
        self.connections.values_mut().for_each(|candidate| candidate.retire());
        self.copied.clear();
        self.held = 0;
    }

    /// What the next gateway is to know.
    pub(crate) fn records(&self) -> impl Iterator<Item = SessionRecord> {
        self.connections.values().filter_map(|candidate| candidate.record())
    }

    /// Takes a candidate out.
    fn take(&mut self, key: &FlowKey) -> Option<Candidate<B>> {
        let candidate = self.connections.remove(key)?;
        self.held -= candidate.held();
        self.opening -= usize::from(!candidate.is_open());
        if let Some(since) = candidate.copied_since() {
            self.copied.remove(&(since + COPYING, *key));
        }
        Some(*candidate)
    }

    /// A connection whose copies are [whole](Reading::Whole) is split.
    pub(crate) fn adopt(&mut self, key: &FlowKey) -> Option<Adopted<B>> {
        self.take(key)?.adopt()
    }

    /// Who sent a candidate's SYN.
    pub(crate) fn client(&self, key: &FlowKey) -> Option<IpAddr> {
        Some(self.connections.get(key)?.client.0)
    }

    /// A connection is none any more.
    pub(crate) fn forget(&mut self, key: &FlowKey) {
        self.take(key);
    }

    /// Whether there is an entry for this connection.
    pub(crate) fn contains(&self, key: &FlowKey) -> bool {
        self.connections.contains_key(key)
    }

    /// No connection is one any more.
    pub(crate) fn clear(&mut self) {
        *self = Candidates::default();
    }

    /// A candidate's copies are given up; it is tried again later.
    pub(crate) fn put_off(&mut self, key: &FlowKey) {
        if let Some(candidate) = self.connections.get_mut(key) {
            self.held -= candidate.held();
            if let Some(since) = candidate.copied_since() {
                self.copied.remove(&(since + COPYING, *key));
            }
            candidate.put_off();
        }
    }

    /// When [`Candidates::expire`] has something to do, if ever.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.copied.first().map(|(at, _)| *at)
    }

    /// Gives up the copies that have taken too long.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some(&(_, key)) = self.copied.first().filter(|(at, _)| *at <= now) {
            self.put_off(&key);
        }
    }

    /// Whether another connection finds a place, which others may have to leave.
    fn has_room(&mut self, now: Instant, config: &Config) -> bool {
        let full = |table: &Self| {
            table.connections.len() >= config.max_flows || table.opening >= config.max_half_open
        };
        if self.sweep_at <= now {
            self.sweep_at = now + SWEEP;
            self.keep(now, [config.open_timeout, config.idle_timeout]);
        }
        if full(self) && self.look_at <= now {
            self.look_at = now + LOOK;
            self.keep(now, PATIENCE);
        }
        !full(self)
    }

    /// Keeps what was heard of within so long, a handshake or a connection.
    fn keep(&mut self, now: Instant, [opening, open]: [Duration; 2]) {
        let silent = |candidate: &Candidate<B>| {
            let patience = if candidate.is_open() { open } else { opening };
            candidate.heard() + patience <= now
        };
        let gone: Vec<FlowKey> =
            self.connections.iter().filter(|(_, it)| silent(it)).map(|(key, _)| *key).collect();
        gone.iter().for_each(|key| self.forget(key));
    }

    /// What is kept as sums agrees with what it sums up; what copies take.
    #[cfg(test)]
    pub(crate) fn check_sums(&self) -> usize {
        let all = || self.connections.values();
        assert_eq!(self.held, all().map(|it| it.held()).sum::<usize>());
        assert_eq!(self.opening, all().filter(|it| !it.is_open()).count());
        assert_eq!(self.copied.len(), all().filter_map(|it| it.copied_since()).count());
        self.held
    }
}
