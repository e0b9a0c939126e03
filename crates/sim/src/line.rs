//! One direction of a cable between two nodes: a [`Link`] and the faults behind it.

use crate::packet::Packet;
use bentpipe_core::link::{Link, LinkConfig};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Probability;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use std::ops::Range;

/// What else befalls packets, apart from the link's own losses.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Faults {
    /// A packet arrives twice.
    pub duplicate: Probability,
    /// A packet is held up, by up to `jitter`, so that others overtake it.
    pub reorder: Probability,
    /// How long it is held up at most.
    pub jitter: Duration,
    /// One bit of a packet is turned over; checksums find it, or it does not matter.
    pub corrupt: Probability,
    /// While this lasts nothing arrives.
    pub outages: Vec<Range<Instant>>,
}

/// A link with faults.
#[derive(Debug)]
pub struct Line {
    link: Link<Packet>,
    faults: Faults,
    rng: Pcg64Mcg,
    arrivals: BTreeMap<(Instant, u64), Packet>,
    numbered: u64,
}

impl Line {
    /// A line like `link`, whose seed also draws the faults.
    pub fn new(link: &LinkConfig, faults: Faults) -> Line {
        let rng = Pcg64Mcg::seed_from_u64(link.seed ^ 0x6c69_6e65);
        Line { link: Link::new(link), faults, rng, arrivals: BTreeMap::new(), numbered: 0 }
    }

    /// The link.
    pub fn link(&self) -> &Link<Packet> {
        &self.link
    }

    pub(crate) fn push(&mut self, now: Instant, packet: Packet) {
        self.link.push(now, packet);
    }

    /// The next packet that has arrived by `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Packet> {
        while let Some((at, packet)) = self.link.pop_with_time(now) {
            self.suffer(at, &packet);
        }
        let (&(at, _), _) = self.arrivals.first_key_value()?;
        if at > now {
            return None;
        }
        self.arrivals.pop_first().map(|(_, packet)| packet)
    }

    /// When to call [`Line::pop`] next.
    pub(crate) fn next(&self) -> Option<Instant> {
        let held = self.arrivals.first_key_value().map(|(&(at, _), _)| at);
        self.link.next().into_iter().chain(held).min()
    }

    fn chance(&mut self, probability: Probability) -> bool {
        self.rng.random::<f64>() < probability.value()
    }

    fn suffer(&mut self, at: Instant, packet: &Packet) {
        if self.faults.outages.iter().any(|outage| outage.contains(&at)) {
            return;
        }
        let copies = 1 + usize::from(self.chance(self.faults.duplicate));
        for _ in 0..copies {
            let Some(packet) = self.across_the_wire(packet) else { continue };
            let mut at = at;
            if self.chance(self.faults.reorder) {
                at += self.faults.jitter.mul_f64(self.rng.random());
            }
            self.arrivals.insert((at, self.numbered), packet);
            self.numbered += 1;
        }
    }

    /// The packet as it comes out of its own bytes; None if checksums reject it.
    fn across_the_wire(&mut self, packet: &Packet) -> Option<Packet> {
        let mut bytes = packet.to_bytes();
        if self.chance(self.faults.corrupt) {
            let bit = self.rng.random_range(0..bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            let back = Packet::from_bytes(&bytes).ok()?;
            assert_eq!((&back.tcp, &back.payload), (&packet.tcp, &packet.payload), "bit {bit}");
            return Some(back);
        }
        let back = Packet::from_bytes(&bytes).expect("what we write we can read");
        assert_eq!(&back, packet, "a round trip through bytes");
        Some(back)
    }
}
