//! A one-way link as a chain of elements: queue and bottleneck rate, then loss, then propagation.
//!
//! ```text
//! push → [ queue | transmitter ] → [ loss ] → [ propagation delay ] → pop
//!          buffer, limited            p          unlimited in flight
//! ```
//!
//! A packet occupies the buffer until its serialisation *ends*; then it either is lost or
//! propagates, and no longer takes room. This is the link of the papers' simulators (ns-2's
//! `SimpleLink`, whose delay element likewise holds packets outside the queue), and of mahimahi.
//! Loss behind the bottleneck means that a lost packet has spent its share of the line.
//!
//! Each [`Element`] computes *when* a packet leaves it, so an event loop that wakes late moves no
//! later event: [`Element::pop`] returns the exact moment along with the packet. Events of one
//! moment are ordered: departures come before the arrival, so a packet that arrives just when
//! another one's last bit leaves finds the room of that one free.
//!
//! Links carry wire packets of at most one MTU, never super-segments. A new kind of queue
//! implements [`Queue`], a new kind of loss [`LossModel`], anything else [`Element`].

mod bottleneck;
mod config;
mod counters;
mod delay;
mod drop_tail;
mod loss;
#[cfg(test)]
mod tests;

pub use bottleneck::{Bottleneck, Queue};
pub use config::{LinkConfig, QueueLimit, QueueLimitError};
pub use counters::{Count, Counters};
pub use delay::Delay;
pub use drop_tail::DropTail;
pub use loss::{LossModel, RandomLoss};

use crate::time::Instant;

/// What travels over a link: anything that knows how long it is on the wire.
pub trait Packet {
    /// Length on the wire in bytes, with all headers that the link's rate is to count.
    fn wire_len(&self) -> u64;
}

impl Packet for Vec<u8> {
    fn wire_len(&self) -> u64 {
        self.len() as u64
    }
}

impl Packet for Box<[u8]> {
    fn wire_len(&self) -> u64 {
        self.len() as u64
    }
}

/// Something that packets pass through and that takes time.
///
/// Callers keep `now` from going backwards, and pop until `None` before they ask for
/// [`next`](Element::next).
pub trait Element<P> {
    /// Offers `packet` at `now`. It may be dropped.
    fn push(&mut self, now: Instant, packet: P);

    /// The next packet that has left by `now`, and the exact moment, at most `now`, at which it
    /// did.
    fn pop(&mut self, now: Instant) -> Option<(Instant, P)>;

    /// When the next packet leaves this element, if one ever does. Never in the past once
    /// everything due has been popped.
    fn next(&self) -> Option<Instant>;
}

/// A whole one-way link, built from a [`LinkConfig`].
#[derive(Debug)]
pub struct Link<P, Q = DropTail<P>, L = RandomLoss> {
    bottleneck: Bottleneck<P, Q>,
    loss: L,
    delay: Delay<P>,
    counters: Counters,
}

impl<P: Packet> Link<P> {
    /// A link with a drop-tail queue and random loss, drawing from `config.seed`.
    pub fn new(config: &LinkConfig) -> Link<P> {
        Link::from_parts(
            Bottleneck::new(config.rate, DropTail::new(config.queue)),
            RandomLoss::new(config.packet_loss, config.bit_errors, config.seed),
            Delay::new(config.delay),
        )
    }
}

impl<P: Packet, Q: Queue<P>, L: LossModel> Link<P, Q, L> {
    /// A link of these elements.
    pub fn from_parts(bottleneck: Bottleneck<P, Q>, loss: L, delay: Delay<P>) -> Link<P, Q, L> {
        Link { bottleneck, loss, delay, counters: Counters::default() }
    }

    /// Offers `packet` to the link at `now`.
    pub fn push(&mut self, now: Instant, packet: P) {
        self.advance(now);
        self.counters.offered.add(&packet);
        self.bottleneck.push(now, packet);
        // An idle line without a rate passes the packet on in the same moment.
        self.advance(now);
    }

    /// The next packet that has arrived at the far end by `now`.
    pub fn pop(&mut self, now: Instant) -> Option<P> {
        self.pop_with_time(now).map(|(_, packet)| packet)
    }

    /// Like [`pop`](Link::pop), with the exact moment of arrival.
    pub fn pop_with_time(&mut self, now: Instant) -> Option<(Instant, P)> {
        self.advance(now);
        let (at, packet) = self.delay.pop(now)?;
        self.counters.delivered.add(&packet);
        Some((at, packet))
    }

    /// When to call [`pop`](Link::pop) next: the earliest moment at which anything happens
    /// inside, which need not be an arrival.
    pub fn next(&self) -> Option<Instant> {
        match (self.bottleneck.next(), self.delay.next()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// What has happened to the packets so far. `offered = dropped + lost + delivered + inside`.
    pub fn counters(&self) -> Counters {
        Counters { dropped: self.bottleneck.dropped(), ..self.counters }
    }

    /// Packets and bytes still inside: waiting, being sent, or propagating.
    pub fn inside(&self) -> Count {
        self.bottleneck.queued() + self.delay.in_flight()
    }

    /// Packets and bytes in the buffer, the one being sent included.
    pub fn queued(&self) -> Count {
        self.bottleneck.queued()
    }

    /// Moves packets whose serialisation has ended by `now` past loss into propagation.
    fn advance(&mut self, now: Instant) {
        while let Some((sent, packet)) = self.bottleneck.pop(now) {
            if self.loss.loses(sent, packet.wire_len()) {
                self.counters.lost.add(&packet);
            } else {
                self.delay.push(sent, packet);
            }
        }
    }
}

impl<P: Packet, Q: Queue<P>, L: LossModel> Element<P> for Link<P, Q, L> {
    fn push(&mut self, now: Instant, packet: P) {
        Link::push(self, now, packet);
    }
    fn pop(&mut self, now: Instant) -> Option<(Instant, P)> {
        self.pop_with_time(now)
    }
    fn next(&self) -> Option<Instant> {
        Link::next(self)
    }
}
