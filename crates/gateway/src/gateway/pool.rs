//! The memory pool: which flows are admitted, and what each may hold.

use super::Gateway;
use crate::flow::Allowance;
use crate::stats::Reason;
use bentpipe_core::tcp::buffer::Buffer;
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
        let share = 2 * self.config.guaranteed.count() as usize;
        let flows = self.flows();
        let guaranteed = (flows + 1).saturating_mul(share);
        if flows >= self.config.max_flows || guaranteed > self.memory() {
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
