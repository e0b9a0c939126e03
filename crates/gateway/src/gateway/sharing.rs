//! Sharing what all flows use: the memory pool, and the window of the link.

use super::Gateway;
use crate::Side;
use crate::flow::{Allowance, Phase};
use crate::stats::Reason;
use bentpipe_core::tcp::buffer::Buffer;
use std::net::IpAddr;

/// Payload of a full segment on Ethernet, by which the least initial window is counted.
const ETHERNET_MSS: u64 = 1460;

impl<B: Buffer> Gateway<B> {
    /// What a flow with legs towards `sides` may take when `arriving` bytes of payload come.
    pub(super) fn allowance(&self, sides: [Side; 2], arriving: usize) -> Allowance {
        Allowance {
            most: self.most_for_one(),
            room: self.held + arriving <= self.memory(),
            guaranteed: self.config.guaranteed.count(),
            windows: sides.map(|side| self.free_window(side)),
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

    /// The window that a flow may begin with towards `side`: what the others leave free of the
    /// window that fills the link, and in any case the ordinary initial window.
    fn free_window(&self, side: Side) -> u64 {
        let leg = self.config.leg(side);
        let least = leg.sender.initial_window.bytes(ETHERNET_MSS);
        match leg.filling_window() {
            Some(window) => window.saturating_sub(self.demand[side as usize]).max(least),
            None => u64::MAX,
        }
    }

    /// Keeps the sum of what senders want right.
    pub(super) fn count_demand(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        for leg in 0..2 {
            let now = match &flow.phase {
                Phase::Split(split) if split.is_open() => split.leg(leg).tcb.sender.demand(),
                _ => 0,
            };
            let sum = &mut self.demand[flow.sides[leg] as usize];
            *sum = *sum - flow.demand[leg] + now;
            flow.demand[leg] = now;
        }
    }

    /// The most that a stream may hold now: a quarter of what is free (dynamic thresholds,
    /// Choudhury and Hahne, 1998), and its guaranteed share in any case. So a single stream takes a
    /// fifth of the pool at most, and however many readers stop, as much as one of them holds is
    /// there for the next stream.
    fn most_for_one(&self) -> u64 {
        let free = self.memory().saturating_sub(self.held) as u64;
        (free / 4).max(self.config.guaranteed.count())
    }
}
