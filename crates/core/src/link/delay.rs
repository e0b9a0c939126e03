//! Propagation: every packet arrives a fixed time after it was sent, any number at once.

use super::{Count, Element, Packet};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// A fixed propagation delay, first in, first out.
#[derive(Debug)]
pub struct Delay<P> {
    delay: Duration,
    in_flight: VecDeque<(Instant, P)>,
    held: Count,
}

impl<P: Packet> Delay<P> {
    /// Nothing in flight, and `delay` for each packet to come.
    pub fn new(delay: Duration) -> Delay<P> {
        Delay { delay, in_flight: VecDeque::new(), held: Count::default() }
    }

    /// Packets and bytes propagating.
    pub fn in_flight(&self) -> Count {
        self.held
    }
}

impl<P: Packet> Element<P> for Delay<P> {
    fn push(&mut self, now: Instant, packet: P) {
        self.held.add(&packet);
        self.in_flight.push_back((now + self.delay, packet));
    }

    fn pop(&mut self, now: Instant) -> Option<(Instant, P)> {
        self.in_flight.front().filter(|(at, _)| *at <= now)?;
        let (at, packet) = self.in_flight.pop_front()?;
        self.held.remove(&packet);
        Some((at, packet))
    }

    fn next(&self) -> Option<Instant> {
        self.in_flight.front().map(|(at, _)| *at)
    }
}
