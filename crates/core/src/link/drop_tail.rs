//! The drop-tail queue: first in, first out; an arrival that does not fit is dropped.

use super::{Count, LinkPacket, Queue, QueueLimit, fifo};
use crate::time::Instant;
use std::collections::VecDeque;

/// A first-in first-out buffer, limited in packets or in bytes.
#[derive(Debug)]
pub struct DropTail<P> {
    limit: QueueLimit,
    packets: VecDeque<P>,
    held: Count,
    dropped: Count,
}

impl<P: LinkPacket> DropTail<P> {
    /// An empty queue that holds up to `limit`.
    pub fn new(limit: QueueLimit) -> DropTail<P> {
        DropTail {
            limit,
            packets: VecDeque::new(),
            held: Count::default(),
            dropped: Count::default(),
        }
    }

    /// Takes the packet that came last out again.
    #[cfg(test)]
    pub(super) fn forget_newest(&mut self) {
        if let Some(packet) = self.packets.pop_back() {
            self.held.remove(&packet);
        }
    }

    pub(super) fn fits(&self, packet: &P) -> bool {
        self.limit.admits(self.held, packet)
    }
}

impl<P: LinkPacket> Queue<P> for DropTail<P> {
    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: P) -> Result<(), P> {
        if !self.fits(&packet) {
            self.dropped.add(&packet);
            return Err(packet);
        }
        self.held.add(&packet);
        self.packets.push_back(packet);
        Ok(())
    }

    fn head(&mut self, _now: Instant) -> Option<&P> {
        self.packets.front()
    }

    fn dequeue(&mut self, _now: Instant) -> Option<P> {
        let packet = self.packets.pop_front()?;
        self.held.remove(&packet);
        Some(packet)
    }

    fn drop_superseded(&mut self, newer: &P, from: usize) {
        let counts = [&mut self.held, &mut self.dropped];
        fifo::drop_superseded(&mut self.packets, |packet| packet, newer, from, counts);
    }

    fn bring_forward(&mut self, from: usize) {
        fifo::bring_forward(&mut self.packets, |packet| packet, from);
    }

    fn held(&self) -> Count {
        self.held
    }

    fn dropped(&self) -> Count {
        self.dropped
    }
}
