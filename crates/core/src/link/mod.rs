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
//! Rate, delay and loss are constant or follow a [`Schedule`]. Text forms such as
//! `red:min-threshold=5,max-threshold=15` and `gilbert-elliott:burst=5,loss=1%` are those of
//! [`QueueKind`], [`LossKind`] and [`Outages`].
//!
//! Links carry wire packets of at most one MTU, never super-segments. A new kind of queue
//! implements [`Queue`], a new kind of loss [`LossModel`], anything else [`Element`].

mod bottleneck;
mod codel;
mod config;
mod counters;
mod delay;
mod discipline;
mod drop_tail;
mod fifo;
mod flow_hash;
mod fq_codel;
mod framing;
mod gilbert_elliott;
mod lengths;
mod limit;
mod loss;
mod losses;
mod medium;
mod occupancy;
mod outages;
mod pie;
mod policer;
mod red;
mod schedule;
mod serialiser;
#[cfg(test)]
mod tests;
mod text;

pub use bottleneck::{Bottleneck, Queue};
pub use codel::CoDel;
pub use config::LinkConfig;
pub use counters::{Count, Counters};
pub use delay::{Delay, Order};
pub use discipline::{
    CoDelConfig, Discipline, DisciplineEntry, DisciplineParameter, FqCoDelConfig, PieConfig,
    PolicerConfig, QueueKind, QueueName, RedConfig,
};
pub use drop_tail::DropTail;
pub use flow_hash::flow_hash;
pub use fq_codel::FqCoDel;
pub use framing::Framing;
pub use gilbert_elliott::{BurstLoss, GilbertElliott, States};
pub use lengths::Lengths;
pub use limit::{Line, QueueLimit, QueueLimitError};
pub use loss::{LossModel, RandomLoss, Transmission, loss_probability};
pub use losses::{LossKind, Losses};
pub use medium::{GatedLine, Medium};
pub use occupancy::Occupancy;
pub use outages::{Outages, OutagesError};
pub use pie::Pie;
pub use policer::Policer;
pub use red::{Measure, Red};
pub use schedule::{After, Schedule, ScheduleError, Varying};
pub use text::LinkTextError;

use crate::time::{Duration, Instant};
use crate::units::Rate;

/// What travels over a link: anything that knows how long it is on the wire.
pub trait LinkPacket {
    /// Length on the wire in bytes, with all headers that the link's rate is to count.
    fn wire_len(&self) -> u64;

    /// Sets the ECN codepoint "congestion experienced" (RFC 3168), if the packet is of a transport
    /// that understands it. Whether it is, and so is marked now.
    fn mark_congestion_experienced(&mut self) -> bool {
        false
    }

    /// Whether `older`, which still waits, is of no use once this has come: an acknowledgment
    /// that says less. Only a link that filters acknowledgments asks.
    fn supersedes(&self, older: &Self) -> bool {
        let _ = older;
        false
    }

    /// A hash of what tells its flow from others: addresses, protocol and ports. Only queues that
    /// part flows ask.
    fn flow_hash(&self) -> u64 {
        0
    }

    /// Whether it is to be sent before all that waits and is not urgent. Limits, drops and counts
    /// are for it as for any other.
    fn urgent(&self) -> bool {
        false
    }

    /// Marks it as damaged, if whom it reaches can tell. Whether it is marked now. Only a link that
    /// [tells of its losses](Link::tell_losses) asks.
    fn mark_damaged(&mut self) -> bool {
        false
    }
}

impl<P: LinkPacket> LinkPacket for Box<P> {
    fn wire_len(&self) -> u64 {
        (**self).wire_len()
    }

    fn mark_congestion_experienced(&mut self) -> bool {
        (**self).mark_congestion_experienced()
    }

    fn supersedes(&self, older: &Box<P>) -> bool {
        (**self).supersedes(older)
    }

    fn flow_hash(&self) -> u64 {
        (**self).flow_hash()
    }

    fn urgent(&self) -> bool {
        (**self).urgent()
    }

    fn mark_damaged(&mut self) -> bool {
        (**self).mark_damaged()
    }
}

impl LinkPacket for Vec<u8> {
    fn wire_len(&self) -> u64 {
        self.len() as u64
    }
}

impl LinkPacket for Box<[u8]> {
    fn wire_len(&self) -> u64 {
        self.len() as u64
    }
}

/// A packet with its length: a link asks for it again and again, and a packet that has to add it
/// up would do so as often.
#[derive(Debug, Clone)]
pub struct Measured<P> {
    wire_len: u64,
    packet: P,
}

impl<P: LinkPacket> LinkPacket for Measured<P> {
    #[inline]
    fn wire_len(&self) -> u64 {
        self.wire_len
    }

    fn mark_congestion_experienced(&mut self) -> bool {
        self.packet.mark_congestion_experienced()
    }

    fn supersedes(&self, older: &Measured<P>) -> bool {
        self.packet.supersedes(&older.packet)
    }

    fn flow_hash(&self) -> u64 {
        self.packet.flow_hash()
    }

    #[inline]
    fn urgent(&self) -> bool {
        self.packet.urgent()
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

    /// Before when no packet leaves this element; `None` if none ever does. Never in the past once
    /// everything due has been popped.
    fn next(&self) -> Option<Instant>;
}

/// A whole one-way link, built from a [`LinkConfig`].
#[derive(Debug)]
pub struct Link<P, Q = Discipline<Measured<P>>, L = Losses> {
    bottleneck: Bottleneck<Measured<P>, Q>,
    loss: L,
    delay: Delay<Measured<P>>,
    counters: Counters,
    /// What it loses arrives, marked as damaged.
    tells: bool,
    /// What it has lost, if somebody wants to know.
    lost: Option<Vec<P>>,
}

impl<P: LinkPacket> Link<P> {
    /// A link like `config`, drawing from its seed.
    pub fn new(config: &LinkConfig) -> Link<P> {
        let queue = config.queue.queue(config.rate.clone(), config.seed);
        Link::from_parts(
            Bottleneck::new(config.rate.clone(), queue).with_framing(config.framing),
            Losses::new(config),
            Delay::with_order(config.delay.clone(), config.order),
        )
    }
}

impl<P: LinkPacket, Q: Queue<Measured<P>>, L: LossModel> Link<P, Q, L> {
    /// A link of these elements.
    pub fn from_parts(
        bottleneck: Bottleneck<Measured<P>, Q>,
        loss: L,
        delay: Delay<Measured<P>>,
    ) -> Link<P, Q, L> {
        let counters = Counters::default();
        Link { bottleneck, loss, delay, counters, tells: false, lost: None }
    }

    /// From now on what it loses arrives all the same, [marked as
    /// damaged](LinkPacket::mark_damaged), unless it was sent into an outage. It counts as
    /// delivered.
    pub fn tell_losses(&mut self) {
        self.tells = true;
    }

    /// Keeps what it loses from now on, for [`take_lost`](Link::take_lost).
    pub fn keep_lost(&mut self) {
        self.lost = Some(Vec::new());
    }

    /// A packet that was kept when it was lost.
    pub fn take_lost(&mut self) -> Option<P> {
        self.lost.as_mut()?.pop()
    }

    /// Whether there is such a packet.
    #[inline]
    pub fn has_lost(&self) -> bool {
        self.lost.as_ref().is_some_and(|lost| !lost.is_empty())
    }

    /// Removes from the queue, from now on, what a newer packet
    /// [supersedes](LinkPacket::supersedes): acknowledgment filtering (RFC 3449, 5.2.1). It counts
    /// as dropped.
    pub fn filter_superseded(&mut self) {
        self.bottleneck.filter_superseded();
    }

    /// Has the line send only what it is [granted](Link::grant): it shares a medium with others.
    pub fn gate(&mut self) {
        self.bottleneck.gate();
    }

    /// Whether a line that is [gated](Link::gate) has something to send and does not send.
    #[inline]
    pub fn asks(&self) -> bool {
        self.bottleneck.asks()
    }

    /// The medium is this gated line's: it begins to send a packet at `now`, if it has one. When
    /// the last bit will have left.
    pub fn grant(&mut self, now: Instant) -> Option<Instant> {
        self.advance(now);
        self.bottleneck.grant(now)
    }

    /// Drops the packet that would be sent next: the medium could not be had.
    pub fn give_up(&mut self, now: Instant) {
        self.advance(now);
        self.bottleneck.give_up(now);
    }

    /// The line's rate is this one from `now` on; none is without limit. The packet being sent
    /// leaves when it was to, or when it would if it began now, whichever is earlier. The queue
    /// stays as it is.
    pub fn set_rate(&mut self, now: Instant, rate: Option<Varying<Rate>>) {
        self.advance(now);
        self.bottleneck.set_rate(now, rate);
    }

    /// What the line has sent from `now` on has this delay.
    pub fn set_delay(&mut self, now: Instant, delay: Varying<Duration>) {
        self.advance(now);
        self.delay.set(delay);
    }

    /// What the line has sent from `now` on is lost by these.
    pub fn set_losses(&mut self, now: Instant, losses: L) {
        self.advance(now);
        self.loss = losses;
    }

    /// Offers `packet` to the link at `now`.
    pub fn push(&mut self, now: Instant, packet: P) {
        self.advance(now);
        let packet = Measured { wire_len: packet.wire_len(), packet };
        self.counters.offered.add(&packet);
        self.bottleneck.push(now, packet);
        // An idle line without a rate passes the packet on in the same moment.
        self.advance(now);
    }

    /// When a packet of this length arrives that comes at `now`, if the line is idle: none arrives
    /// earlier. (`now`, if the line has no rate for it.)
    pub fn earliest_arrival(&self, now: Instant, wire_len: u64) -> Instant {
        match self.bottleneck.end_if_idle(now, wire_len) {
            Instant::FAR_FUTURE => now,
            sent => sent + self.delay.delay_at(sent),
        }
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
        Some((at, packet.packet))
    }

    /// When to call [`pop`](Link::pop) next: no packet arrives earlier. What happens inside
    /// meanwhile, the end of each serialisation, is made up for then or at the next
    /// [`push`](Link::push), with its exact moments; so there need not be an arrival, if the only
    /// packet on its way turns out to be lost.
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        self.delay.next_with(self.bottleneck.next())
    }

    /// Lets everything happen inside that does by `now`. Only who reads [`queued`](Link::queued),
    /// [`inside`](Link::inside), [`counters`](Link::counters) or the bottleneck's occupancy between
    /// other calls needs to call it: they are as of the last one.
    #[inline]
    pub fn advance(&mut self, now: Instant) {
        // Mostly nothing does: asked at every push and pop, whatever else is inlined there.
        if self.bottleneck.next().is_some_and(|ends| ends <= now) {
            self.pass_on(now);
        }
    }

    /// Takes what the line has sent by `now` on its way.
    fn pass_on(&mut self, now: Instant) {
        while let Some((sent, mut packet)) = self.bottleneck.pop_sent(now) {
            if !self.loss.loses(&sent)
                || (self.tells && !self.loss.silences(&sent) && packet.packet.mark_damaged())
            {
                self.delay.push(sent.ended, packet);
                continue;
            }
            self.counters.lost.add(&packet);
            if let Some(lost) = &mut self.lost {
                lost.push(packet.packet);
            }
        }
    }

    /// What has happened to the packets so far. `offered = dropped + lost + delivered + inside`.
    pub fn counters(&self) -> Counters {
        let (dropped, marked) = (self.bottleneck.dropped(), self.bottleneck.marked());
        Counters { dropped, marked, ..self.counters }
    }

    /// The queue and the line.
    pub fn bottleneck(&self) -> &Bottleneck<Measured<P>, Q> {
        &self.bottleneck
    }

    /// Packets and bytes still inside: waiting, being sent, or propagating.
    pub fn inside(&self) -> Count {
        self.bottleneck.queued() + self.delay.in_flight()
    }

    /// Packets and bytes in the buffer, the one being sent included.
    pub fn queued(&self) -> Count {
        self.bottleneck.queued()
    }
}

impl<P: LinkPacket, Q: Queue<Measured<P>>, L: LossModel> Element<P> for Link<P, Q, L> {
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
