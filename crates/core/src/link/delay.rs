//! Propagation: every packet arrives some time after it was sent, any number at once.

use super::schedule::{Timeline, Varying};
use super::{Count, Element, LinkPacket};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// What becomes of the order of packets when the delay shrinks faster than time passes.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Order {
    /// It stays: a packet waits for the one sent before it.
    #[default]
    Kept,
    /// A packet overtakes those whose way is longer.
    ByArrival,
}

/// A propagation delay, fixed or changing over time. A packet takes the delay of the moment at
/// which its last bit is sent.
#[derive(Debug)]
pub struct Delay<P> {
    delay: Timeline<Duration>,
    order: Order,
    /// By arrival; of one moment, as sent.
    in_flight: VecDeque<(Instant, P)>,
    held: Count,
}

impl<P: LinkPacket> Delay<P> {
    /// Nothing in flight, and `delay` for each packet to come. The order is kept.
    pub fn new(delay: impl Into<Varying<Duration>>) -> Delay<P> {
        Delay::with_order(delay, Order::Kept)
    }

    /// As [`new`](Delay::new), with the order of packets as said.
    pub fn with_order(delay: impl Into<Varying<Duration>>, order: Order) -> Delay<P> {
        let in_flight = VecDeque::new();
        Delay { delay: Timeline::new(delay.into()), order, in_flight, held: Count::default() }
    }

    /// `delay` for each packet that comes in from now on.
    pub(super) fn set(&mut self, delay: Varying<Duration>) {
        self.delay = Timeline::new(delay);
    }

    /// The delay at `later`, not before anything that has come in.
    pub(super) fn delay_at(&self, later: Instant) -> Duration {
        self.delay.peek(later)
    }

    /// Packets and bytes propagating.
    pub fn in_flight(&self) -> Count {
        self.held
    }

    /// The first arrival when the next packet to come in does so at `sent`: it need not come in
    /// before there is an arrival.
    #[inline]
    pub(super) fn next_with(&self, sent: Option<Instant>) -> Option<Instant> {
        match (self.in_flight.front(), sent, self.order) {
            (Some((at, _)), _, Order::Kept) => Some(*at),
            (None, Some(sent), Order::Kept) => Some(sent + self.delay.peek(sent)),
            // Any packet to come may be the first to arrive, so each is looked at when it is sent.
            (Some((at, _)), Some(sent), Order::ByArrival) => Some(sent.min(*at)),
            (front, sent, _) => front.map(|(at, _)| *at).or(sent),
        }
    }
}

impl<P: LinkPacket> Element<P> for Delay<P> {
    fn push(&mut self, now: Instant, packet: P) {
        self.held.add(&packet);
        let at = now + self.delay.at(now);
        match (self.in_flight.back(), self.order) {
            (Some((last, _)), Order::Kept) if *last > at => {
                let last = *last;
                self.in_flight.push_back((last, packet));
            }
            (Some((last, _)), Order::ByArrival) if *last > at => {
                let place = self.in_flight.partition_point(|(other, _)| *other <= at);
                self.in_flight.insert(place, (at, packet));
            }
            _ => self.in_flight.push_back((at, packet)),
        }
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
