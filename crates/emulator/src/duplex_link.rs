//! Both directions of an emulated link, which may share a medium.
//!
//! Like a [`Direction`] it has no clock and does no I/O. What happens on a medium happens at its
//! exact moment, however late it is asked for: turns are taken up to each packet that comes, and up
//! to each look at what has left.

use crate::datagram::Datagram;
use bentpipe_core::link::{LinkConfig, Medium};
use bentpipe_core::time::{Instant, earliest};
use bentpipe_links::{Direction, DirectionConfig, LiveLink};

/// The configuration of both directions.
#[derive(Debug)]
pub struct DuplexLinkConfig {
    /// Each direction.
    pub directions: [DirectionConfig; 2],
    /// What both share; then direction *i* is its line *i*.
    pub medium: Option<Medium>,
}

impl DuplexLinkConfig {
    /// The forward direction second.
    #[must_use]
    pub fn back_first(mut self) -> DuplexLinkConfig {
        self.directions.reverse();
        self
    }
}

impl From<LinkConfig> for DuplexLinkConfig {
    /// The same link in each direction, without impairments.
    fn from(link: LinkConfig) -> DuplexLinkConfig {
        DuplexLinkConfig { directions: [link.clone().into(), link.into()], medium: None }
    }
}

impl From<&LiveLink> for DuplexLinkConfig {
    fn from(link: &LiveLink) -> DuplexLinkConfig {
        DuplexLinkConfig { directions: link.configs(), medium: link.medium() }
    }
}

/// Both directions.
#[derive(Debug)]
pub(crate) struct DuplexLink {
    directions: [Direction<Datagram>; 2],
    medium: Option<Medium>,
    /// Up to when turns have been taken.
    turned: Instant,
}

impl DuplexLink {
    pub(crate) fn new(DuplexLinkConfig { directions, medium }: DuplexLinkConfig) -> DuplexLink {
        let mut directions = directions.map(Direction::new);
        if let Some(medium) = &medium {
            medium.lines().for_each(|line| directions[line].gate());
        }
        DuplexLink { directions, medium, turned: Instant::ZERO }
    }

    /// Each direction.
    pub(crate) fn both(&self) -> &[Direction<Datagram>; 2] {
        &self.directions
    }

    /// Each direction, to be changed. Packets are offered through [`push`](DuplexLink::push).
    pub(crate) fn both_mut(&mut self) -> &mut [Direction<Datagram>; 2] {
        &mut self.directions
    }

    /// Offers `packet` to direction `side` at `now`.
    pub(crate) fn push(&mut self, side: usize, now: Instant, packet: Datagram) {
        self.advance(now);
        self.directions[side].push(now, packet);
        // If the medium is free, the packet is being sent.
        self.advance(now);
    }

    /// When to [advance](DuplexLink::advance) and look next.
    pub(crate) fn next(&self) -> Option<Instant> {
        let arrival = self.directions.iter().filter_map(Direction::next).min();
        earliest(arrival, self.next_turn())
    }

    /// Lets happen on a shared medium what does by `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        // Either direction hears of the time apart from the other.
        while let Some(next) = self.next_turn().filter(|next| *next <= now) {
            self.turned = next;
            if let Some(medium) = &mut self.medium {
                medium.take_turn(next, &mut self.directions);
            }
        }
        self.turned = self.turned.max(now);
    }

    /// When something happens on the medium next. No line begins before what has been looked at.
    fn next_turn(&self) -> Option<Instant> {
        let next = self.medium.as_ref()?.next(self.turned, &self.directions)?;
        Some(next.max(self.turned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::time::Duration;
    use bentpipe_links::{Directions, LinkSettings};

    fn duplex_link(settings: &str) -> DuplexLink {
        let mut link = LinkSettings::default();
        link.add(Directions::Both, "test", settings).unwrap();
        let none = |_: &str| Err("no files".to_owned());
        DuplexLink::new(DuplexLinkConfig::from(
            &link.read(&none, 7, Duration::from_secs(60)).unwrap(),
        ))
    }

    /// When packets of 1250 bytes left, `each` of which came to each side at once, if the loop
    /// looks every `look`.
    fn departures(settings: &str, each: usize, look: Duration) -> [Vec<Instant>; 2] {
        let mut link = duplex_link(settings);
        for side in [0, 1] {
            for _ in 0..each {
                link.push(side, Instant::from_millis(1), Datagram::from(vec![0; 1250]));
            }
        }
        let mut left = [Vec::new(), Vec::new()];
        let mut now = Instant::from_millis(1);
        while left.iter().map(Vec::len).sum::<usize>() < 2 * each {
            now += look;
            link.advance(now);
            for (side, left) in left.iter_mut().enumerate() {
                left.extend(
                    std::iter::from_fn(|| link.both_mut()[side].pop(now)).map(|(at, _)| at),
                );
            }
        }
        left
    }

    #[test]
    fn on_a_medium_one_sends_at_a_time() {
        let packet = Duration::from_millis(1);
        let alone = departures("rate=10Mbit/s", 100, packet);
        assert_eq!(alone[0], alone[1]);
        let [down, up] = departures("rate=10Mbit/s,medium=wire", 100, packet);
        let mut all: Vec<Instant> = down.iter().chain(&up).copied().collect();
        all.sort_unstable();
        let apart = all.windows(2).map(|pair| pair[1].saturating_since(pair[0]));
        assert!(apart.min() >= Some(packet), "{all:?}");
        // Collisions take a slot of 51.2 µs. Who has lost to the other again and again waits up to
        // 1023 of them, 52 ms.
        let span = all[199].saturating_since(Instant::from_millis(1)).as_secs_f64();
        assert!((0.201..0.270).contains(&span), "{span}");
    }

    #[test]
    fn a_late_look_changes_no_moment() {
        let of = |look| departures("rate=10Mbit/s,medium=wire,delay=3ms", 50, look);
        assert_eq!(of(Duration::from_micros(10)), of(Duration::from_millis(40)));
    }

    #[test]
    fn what_comes_to_a_free_medium_is_sent_at_once() {
        let mut link = duplex_link("rate=10Mbit/s,medium=wire");
        for (side, ms) in [(0, 5), (1, 20), (0, 30)] {
            let now = Instant::from_millis(ms);
            link.push(side, now, Datagram::from(vec![0; 1250]));
            assert_eq!(link.next(), Some(Instant::from_millis(ms + 1)));
            let left = Instant::from_millis(ms + 1);
            link.advance(left);
            assert_eq!(link.both_mut()[side].pop(left).map(|(at, _)| at), Some(left));
        }
        assert_eq!(link.next(), None);
    }
}
