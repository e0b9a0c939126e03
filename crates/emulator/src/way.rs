//! One direction of a link on real packets: the core's link, and what befalls packets behind it.
//!
//! It has no clock and does no I/O: the emulator tells it the time.

use crate::datagram::Datagram;
use bentpipe_core::link::{
    Count, Counters, GatedLine, Link, LinkConfig, LinkPacket as _, Losses, Medium, Occupancy,
};
use bentpipe_core::time::{Instant, earliest};
use bentpipe_links::{Fate, Impaired, LiveLink};
use std::collections::{BTreeMap, VecDeque};

/// What one direction is made of: the link, and jitter, reordering, duplicates and damage, if there are any.
pub type WayParts = (LinkConfig, Option<Impaired>);

/// What both directions are made of, and what they share, if it is a medium: then direction *i* is its line *i*.
#[derive(Debug)]
pub struct LinkParts {
    /// Each direction.
    pub ways: [WayParts; 2],
    /// What both share.
    pub medium: Option<Medium>,
}

impl LinkParts {
    /// The forward direction second.
    #[must_use]
    pub fn back_first(mut self) -> LinkParts {
        self.ways.reverse();
        self
    }
}

impl From<[WayParts; 2]> for LinkParts {
    fn from(ways: [WayParts; 2]) -> LinkParts {
        LinkParts { ways, medium: None }
    }
}

impl From<&LiveLink> for LinkParts {
    fn from(link: &LiveLink) -> LinkParts {
        LinkParts { ways: link.parts(), medium: link.medium() }
    }
}

/// What one direction is to be from now on.
#[derive(Debug)]
pub struct WayChange {
    /// Parts as they are to be; of the link's only those below are taken.
    pub parts: WayParts,
    /// The rate.
    pub rate: bool,
    /// The delay.
    pub delay: bool,
    /// Losses, bit errors and outages.
    pub losses: bool,
    /// Jitter, reordering, duplicates and damage.
    pub impairments: bool,
}

/// Packets on their way, and what has become of the others.
#[derive(Debug)]
pub(crate) struct Way {
    link: Link<Datagram>,
    /// What has left the link and is not to arrive [yet](Datagram::earliest).
    held_back: VecDeque<(Instant, Datagram)>,
    impaired: Option<Impaired>,
    /// Behind the link, by the moment of arrival.
    arrivals: BTreeMap<(Instant, u64), Datagram>,
    numbered: u64,
    /// Packets of which a bit was turned over: they are passed on, and discarded where a checksum is looked at.
    damaged: Count,
    duplicated: Count,
}

impl Way {
    pub(crate) fn new((config, impaired): WayParts) -> Way {
        Way {
            link: Link::new(&config),
            held_back: VecDeque::new(),
            impaired,
            arrivals: BTreeMap::new(),
            numbered: 0,
            damaged: Count::default(),
            duplicated: Count::default(),
        }
    }

    /// Sends from now on only what it is granted: it shares a medium.
    pub(crate) fn gate(&mut self) {
        self.link.gate();
    }

    /// Keeps what the link loses from now on, for [`take_lost`](Way::take_lost).
    pub(crate) fn keep_lost(&mut self) {
        self.link.keep_lost();
    }

    /// A packet that the line has lost.
    pub(crate) fn take_lost(&mut self) -> Option<Datagram> {
        self.link.take_lost()
    }

    /// What is in the queue, as of `now`.
    pub(crate) fn queued(&mut self, now: Instant) -> Count {
        self.link.advance(now);
        self.link.queued()
    }

    /// Offers `packet` at `now`.
    pub(crate) fn push(&mut self, now: Instant, packet: Datagram) {
        self.link.push(now, packet);
    }

    /// Before when `packet` does not arrive that is taken to have come at some moment, and was `read` at another: it may
    /// have come just then, whatever its line makes up for.
    pub(crate) fn earliest_arrival(
        &self,
        (taken, read): (Instant, Instant),
        packet: &Datagram,
    ) -> Instant {
        if taken < read { self.link.earliest_arrival(read, packet.wire_len()) } else { taken }
    }

    /// The next packet that has arrived by `now`, and when it was to.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, Datagram)> {
        let impaired = match &mut self.impaired {
            Some(impaired) => impaired,
            // What was held up by impairments that are none any more comes first.
            None => match self.arrivals.first_key_value() {
                Some(((at, _), _)) if *at <= now => return self.arrived(now),
                _ => return leave(&mut self.link, &mut self.held_back, now),
            },
        };
        while let Some((at, mut packet)) = leave(&mut self.link, &mut self.held_back, now) {
            let Fate { at, twice, flip } = impaired.fate(at);
            if let Some(place) = flip {
                self.damaged.add(&packet);
                packet.damage(place);
            }
            if twice {
                self.duplicated.add(&packet);
                self.arrivals.insert((at, self.numbered), packet.clone());
                self.numbered += 1;
            }
            self.arrivals.insert((at, self.numbered), packet);
            self.numbered += 1;
        }
        self.arrived(now)
    }

    /// The next packet behind the link that has arrived by `now`.
    fn arrived(&mut self, now: Instant) -> Option<(Instant, Datagram)> {
        let first = self.arrivals.first_entry().filter(|first| first.key().0 <= now)?;
        let ((at, _), packet) = first.remove_entry();
        Some((at, packet))
    }

    /// When to call [`pop`](Way::pop) next.
    pub(crate) fn next(&self) -> Option<Instant> {
        let held_back = self.held_back.front().map(|(at, _)| *at);
        let arrival = self.arrivals.first_key_value().map(|((at, _), _)| *at);
        earliest(self.link.next(), earliest(held_back, arrival))
    }

    /// What has become of the packets so far. What was damaged counts as lost, as in the simulator.
    pub(crate) fn counters(&self) -> Counters {
        let counters = self.link.counters();
        Counters {
            lost: counters.lost + self.damaged,
            delivered: counters.delivered - self.damaged,
            ..counters
        }
    }

    /// Packets that arrived twice.
    pub(crate) fn duplicated(&self) -> Count {
        self.duplicated
    }

    /// Packets of which a bit was turned over.
    pub(crate) fn damaged(&self) -> Count {
        self.damaged
    }

    /// Goes on as `change` says. What is inside stays, and arrives when it was to.
    pub(crate) fn change(&mut self, now: Instant, change: WayChange) {
        let (config, impaired) = change.parts;
        if change.losses {
            self.link.set_losses(now, Losses::new(&config));
        }
        if change.rate {
            self.link.set_rate(now, config.rate);
        }
        if change.delay {
            self.link.set_delay(now, config.delay);
        }
        if change.impairments {
            self.impaired = impaired;
        }
    }

    /// What is in the queue at `now`, and what is inside altogether.
    pub(crate) fn held(&mut self, now: Instant) -> (Count, Count) {
        self.link.advance(now);
        let held_back = self.held_back.iter().map(|(_, packet)| packet);
        let behind =
            held_back.chain(self.arrivals.values()).fold(Count::default(), |mut count, packet| {
                count.add(packet);
                count
            });
        (self.link.queued(), self.link.inside() + behind)
    }

    /// How full the queue has been up to `now`.
    pub(crate) fn occupancy(&mut self, now: Instant) -> Occupancy {
        self.link.advance(now);
        self.link.bottleneck().occupancy().at(now)
    }
}

/// The next packet that has left the link by `now` and may arrive, in the order in which they left, and when it was to.
fn leave(
    link: &mut Link<Datagram>,
    held_back: &mut VecDeque<(Instant, Datagram)>,
    now: Instant,
) -> Option<(Instant, Datagram)> {
    while let Some((at, packet)) = link.pop_with_time(now) {
        let at = at.max(packet.earliest);
        match held_back.back() {
            None if at <= now => return Some((at, packet)),
            before => {
                let at = before.map_or(at, |(before, _)| at.max(*before));
                held_back.push_back((at, packet));
            }
        }
    }
    held_back.front().filter(|(at, _)| *at <= now)?;
    held_back.pop_front()
}

impl GatedLine for Way {
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

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::time::Duration;
    use bentpipe_links::{LinkSettings, Way as Setting};

    /// What arrives of 1000 UDP packets, a millisecond apart: number, moment, and whether its bytes are whole.
    fn arrivals(settings: &str) -> (Vec<(u16, Instant, bool)>, Way) {
        let mut link = LinkSettings::default();
        link.add(Setting::Both, "test", settings).unwrap();
        let none = |_: &str| Err("no files".to_owned());
        let link = link.read(&none, 7, Duration::from_secs(60)).unwrap();
        let [forward, _] = link.parts();
        let mut way = Way::new(forward);
        let mut all = Vec::new();
        let mut drain = |way: &mut Way, now: Instant| {
            while let Some((at, packet)) = way.pop(now) {
                let number = u16::from_be_bytes([packet.ip.bytes[4], packet.ip.bytes[5]]);
                all.push((number, at, packet == datagram(number)));
            }
        };
        for number in 0..1000 {
            let now = Instant::ZERO + Duration::from_millis(u64::from(number));
            drain(&mut way, now);
            way.push(now, datagram(number));
        }
        while let Some(next) = way.next() {
            drain(&mut way, next);
        }
        (all, way)
    }

    fn datagram(number: u16) -> Datagram {
        let mut packet = vec![0x45, 0, 0, 48, 0, 0, 0x40, 0, 64, 17, 0, 0];
        packet[4..6].copy_from_slice(&number.to_be_bytes());
        packet.extend([10, 0, 0, 1, 10, 0, 0, 2, 1, 2, 3, 4, 0, 28, 9, 9]);
        packet.resize(48, 0xa5);
        Datagram::from(packet)
    }

    #[test]
    fn a_plain_way_changes_nothing() {
        let (all, way) = arrivals("delay=5ms");
        assert_eq!(all.len(), 1000);
        assert!(all.iter().enumerate().all(|(i, (number, at, whole))| {
            let expected = Duration::from_millis(i as u64 + 5);
            usize::from(*number) == i && *whole && at.saturating_since(Instant::ZERO) == expected
        }));
        assert_eq!(way.counters().delivered.packets, 1000);
    }

    #[test]
    fn some_arrive_twice() {
        let (all, way) = arrivals("duplicate=10%");
        let twice = way.duplicated().packets;
        assert_eq!(all.len() as u64, 1000 + twice);
        assert!((60..140).contains(&twice), "{twice}");
    }

    #[test]
    fn damage_is_behind_the_ip_header_and_counts_as_lost() {
        let (all, way) = arrivals("corrupt=10%");
        // The number is in the IP header: each is there once.
        assert!(all.iter().enumerate().all(|(i, (number, ..))| usize::from(*number) == i));
        let broken = all.iter().filter(|(.., whole)| !whole).count() as u64;
        assert_eq!(way.damaged().packets, broken);
        assert_eq!(way.counters().lost.packets, broken);
        assert_eq!(way.counters().delivered.packets, 1000 - broken);
        assert!((60..140).contains(&broken), "{broken}");
    }

    #[test]
    fn a_way_that_changes_keeps_what_is_inside() {
        let link = |text: &str| {
            let mut settings = LinkSettings::default();
            settings.add(Setting::Both, "test", text).unwrap();
            let none = |_: &str| Err("no files".to_owned());
            settings
                .read(&none, 7, Duration::from_secs(60))
                .unwrap()
                .parts()
                .into_iter()
                .next()
                .unwrap()
        };
        let ms = Instant::from_millis;
        // 48 bytes are 1 ms.
        let mut way = Way::new(link("rate=384kbit/s,delay=10ms"));
        (0..4).for_each(|number| way.push(ms(0), datagram(number)));
        let parts = link("rate=192kbit/s,delay=20ms");
        let change =
            WayChange { parts, rate: true, delay: true, losses: false, impairments: false };
        way.change(Instant::from_nanos(1_500_000), change);
        assert_eq!(way.held(ms(1)).1.packets, 4);
        let mut arrivals = Vec::new();
        while let Some(next) = way.next() {
            arrivals.extend(std::iter::from_fn(|| way.pop(next)).map(|(at, _)| at));
        }
        // The second was being sent, and goes on as it began; the others take 2 ms each.
        assert_eq!(arrivals, [ms(11), ms(22), ms(24), ms(26)]);
    }

    #[test]
    fn some_are_overtaken_and_jitter_keeps_the_order() {
        let (all, _) = arrivals("reorder=5%,reorder-by=10ms");
        assert!(all.windows(2).any(|pair| pair[0].0 > pair[1].0));
        let (all, _) = arrivals("jitter={ uniform = [\"0ms\", \"20ms\"] }");
        assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let late = all.iter().filter(|(number, at, _)| {
            *at > Instant::ZERO + Duration::from_millis(u64::from(*number) + 10)
        });
        assert!(late.count() > 300);
    }
}
