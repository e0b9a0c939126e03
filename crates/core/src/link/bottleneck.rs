//! The transmitter of a link: sends one packet at a time from its queue, at a rate.
//!
//! A packet's serialisation ends exactly when the rate, integrated over the present busy period,
//! has carried all packets up to this one: nothing is rounded from packet to packet.

use super::schedule::Varying;
use super::serialiser::Serialiser;
use super::{Count, Element, Framing, Lengths, LinkPacket, Occupancy, Transmission};
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
    /// [`dequeue`](Queue::dequeue) takes it. A discipline that drops or marks at the head does so
    /// here.
    fn head(&mut self, now: Instant) -> Option<&P>;

    /// Removes the packet that [`head`](Queue::head) last showed: its last bit has left at `now`.
    fn dequeue(&mut self, now: Instant) -> Option<P>;

    /// Drops the packets from place `from` on that `newer`, about to come in, supersedes.
    fn drop_superseded(&mut self, newer: &P, from: usize);

    /// Moves the packet that came in last, which is urgent, before those from place `from` on that
    /// are not.
    fn bring_forward(&mut self, from: usize);

    /// Packets and bytes held.
    fn held(&self) -> Count;

    /// Packets and bytes dropped so far.
    fn dropped(&self) -> Count;

    /// Packets and bytes marked "congestion experienced" so far.
    fn marked(&self) -> Count {
        Count::default()
    }
}

/// A queue and the line that drains it.
#[derive(Debug)]
pub struct Bottleneck<P, Q> {
    /// `None`: sends in no time.
    line: Option<Serialiser>,
    queue: Q,
    /// When the packet being sent began, and how long it is with its frame.
    began: Instant,
    framed: u64,
    /// When the packet being sent will have left; `None` when the line is idle.
    ends: Option<Instant>,
    occupancy: Occupancy,
    /// Of a line with a rate: without, nothing waits.
    lengths: Lengths,
    /// Packets that are superseded do not wait any longer.
    filters: bool,
    framing: Framing,
    /// It sends only what it is granted.
    gated: bool,
    /// Dropped because the medium could not be had.
    given_up: Count,
    packet: std::marker::PhantomData<P>,
}

impl<P: LinkPacket, Q: Queue<P>> Bottleneck<P, Q> {
    /// An idle line of `rate` (without limit if `None`) fed by `queue`.
    pub fn new(rate: Option<impl Into<Varying<Rate>>>, queue: Q) -> Bottleneck<P, Q> {
        Bottleneck {
            line: rate.map(|rate| Serialiser::new(rate.into())),
            queue,
            began: Instant::ZERO,
            framed: 0,
            ends: None,
            occupancy: Occupancy::default(),
            lengths: Lengths::default(),
            filters: false,
            framing: Framing::NONE,
            gated: false,
            given_up: Count::default(),
            packet: std::marker::PhantomData,
        }
    }

    /// Each packet in such a frame.
    #[must_use]
    pub fn with_framing(self, framing: Framing) -> Bottleneck<P, Q> {
        Bottleneck { framing, ..self }
    }

    /// As [`Link::gate`](super::Link::gate).
    pub(super) fn gate(&mut self) {
        self.gated = true;
    }

    /// As [`Link::asks`](super::Link::asks).
    #[inline]
    pub(super) fn asks(&self) -> bool {
        self.ends.is_none() && self.queue.held().packets > 0
    }

    /// As [`Link::grant`](super::Link::grant).
    pub(super) fn grant(&mut self, now: Instant) -> Option<Instant> {
        if self.ends.is_none() {
            self.begin(now);
            // A discipline that drops at the head may have done so.
            self.note_held(now);
        }
        self.ends
    }

    /// As [`Link::give_up`](super::Link::give_up).
    pub(super) fn give_up(&mut self, now: Instant) {
        if self.ends.is_none() && self.queue.head(now).is_some() {
            if let Some(packet) = self.queue.dequeue(now) {
                self.given_up.add(&packet);
            }
            self.note_held(now);
        }
    }

    /// Packets and bytes in the buffer, the one being sent included.
    pub fn queued(&self) -> Count {
        self.queue.held()
    }

    /// As [`Link::set_rate`](super::Link::set_rate).
    pub(super) fn set_rate(&mut self, now: Instant, rate: Option<Varying<Rate>>) {
        let mut line = rate.map(Serialiser::new);
        if let Some(ends) = self.ends {
            let again = match &mut line {
                Some(line) => {
                    line.restart(now);
                    line.send(self.framed)
                }
                None => now,
            };
            self.ends = Some(ends.min(again));
            if let Some(line) = line.as_mut().filter(|_| ends < again) {
                line.restart(ends);
            }
        }
        self.line = line;
    }

    /// When the last bit of a packet of this length leaves, if it comes at `now` and the line is
    /// idle.
    pub(super) fn end_if_idle(&self, now: Instant, wire_len: u64) -> Instant {
        let Some(mut line) = self.line.clone() else { return now };
        line.restart(now);
        line.send(self.framing.framed(wire_len))
    }

    /// As [`Link::filter_superseded`](super::Link::filter_superseded).
    pub(super) fn filter_superseded(&mut self) {
        self.filters = true;
    }

    /// How full the buffer has been, up to the last event.
    pub fn occupancy(&self) -> Occupancy {
        self.occupancy
    }

    /// For how long it has had which length, as of `now` if nothing has changed since the last
    /// event; nothing of a line without a rate.
    pub fn lengths(&self, now: Instant) -> Lengths {
        let mut lengths = self.lengths.clone();
        if self.line.is_some() {
            let (held, nanos) = { self.occupancy }.set(now, Count::default());
            lengths.add(held, nanos);
        }
        lengths
    }

    /// The queue may have changed at `now`. Twice for each packet: a call would cost as much as
    /// what it does.
    #[inline(always)]
    fn note_held(&mut self, now: Instant) {
        let (before, nanos) = self.occupancy.set(now, self.queue.held());
        if self.line.is_some() {
            self.lengths.add(before, nanos);
        }
    }

    /// Packets and bytes that the queue has dropped, or that did not get the medium.
    pub fn dropped(&self) -> Count {
        self.queue.dropped() + self.given_up
    }

    /// Packets and bytes that the queue has marked.
    pub fn marked(&self) -> Count {
        self.queue.marked()
    }

    /// The queueing discipline.
    pub fn queue(&self) -> &Q {
        &self.queue
    }

    /// The next packet whose last bit has left by `now`, and when it was sent.
    #[inline]
    pub(super) fn pop_sent(&mut self, now: Instant) -> Option<(Transmission, P)> {
        let ended = self.ends.filter(|&ends| ends <= now && ends < Instant::FAR_FUTURE)?;
        let packet = self.queue.dequeue(ended)?;
        let sent = Transmission { began: self.began, ended, wire_len: self.framed };
        if self.gated {
            self.ends = None;
        } else {
            self.start(ended);
        }
        self.note_held(ended);
        Some((sent, packet))
    }

    /// Starts a busy period at `now`.
    fn begin(&mut self, now: Instant) {
        if let Some(line) = &mut self.line {
            line.restart(now);
        }
        self.start(now);
    }

    /// Starts on the queue's head at `now`, if there is one.
    #[inline]
    fn start(&mut self, now: Instant) {
        self.began = now;
        self.ends = self.queue.head(now).map(|packet| {
            self.framed = self.framing.framed(packet.wire_len());
            match &mut self.line {
                Some(line) => line.send(self.framed),
                None => now,
            }
        });
    }
}

impl<P: LinkPacket, Q: Queue<P>> Element<P> for Bottleneck<P, Q> {
    #[inline]
    fn push(&mut self, now: Instant, packet: P) {
        if self.filters {
            // What is being sent goes on.
            self.queue.drop_superseded(&packet, usize::from(self.ends.is_some()));
            self.note_held(now);
        }
        let urgent = packet.urgent();
        if self.queue.enqueue(now, packet).is_ok() {
            if urgent {
                self.queue.bring_forward(usize::from(self.ends.is_some()));
            }
            if self.ends.is_none() && !self.gated {
                self.begin(now);
            }
            self.note_held(now);
        }
    }

    fn pop(&mut self, now: Instant) -> Option<(Instant, P)> {
        self.pop_sent(now).map(|(sent, packet)| (sent.ended, packet))
    }

    #[inline]
    fn next(&self) -> Option<Instant> {
        // At rate zero a packet never ends.
        self.ends.filter(|&ends| ends < Instant::FAR_FUTURE)
    }
}
