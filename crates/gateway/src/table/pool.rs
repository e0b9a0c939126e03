//! The memory pool: which flows are admitted, who gives way to them, and what each may hold.
//!
//! A stream may hold a quarter of what is free (dynamic thresholds, Choudhury and Hahne, 1998), and
//! its share in any case. So a single stream takes a fifth of the pool at most, and however many
//! readers stop, as much as one of them holds is there for the next stream.
//!
//! A share is a flow's from its handshake on, while it is open and does not hibernate. What is
//! over, what hibernates and what is being opened holds nothing, and takes nothing: there may be
//! many more such flows than shares. For them a quarter of the pool is kept from what others hold
//! beyond their shares. If that is gone, too, who wants a share waits for one, and gets along with
//! what is free until then.
//!
//! A pool that becomes smaller while it is full takes no share from the flows that are there, nor
//! from those of them that hibernate: two gateways, each full of what the other one has no room
//! for, would wait for each other (fault seed 91104134). It is what it was told to be once they
//! have ended, or hold less. Where more is guaranteed than before, each of them has as much as
//! before until there is room (fault seed 128576011).

use super::Gateway;
use super::flow::Phase;
use crate::Side;
use crate::config::UNKNOWN_LINK;
use crate::observe::Reason;
use crate::splice::{Allowance, MIN_NEAR};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;
use std::net::IpAddr;

/// Flows between hosts near by may hold one part of so many of what is free, in equal shares: a
/// window that is as large as what it brings would let the largest ones grow at the others'
/// expense.
const NEAR_PART: usize = 64;

/// What a flow takes of the pool and what it holds of that, in bytes, as last accounted for; or all
/// flows.
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
    /// What a flow may take whose streams have this `share`, or none while it waits for one.
    pub(super) fn allowance(&self, share: Bytes) -> Allowance {
        let share = share.min(self.share());
        let free = if share.is_zero() { self.uncharged() } else { self.free() };
        Allowance {
            max: Bytes::of_len(free) / 4,
            near: (Bytes::of_len(free / NEAR_PART / self.with_share.max(1))).max(MIN_NEAR),
            free,
            share,
            reset_drain: self.config.reset_drain,
        }
    }

    /// What a flow that begins may be promised before it has delivered anything, in bytes of a
    /// stream. That may be taken by a reader that stops at once, and flows that begin together are
    /// promised it before any of them holds something: so only one in a round trip is promised more
    /// than one on an unknown link may hold, and no more than a small part of what is free. The
    /// others have more a round trip later.
    pub(super) fn first_promise(&mut self, now: Instant) -> Bytes {
        if now < self.next_large {
            return UNKNOWN_LINK;
        }
        self.next_large =
            now + self.config.leg(Side::Satellite).assumed_round_trip(Side::Satellite);
        (Bytes::of_len(self.free()) / 16).max(UNKNOWN_LINK)
    }

    /// What each stream may hold in any case, in whole chunks: what it is guaranteed may begin
    /// anywhere in the first. Were it a chunk less, what is left of it could be too short for a
    /// segment, for ever.
    pub(super) fn share(&self) -> Bytes {
        B::UNIT * (self.config.guaranteed.div_ceil(B::UNIT) + 1)
    }

    /// The same for a flow.
    pub(super) fn shares(&self) -> usize {
        2 * self.share().as_len()
    }

    /// What may be held beyond shares, those that may be wanted included.
    pub(super) fn free(&self) -> usize {
        // Not all want one at the same time.
        let wanted = self.shares_wanted().min(self.memory() / 4);
        self.uncharged().saturating_sub(wanted)
    }

    /// What flows without a share, half-open ones included, would take with one.
    fn shares_wanted(&self) -> usize {
        let without = self.flows.len() - self.with_share + self.half_open.len();
        without.saturating_mul(self.shares())
    }

    /// The pool has become smaller than it `was`.
    pub(super) fn outlast(&mut self, was: Bytes) {
        let was = usize::try_from(was.count()).unwrap_or(usize::MAX).max(self.outlasting);
        self.outlasting = was.min(self.account.charged + self.shares_wanted());
    }

    /// What nobody has taken.
    fn uncharged(&self) -> usize {
        self.memory().saturating_sub(self.account.charged + self.candidates.held())
    }

    /// Something has happened to what a flow holds or may hold.
    pub(super) fn account(&mut self, id: usize) {
        let wanted = self.share();
        let copies = self.candidates.held();
        self.outlasting = self.outlasting.min(self.account.charged + self.shares_wanted());
        let memory = self.memory().max(self.outlasting);
        let flow = &mut self.flows[id];
        let others = self.account.charged - flow.account.charged + copies;
        let (charged, held, share) = match flow.phase() {
            Phase::Opening(_) | Phase::Hibernated(_) | Phase::Broken(_) => (0, 0, Bytes::ZERO),
            Phase::Spliced(spliced) if spliced.may_receive() => {
                let splice = spliced.splice();
                let granted = flow.share() >= wanted || others + splice.charge(wanted) <= memory;
                let share = if granted { wanted } else { flow.share() };
                (splice.charge(share), splice.held(), share)
            }
            Phase::Spliced(spliced) => {
                (spliced.splice().held(), spliced.splice().held(), Bytes::ZERO)
            }
        };
        debug_assert!(held <= charged, "{held} bytes are held, {charged} charged");
        let account = Account { charged, held };
        // What was accounted for is a part of the sums.
        self.account.remove(&flow.account);
        self.account.add(&account);
        flow.account = account;
        self.with_share -= usize::from(flow.has_share());
        flow.set_share(share);
        self.with_share += usize::from(flow.has_share());
    }

    /// Whether a flow of `client` may be admitted: only when its guaranteed share is there.
    /// Half-open connections count, as their options are agreed on by their SYN: none of them can
    /// be sent away when its SYN-ACK comes.
    pub(super) fn admit(&self, client: IpAddr) -> Result<(), Reason> {
        let flows = self.flows.len() + self.half_open.len();
        if flows >= self.config.max_flows || self.shares() > self.free() {
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

    /// Lets another flow give way to one of `client` that was not admitted for this reason, if
    /// there is one that may.
    pub(super) fn make_room(&mut self, now: Instant, reason: Reason, client: IpAddr) {
        let gives_way = self.gives_way(now, reason, client);
        if let Some(id) = gives_way {
            return self.forget_opening(now, id, Reason::Unfinished);
        }
        if matches!(reason, Reason::HalfOpen | Reason::NoRoom) {
            let gone = self.half_open.make_room(now);
            self.forget_syns(now, gone, Reason::Unanswered);
        }
    }

    /// The flow that gives way, if one does.
    fn gives_way(&self, now: Instant, reason: Reason, client: IpAddr) -> Option<usize> {
        match reason {
            Reason::NoRoom => self.awaiting_ack.oldest(now),
            Reason::ClientLimit => self.awaiting_ack.oldest_of(now, client),
            _ => None,
        }
    }

    /// Whether anything would.
    pub(super) fn may_make_room(&self, now: Instant, reason: Reason, client: IpAddr) -> bool {
        self.gives_way(now, reason, client).is_some()
            || matches!(reason, Reason::HalfOpen | Reason::NoRoom)
                && self.half_open.may_make_room(now)
    }

    /// Whether a flow may be opened without which its hosts cannot go on, before its client has
    /// acknowledged the SYN-ACK: such flows do not give way.
    pub(super) fn has_room_to_bind(&self) -> bool {
        self.awaiting_ack.binding() < (self.max_flows() / 4).max(1)
    }

    /// How many flows there may be.
    fn max_flows(&self) -> usize {
        (self.memory() / self.shares().max(1)).min(self.config.max_flows)
    }

    fn memory(&self) -> usize {
        usize::try_from(self.config.memory.count()).unwrap_or(usize::MAX)
    }
}
