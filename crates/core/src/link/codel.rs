//! Controlled delay (CoDel, RFC 8289).
//!
//! Packets are dropped, or marked, where they leave the queue, once every packet of a whole
//! *interval* has waited longer than *target*; then again after interval / √n for the *n*-th, until
//! one has waited less. A queue of no more than one full-sized packet is left alone. Time waited is
//! up to when the packet begins to be sent.

use super::{CoDelConfig, Count, LinkPacket, Queue, fifo};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// A CoDel queue.
#[derive(Debug)]
pub struct CoDel<P> {
    config: CoDelConfig,
    /// With the moments at which they came in.
    packets: VecDeque<(Instant, P)>,
    held: Count,
    dropped: Count,
    marked: Count,
    /// The largest packet seen.
    max_packet: u64,
    /// When the time waited will have been above target for an interval; `None` while it is below.
    first_above: Option<Instant>,
    dropping: bool,
    drop_next: Instant,
    count: u64,
    last_count: u64,
}

impl<P: LinkPacket> CoDel<P> {
    /// An empty queue.
    pub fn new(config: CoDelConfig) -> CoDel<P> {
        CoDel {
            config,
            packets: VecDeque::new(),
            held: Count::default(),
            dropped: Count::default(),
            marked: Count::default(),
            max_packet: 0,
            first_above: None,
            dropping: false,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// Whether the packet at the head, if any, may be dropped at `now` (section 5.6, `dodequeue`).
    fn may_drop(&mut self, now: Instant) -> bool {
        let Some((since, head)) = self.packets.front() else {
            self.first_above = None;
            return false;
        };
        let behind = self.held.bytes - head.wire_len();
        if now.saturating_since(*since) < self.config.target || behind <= self.max_packet {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + self.config.interval)
    }

    /// Section 5.5: the drop after `at`.
    fn control_law(&self, at: Instant) -> Instant {
        let nanos = self.config.interval.as_nanos() as f64 / (self.count as f64).sqrt();
        at + Duration::from_nanos(nanos as u64)
    }

    /// The packet at the head, without a look at how long it has waited.
    pub(super) fn front(&self) -> Option<&P> {
        self.packets.front().map(|(_, packet)| packet)
    }

    /// Packets and bytes from place `from` on, which is the head or the one behind it.
    pub(super) fn waiting(&self, from: usize) -> Count {
        let mut waiting = self.held;
        self.packets.iter().take(from).for_each(|(_, packet)| waiting.remove(packet));
        waiting
    }

    /// Drops the packet at a place for want of room.
    pub(super) fn drop_at(&mut self, place: usize) {
        if let Some((_, packet)) = self.packets.remove(place) {
            self.held.remove(&packet);
            self.dropped.add(&packet);
        }
    }

    /// Marks the packet at the head if it can be, or else drops it. Whether it is gone.
    fn signal(&mut self) -> bool {
        let Some((_, head)) = self.packets.front_mut() else { return false };
        if self.config.ecn && head.mark_congestion_experienced() {
            self.marked.add(head);
            return false;
        }
        if let Some((_, head)) = self.packets.pop_front() {
            self.held.remove(&head);
            self.dropped.add(&head);
        }
        true
    }
}

impl<P: LinkPacket> Queue<P> for CoDel<P> {
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        if !self.config.limit.admits(self.held, &packet) {
            self.dropped.add(&packet);
            return Err(packet);
        }
        self.max_packet = self.max_packet.max(packet.wire_len());
        self.held.add(&packet);
        self.packets.push_back((now, packet));
        Ok(())
    }

    /// Section 5.5, `deque`.
    fn head(&mut self, now: Instant) -> Option<&P> {
        let may_drop = self.may_drop(now);
        if self.dropping {
            self.dropping = may_drop;
            // A large backlog may owe several drops at once.
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let gone = self.signal();
                self.dropping = !gone || self.may_drop(now);
                if self.dropping {
                    self.drop_next = self.control_law(self.drop_next);
                }
                if !gone {
                    break;
                }
            }
        } else if may_drop {
            if self.signal() {
                // Only for what it notes: the packet behind goes in any case.
                self.may_drop(now);
            }
            self.dropping = true;
            // The rate that controlled the queue last time, if that was not long ago, is a good
            // one to start with.
            let delta = self.count.saturating_sub(self.last_count);
            let recently =
                now.saturating_since(self.drop_next) < self.config.interval.saturating_mul(16);
            self.count = if delta > 1 && recently { delta } else { 1 };
            self.drop_next = self.control_law(now);
            self.last_count = self.count;
        }
        self.packets.front().map(|(_, packet)| packet)
    }

    fn dequeue(&mut self, _now: Instant) -> Option<P> {
        let (_, packet) = self.packets.pop_front()?;
        self.held.remove(&packet);
        Some(packet)
    }

    fn drop_superseded(&mut self, newer: &P, from: usize) {
        let counts = [&mut self.held, &mut self.dropped];
        fifo::drop_superseded(&mut self.packets, |(_, packet)| packet, newer, from, counts);
    }

    fn bring_forward(&mut self, from: usize) {
        fifo::bring_forward(&mut self.packets, |(_, packet)| packet, from);
    }

    fn held(&self) -> Count {
        self.held
    }

    fn dropped(&self) -> Count {
        self.dropped
    }

    fn marked(&self) -> Count {
        self.marked
    }
}
