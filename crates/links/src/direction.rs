//! One direction of a link: a [`Link`], the impairments behind it, and the packets that are on
//! their way.
//!
//! ```text
//! push → Link → impairments → arrivals, by their moments → pop
//! ```
//!
//! The simulator and the emulator run the same direction: on packets as structs in virtual time,
//! and on real packets in real time. It has no clock and does no I/O. Events have their exact
//! moments, however late they are asked for.

mod config;
#[cfg(test)]
mod tests;

pub use config::{DirectionChange, DirectionConfig};

use crate::impaired::{Fate, Impaired};
use bentpipe_core::link::{Count, Counters, GatedLine, Link, LinkPacket, Losses};
use bentpipe_core::time::{Instant, earliest};
use std::collections::BTreeMap;

/// A packet that impairments can double and damage.
pub trait DirectionPacket: LinkPacket + Clone {
    /// Turns over the bit at this part of the packet's length, 0 to 1.
    ///
    /// # Errors
    /// The packet as it was, if a checksum is looked at where it would arrive: it is lost there.
    fn damage(self, place: f64) -> Result<Self, Self>;

    /// Whether the packet arrives damaged; it counts as lost.
    fn is_damaged(&self) -> bool;

    /// A moment before which the packet does not arrive.
    fn not_before(&self) -> Instant {
        Instant::ZERO
    }
}

impl<P: DirectionPacket> DirectionPacket for Box<P> {
    fn damage(self, place: f64) -> Result<Box<P>, Box<P>> {
        (*self).damage(place).map(Box::new).map_err(Box::new)
    }

    #[inline]
    fn is_damaged(&self) -> bool {
        (**self).is_damaged()
    }

    #[inline]
    fn not_before(&self) -> Instant {
        (**self).not_before()
    }
}

/// One direction of a link that carries packets of type `P`.
#[derive(Debug)]
pub struct Direction<P> {
    link: Link<P>,
    impaired: Option<Impaired>,
    /// Behind the link, by the moment of arrival; of one moment, as they came.
    arrivals: BTreeMap<(Instant, u64), P>,
    numbered: u64,
    /// When the latest packet has left the link: others do not leave before it.
    left: Instant,
    /// Damaged packets arrive.
    tells: bool,
    /// Discarded packets, if somebody wants to know.
    discarded_packets: Option<Vec<P>>,
    impairments: ImpairmentCounts,
}

/// What impairments have done, and what has passed them.
#[derive(Debug, Clone, Copy, Default)]
struct ImpairmentCounts {
    /// Came from the link.
    came: Count,
    /// Damaged, and discarded where they would have arrived.
    discarded: Count,
    /// Damaged, and passed on.
    damaged: Count,
    duplicated: Count,
    /// Went on.
    arrived: Count,
}

impl<P: DirectionPacket> Direction<P> {
    /// A direction as `config` says, with nothing inside.
    pub fn new(config: DirectionConfig) -> Direction<P> {
        let DirectionConfig { link, impaired, tells_losses } = config;
        let mut link = Link::new(&link);
        if tells_losses {
            link.tell_losses();
        }
        Direction {
            link,
            impaired,
            arrivals: BTreeMap::new(),
            numbered: 0,
            left: Instant::ZERO,
            tells: tells_losses,
            discarded_packets: None,
            impairments: ImpairmentCounts::default(),
        }
    }

    /// Offers `packet` at `now`.
    pub fn push(&mut self, now: Instant, packet: P) {
        self.link.push(now, packet);
    }

    /// The next packet that has arrived by `now`, and when it did.
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, P)> {
        while let Some((at, packet)) = self.link.pop_with_time(now) {
            self.left = at.max(packet.not_before()).max(self.left);
            // Mostly nothing is behind the link.
            if self.impaired.is_none() && self.arrivals.is_empty() && self.left <= now {
                self.note_damage(&packet);
                return Some((self.left, packet));
            }
            self.impair(self.left, packet);
        }
        let first = self.arrivals.first_entry().filter(|first| first.key().0 <= now)?;
        let ((at, _), packet) = first.remove_entry();
        self.impairments.arrived.add(&packet);
        Some((at, packet))
    }

    /// When to call [`pop`](Direction::pop) next: no packet arrives earlier.
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        let next = self.link.next();
        // Mostly nothing is behind the link.
        if self.arrivals.is_empty() { next } else { earliest(next, self.next_arrival()) }
    }

    fn next_arrival(&self) -> Option<Instant> {
        self.arrivals.first_key_value().map(|((at, _), _)| *at)
    }

    /// Puts a packet that has left the link at `at` among the arrivals, impaired.
    fn impair(&mut self, at: Instant, mut packet: P) {
        self.impairments.came.add(&packet);
        let fate = match &mut self.impaired {
            Some(impaired) => impaired.fate(at),
            None => Fate { at, twice: false, flip: None },
        };
        if let Some(place) = fate.flip {
            packet = match packet.damage(place) {
                Ok(packet) => packet,
                Err(mut packet) => match self.tells && packet.mark_damaged() {
                    true => packet,
                    false => return self.discard(packet),
                },
            };
        }
        self.note_damage(&packet);
        if fate.twice {
            self.impairments.duplicated.add(&packet);
            self.arrive(fate.at, packet.clone());
        }
        self.arrive(fate.at, packet);
    }

    fn arrive(&mut self, at: Instant, packet: P) {
        self.arrivals.insert((at, self.numbered), packet);
        self.numbered += 1;
    }

    fn discard(&mut self, packet: P) {
        self.impairments.discarded.add(&packet);
        if let Some(discarded) = &mut self.discarded_packets {
            discarded.push(packet);
        }
    }

    #[inline]
    fn note_damage(&mut self, packet: &P) {
        if packet.is_damaged() {
            self.impairments.damaged.add(packet);
        }
    }

    /// Keeps from now on what is lost behind the queue, for [`take_lost`](Direction::take_lost).
    pub fn keep_lost(&mut self) {
        self.link.keep_lost();
        self.discarded_packets = Some(Vec::new());
    }

    /// A packet that was lost behind the queue: by the link, or damaged and discarded.
    pub fn take_lost(&mut self) -> Option<P> {
        self.link.take_lost().or_else(|| self.discarded_packets.as_mut()?.pop())
    }

    /// Says that there is such a packet.
    #[inline]
    pub fn has_lost(&self) -> bool {
        let discarded = self.discarded_packets.as_ref();
        self.link.has_lost() || discarded.is_some_and(|packets| !packets.is_empty())
    }

    /// The earliest arrival of `packet`, read at `read` and taken to have come at `taken`. It may
    /// have come just when it was read, whatever the line makes up for.
    pub fn earliest_arrival(&self, (taken, read): (Instant, Instant), packet: &P) -> Instant {
        if taken < read { self.link.earliest_arrival(read, packet.wire_len()) } else { taken }
    }

    /// Goes on as `change` says from `now` on. Packets inside stay, and arrive when they were to.
    pub fn change(&mut self, now: Instant, change: DirectionChange) {
        let DirectionChange { config, rate, delay, losses, impairments } = change;
        if losses {
            self.link.set_losses(now, Losses::new(&config.link));
        }
        if rate {
            self.link.set_rate(now, config.link.rate);
        }
        if delay {
            self.link.set_delay(now, config.link.delay);
        }
        if impairments {
            self.impaired = config.impaired;
        }
    }

    /// Removes from the queue what newer packets supersede: [`Link::filter_superseded`].
    pub fn filter_superseded(&mut self) {
        self.link.filter_superseded();
    }

    /// Sends from now on only what it is granted, as it shares a medium: [`Link::gate`].
    pub fn gate(&mut self) {
        self.link.gate();
    }

    /// Lets everything happen inside the link that does by `now`: [`Link::advance`].
    pub fn advance(&mut self, now: Instant) {
        self.link.advance(now);
    }

    /// The link, as of the last call.
    pub fn link(&self) -> &Link<P> {
        &self.link
    }

    /// The counters of the packets so far. A damaged packet counts as lost. A packet that is
    /// held up behind the link has been delivered, and one that arrives twice counts once.
    pub fn counters(&self) -> Counters {
        let counters = self.link.counters();
        let lost = self.impairments.damaged + self.impairments.discarded;
        Counters { lost: counters.lost + lost, delivered: counters.delivered - lost, ..counters }
    }

    /// Packets that arrive twice.
    pub fn duplicated(&self) -> Count {
        self.impairments.duplicated
    }

    /// Packets that arrive damaged.
    pub fn damaged(&self) -> Count {
        self.impairments.damaged
    }

    /// The packets inside altogether: in the link, and behind it.
    pub fn inside(&self) -> Count {
        self.link.inside() + self.behind()
    }

    /// What has left the link and has not arrived.
    fn behind(&self) -> Count {
        let mut count = Count::default();
        self.arrivals.values().for_each(|packet| count.add(packet));
        count
    }

    /// Checks that what was offered is dropped, lost, inside or has come out: packets and bytes.
    /// Duplicates are counted as offered twice.
    ///
    /// # Errors
    /// The part that does not add up.
    pub fn check(&self) -> Result<(), String> {
        let Counters { offered, dropped, lost, delivered, .. } = self.link.counters();
        let inside = self.link.inside();
        if offered != dropped + lost + delivered + inside {
            return Err(format!(
                "offered {offered:?}, but dropped {dropped:?}, lost {lost:?}, inside {inside:?}, \
                 delivered {delivered:?}"
            ));
        }
        let ImpairmentCounts { came, discarded, damaged: _, duplicated, arrived } =
            self.impairments;
        let behind = self.behind();
        if came + duplicated != discarded + behind + arrived {
            return Err(format!(
                "came {came:?} and duplicated {duplicated:?}, but discarded {discarded:?}, behind \
                 {behind:?}, arrived {arrived:?}"
            ));
        }
        Ok(())
    }
}

impl<P: DirectionPacket> GatedLine for Direction<P> {
    fn advance(&mut self, now: Instant) {
        self.link.advance(now);
    }

    fn asks(&self) -> bool {
        self.link.asks()
    }

    fn grant(&mut self, now: Instant) -> Option<Instant> {
        self.link.grant(now)
    }

    fn give_up(&mut self, now: Instant) {
        self.link.give_up(now);
    }
}
