//! Faults behind a line: duplicates, reordering, wrong bits, outages, and packets that go through
//! bytes.

use crate::damage::through_bytes;
use crate::line::{Behind, Line};
use crate::packet::Packet;
use bentpipe_core::link::{Count, LinkConfig};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Probability;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use std::ops::Range;

/// The faults of packets, apart from the link's own losses.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Faults {
    /// A packet arrives twice.
    pub duplicate: Probability,
    /// A packet is held up, by up to `jitter`, so that others overtake it.
    pub reorder: Probability,
    /// The longest time for which it is held up.
    pub jitter: Duration,
    /// One bit of a packet is turned over; checksums find it, or it does not matter.
    pub corrupt: Probability,
    /// While this lasts nothing arrives.
    pub outages: Vec<Range<Instant>>,
    /// Every TCP packet is written as bytes and read back, and must come out as it went in.
    pub through_bytes: bool,
}

impl Faults {
    /// A line like `link` with these faults, which its seed draws.
    #[must_use]
    pub fn line(&self, link: &LinkConfig) -> Line {
        let line = Line::new(link);
        match self.any() {
            true => line.followed_by(FaultyEnd::new(self.clone(), link.seed)),
            false => line,
        }
    }

    /// Whether packets may arrive in other ways than the link alone decides.
    fn any(&self) -> bool {
        let likely = |probability: Probability| probability.value() > 0.0;
        likely(self.duplicate)
            || likely(self.reorder)
            || likely(self.corrupt)
            || !self.outages.is_empty()
            || self.through_bytes
    }
}

/// Faults at work, all drawn from one stream.
#[derive(Debug)]
struct FaultyEnd {
    faults: Faults,
    rng: Pcg64Mcg,
    arrivals: BTreeMap<(Instant, u64), Box<Packet>>,
    numbered: u64,
    discarded: Count,
    duplicated: Count,
    arrived: Count,
}

impl FaultyEnd {
    fn new(faults: Faults, seed: u64) -> FaultyEnd {
        FaultyEnd {
            faults,
            rng: Pcg64Mcg::seed_from_u64(seed ^ 0x6c69_6e65),
            arrivals: BTreeMap::new(),
            numbered: 0,
            discarded: Count::default(),
            duplicated: Count::default(),
            arrived: Count::default(),
        }
    }

    fn happens(&mut self, probability: Probability) -> bool {
        self.rng.random::<f64>() < probability.value()
    }

    /// Puts a packet, or one of two copies, among the arrivals, unless it is found damaged.
    fn pass(&mut self, mut at: Instant, mut packet: Box<Packet>) {
        let flip = self.happens(self.faults.corrupt).then(|| self.rng.random());
        if self.faults.through_bytes || flip.is_some() {
            match through_bytes(&packet, flip) {
                Some(arrived) => *packet = arrived,
                None => return self.discarded.add(&packet),
            }
        }
        if self.happens(self.faults.reorder) {
            at += self.faults.jitter.mul_f64(self.rng.random());
        }
        self.arrivals.insert((at, self.numbered), packet);
        self.numbered += 1;
    }
}

impl Behind for FaultyEnd {
    fn push(&mut self, at: Instant, packet: Box<Packet>) {
        if self.faults.outages.iter().any(|outage| outage.contains(&at)) {
            self.discarded.add(&packet);
            return;
        }
        let twice = self.happens(self.faults.duplicate);
        if twice {
            self.duplicated.add(&packet);
            self.pass(at, packet.clone());
        }
        self.pass(at, packet);
    }

    fn pop(&mut self, now: Instant) -> Option<Box<Packet>> {
        let first = self.arrivals.first_entry().filter(|first| first.key().0 <= now)?;
        let packet = first.remove();
        self.arrived.add(&packet);
        Some(packet)
    }

    fn next(&self) -> Option<Instant> {
        self.arrivals.first_key_value().map(|((at, _), _)| *at)
    }

    fn check(&self, delivered: Count) -> Result<(), String> {
        let mut inside = Count::default();
        self.arrivals.values().for_each(|packet| inside.add(packet));
        let (discarded, duplicated, arrived) = (self.discarded, self.duplicated, self.arrived);
        if delivered + duplicated != discarded + inside + arrived {
            return Err(format!(
                "delivered {delivered:?} and duplicated {duplicated:?}, but discarded \
                 {discarded:?}, inside {inside:?}, arrived {arrived:?}"
            ));
        }
        Ok(())
    }
}
