//! The memory pool: which flows are admitted, who gives way to them, and what each may hold.
//!
//! A stream may hold a quarter of what is free (dynamic thresholds, Choudhury and Hahne, 1998), and
//! its share in any case. So a single stream takes a fifth of the pool at most, and however many readers
//! stop, as much as one of them holds is there for the next stream.

use super::Gateway;
use super::flow::Phase;
use crate::Side;
use crate::config::UNKNOWN_LINK;
use crate::observe::Reason;
use crate::splice::Allowance;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::Instant;
use std::net::IpAddr;

/// What a flow takes of the pool and what it holds of that, in bytes, as last accounted for; or all flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Account {
    charged: usize,
    held: usize,
}

impl Account {
    /// Bytes that are held.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Bytes that are taken, held or not.
    #[cfg(test)]
    pub(super) fn charged(&self) -> usize {
        self.charged
    }

    /// Adds a flow's.
    pub(super) fn add(&mut self, one: &Account) {
        self.charged += one.charged;
        self.held += one.held;
    }

    /// Takes a flow's out, which is a part of these sums.
    pub(super) fn remove(&mut self, one: &Account) {
        self.charged -= one.charged;
        self.held -= one.held;
    }
}

impl<B: Buffer> Gateway<B> {
    /// What a flow may take.
    pub(super) fn allowance(&self) -> Allowance {
        let free = self.free();
        Allowance {
            max: free as u64 / 4,
            free,
            share: self.share(),
            reset_drain: self.config.reset_drain,
        }
    }

    /// What a flow that begins may be promised before it has delivered anything, in bytes of a stream. That may
    /// be taken by a reader that stops at once, and flows that begin together are promised it before
    /// any of them holds something: so only one in a round trip is promised more than one on an unknown link may
    /// hold, and no more than a small part of what is free. The others have more a round trip later.
    pub(super) fn first_promise(&mut self, now: Instant) -> u64 {
        if now < self.next_large {
            return UNKNOWN_LINK;
        }
        self.next_large =
            now + self.config.leg(Side::Satellite).assumed_round_trip(Side::Satellite);
        (self.free() as u64 / 16).max(UNKNOWN_LINK)
    }

    /// What each stream may hold in any case, in whole chunks: what it is guaranteed may begin anywhere
    /// in the first. Were it a chunk less, what is left of it could be too short for a segment, for ever.
    fn share(&self) -> u64 {
        self.config.guaranteed.count().next_multiple_of(B::UNIT) + B::UNIT
    }

    /// The same for a flow.
    pub(super) fn shares(&self) -> usize {
        2 * self.share() as usize
    }

    /// What may be held beyond what each flow has or may have in any case, half-open ones included.
    fn free(&self) -> usize {
        let half_open = self.half_open.len().saturating_mul(self.shares());
        self.memory().saturating_sub(self.account.charged).saturating_sub(half_open)
    }

    /// Something has happened to what a flow holds or may hold.
    pub(super) fn account(&mut self, id: usize) {
        let share = self.share();
        let flow = &mut self.flows[id];
        let (charged, held) = match flow.phase() {
            Phase::Opening(_) | Phase::Hibernated(_) => (2 * share as usize, 0),
            Phase::Spliced(spliced) => (spliced.charge(share), spliced.splice().held()),
            Phase::Broken(_) => (0, 0),
        };
        debug_assert!(held <= charged, "{held} bytes are held, {charged} charged");
        let account = Account { charged, held };
        self.account.remove(&flow.account);
        self.account.add(&account);
        flow.account = account;
    }

    /// Whether a flow of `client` may be admitted: only when its guaranteed share is there. Half-open
    /// connections count, as their options are agreed on by their SYN: none of them can be sent
    /// away when its SYN-ACK comes.
    pub(super) fn admit(&self, client: IpAddr) -> Result<(), Reason> {
        if self.flows() >= self.config.max_flows || self.shares() > self.free() {
            return Err(Reason::NoRoom);
        }
        if self.half_open.len() >= self.config.max_half_open {
            return Err(Reason::HalfOpen);
        }
        if self.clients.flows_of(client) >= self.config.max_flows_per_client {
            return Err(Reason::ClientLimit);
        }
        Ok(())
    }

    /// Lets another flow give way to one of `client` that was not admitted for this reason, if there
    /// is one that may.
    pub(super) fn make_room(&mut self, now: Instant, reason: Reason, client: IpAddr) {
        let gives_way = match reason {
            Reason::NoRoom => self.unanswered.oldest(now),
            Reason::ClientLimit => self.unanswered.oldest_of(now, client),
            _ => None,
        };
        if let Some(id) = gives_way {
            return self.remove(id);
        }
        if matches!(reason, Reason::HalfOpen | Reason::NoRoom) {
            self.half_open.make_room(now, &mut self.clients);
        }
    }

    /// Whether a flow may be opened without which its hosts cannot go on, before its client has
    /// acknowledged the SYN-ACK: such flows do not give way.
    pub(super) fn has_room_to_bind(&self) -> bool {
        self.unanswered.binding() < (self.max_flows() / 4).max(1)
    }

    /// How many flows there may be.
    fn max_flows(&self) -> usize {
        (self.memory() / self.shares().max(1)).min(self.config.max_flows)
    }

    fn memory(&self) -> usize {
        usize::try_from(self.config.memory.count()).unwrap_or(usize::MAX)
    }
}
