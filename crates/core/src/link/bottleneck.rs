//! The transmitter of a link: sends one packet at a time from its queue at a fixed rate.
//!
//! A packet's serialisation ends exactly [`Rate::time_for`] *all* bytes of the present busy period
//! after that period began. Adding up rounded times packet by packet would drift by up to a
//! nanosecond a packet.

use super::{Count, Element, Packet};
use crate::time::Instant;
use crate::units::Rate;

/// A queueing discipline: who may wait for the line, and who goes next.
///
/// The packet being sent stays in the queue, and counts, until its last bit has left.
pub trait Queue<P> {
    /// Takes `packet` in at `now`, or gives it back because it is dropped.
    ///
    /// # Errors
    /// The packet, if it is dropped.
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P>;

    /// The packet that the idle line starts to send at `now`. It stays in the queue until
    /// [`dequeue`](Queue::dequeue) takes it. A discipline that drops at the head does so here.
    fn head(&mut self, now: Instant) -> Option<&P>;

    /// Removes the packet that [`head`](Queue::head) last showed: its last bit has left at `now`.
    fn dequeue(&mut self, now: Instant) -> Option<P>;

    /// Packets and bytes held.
    fn held(&self) -> Count;

    /// Packets and bytes dropped so far.
    fn dropped(&self) -> Count;
}

/// A queue and the line that drains it.
#[derive(Debug)]
pub struct Bottleneck<P, Q> {
    /// `None`: sends in no time.
    rate: Option<Rate>,
    queue: Q,
    /// When the line last became busy.
    busy_since: Instant,
    /// Bytes sent since then, those of the packet being sent included.
    busy_bytes: u64,
    /// When the packet being sent will have left; `None` when the line is idle.
    ends: Option<Instant>,
    packet: std::marker::PhantomData<P>,
}

impl<P: Packet, Q: Queue<P>> Bottleneck<P, Q> {
    /// An idle line of `rate` (without limit if `None`) fed by `queue`.
    pub fn new(rate: Option<Rate>, queue: Q) -> Bottleneck<P, Q> {
        Bottleneck {
            rate,
            queue,
            busy_since: Instant::ZERO,
            busy_bytes: 0,
            ends: None,
            packet: std::marker::PhantomData,
        }
    }

    /// Packets and bytes in the buffer, the one being sent included.
    pub fn queued(&self) -> Count {
        self.queue.held()
    }

    /// Packets and bytes that the queue has dropped.
    pub fn dropped(&self) -> Count {
        self.queue.dropped()
    }

    /// Starts on the queue's head at `now`, if there is one.
    fn start(&mut self, now: Instant) {
        self.ends = self.queue.head(now).map(|packet| {
            self.busy_bytes += packet.wire_len();
            match self.rate {
                Some(rate) => self.busy_since + rate.time_for(self.busy_bytes),
                None => now,
            }
        });
    }
}

impl<P: Packet, Q: Queue<P>> Element<P> for Bottleneck<P, Q> {
    fn push(&mut self, now: Instant, packet: P) {
        if self.queue.enqueue(now, packet).is_ok() && self.ends.is_none() {
            self.busy_since = now;
            self.busy_bytes = 0;
            self.start(now);
        }
    }

    fn pop(&mut self, now: Instant) -> Option<(Instant, P)> {
        let ends = self.ends.filter(|&ends| ends <= now && ends < Instant::FAR_FUTURE)?;
        let packet = self.queue.dequeue(ends)?;
        self.start(ends);
        Some((ends, packet))
    }

    fn next(&self) -> Option<Instant> {
        // At rate zero a packet never ends.
        self.ends.filter(|&ends| ends < Instant::FAR_FUTURE)
    }
}
