//! The memory pool: which flows are admitted, who gives way to them, and what each may hold.

use super::Gateway;
use crate::flow::Allowance;
use crate::stats::Reason;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::Instant;
use std::net::IpAddr;

impl<B: Buffer> Gateway<B> {
    /// What a flow may take when `arriving` bytes of payload come.
    pub(super) fn allowance(&self, arriving: usize) -> Allowance {
        Allowance {
            most: self.most_for_one(),
            room: self.held + arriving <= self.memory(),
            guaranteed: self.config.guaranteed.count(),
            reset_drain: self.config.reset_drain,
        }
    }

    /// Whether a flow of `client` may be admitted: only when its guaranteed share is there. Half-open
    /// connections count, as their options are agreed on by their SYN: none of them can be sent
    /// away when its SYN-ACK comes.
    pub(super) fn admit(&self, client: IpAddr) -> Result<(), Reason> {
        if self.flows() >= self.most_flows() {
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
            return self.give_way(now, id);
        }
        if matches!(reason, Reason::HalfOpen | Reason::NoRoom) {
            self.half_open.make_room(now, &mut self.clients);
        }
    }

    /// Whether a flow may be opened without which its hosts cannot go on, before its client has
    /// acknowledged the SYN-ACK: such flows do not give way, or only where their servers are reset.
    pub(super) fn has_room_to_bind(&mut self, now: Instant) -> bool {
        let most = (self.most_flows() / 4).max(1);
        if self.unanswered.binding() < most {
            return true;
        }
        let Some(id) = self.unanswered.oldest_answered(now) else { return false };
        self.give_way(now, id);
        true
    }

    /// How many flows there may be.
    fn most_flows(&self) -> usize {
        let share = 2 * self.config.guaranteed.count() as usize;
        (self.memory() / share.max(1)).min(self.config.max_flows)
    }

    fn memory(&self) -> usize {
        usize::try_from(self.config.memory.count()).unwrap_or(usize::MAX)
    }

    /// The most that a stream may hold now: a quarter of what is free (dynamic thresholds,
    /// Choudhury and Hahne, 1998), and its guaranteed share in any case. So a single stream takes a
    /// fifth of the pool at most, and however many readers stop, as much as one of them holds is
    /// there for the next stream.
    pub(super) fn most_for_one(&self) -> u64 {
        let free = self.memory().saturating_sub(self.held) as u64;
        (free / 4).max(self.config.guaranteed.count())
    }
}
