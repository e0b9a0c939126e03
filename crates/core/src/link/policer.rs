//! A policer: a token bucket that drops what exceeds a rate and a burst (RFC 2697's token bucket
//! with one rate and one burst; `police` of Linux's tc).
//!
//! Tokens are bytes. The bucket begins full and fills at the rate, up to the burst. A packet that
//! finds as many tokens as it has bytes takes them and goes on to the line's drop-tail queue; one
//! that does not is dropped, and takes none. So nothing waits for the policer: what exceeds its
//! rate is lost and not delayed. A packet longer than the burst never passes.

use super::drop_tail::DropTail;
use super::{Count, LinkPacket, PolicerConfig, Queue};
use crate::time::Instant;
use crate::units::Rate;

/// A byte's worth of tokens: bit/s × ns, so that nothing is rounded.
const BYTE: u128 = 8_000_000_000;

/// A policer and the queue behind it.
#[derive(Debug)]
pub struct Policer<P> {
    rate: Rate,
    /// Tokens at most, and at `at`.
    full: u128,
    tokens: u128,
    at: Instant,
    queue: DropTail<P>,
    dropped: Count,
}

impl<P: LinkPacket> Policer<P> {
    /// A policer with a full bucket before an empty queue.
    pub fn new(config: PolicerConfig) -> Policer<P> {
        let full = u128::from(config.burst.count()) * BYTE;
        Policer {
            rate: config.rate,
            full,
            tokens: full,
            at: Instant::ZERO,
            queue: DropTail::new(config.limit),
            dropped: Count::default(),
        }
    }

    /// Takes the tokens that `packet` needs at `now`, if they are there.
    fn take(&mut self, now: Instant, packet: &P) -> bool {
        let since = now.saturating_since(self.at).as_nanos();
        self.at = now;
        let come = u128::from(self.rate.bits_per_sec()) * since;
        self.tokens = self.full.min(self.tokens.saturating_add(come));
        let needed = u128::from(packet.wire_len()) * BYTE;
        let there = needed <= self.tokens;
        if there {
            self.tokens -= needed;
        }
        there
    }
}

impl<P: LinkPacket> Queue<P> for Policer<P> {
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        if !self.take(now, &packet) {
            self.dropped.add(&packet);
            return Err(packet);
        }
        self.queue.enqueue(now, packet)
    }

    fn head(&mut self, now: Instant) -> Option<&P> {
        self.queue.head(now)
    }

    fn dequeue(&mut self, now: Instant) -> Option<P> {
        self.queue.dequeue(now)
    }

    fn drop_superseded(&mut self, newer: &P, from: usize) {
        self.queue.drop_superseded(newer, from);
    }

    fn bring_forward(&mut self, from: usize) {
        self.queue.bring_forward(from);
    }

    fn held(&self) -> Count {
        self.queue.held()
    }

    fn dropped(&self) -> Count {
        self.dropped + self.queue.dropped()
    }
}
