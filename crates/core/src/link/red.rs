//! Random early detection (Floyd and Jacobson 1993), as ns-2 has it.
//!
//! An exponentially weighted average of the packets that wait follows each arrival. Between the two
//! thresholds an arrival is dropped, or marked, with a probability that grows with the average from
//! nothing to *max_p*, and that a count of the arrivals since the last one spreads evenly: drops
//! come at uniform instead of geometric distances. Above the upper threshold every arrival is
//! dropped, or, if *gentle* (Floyd 2000), with a probability that grows to one at twice the
//! threshold.
//!
//! ns-2's particulars, which the papers' results rest on:
//! - the packet being sent is not in the average (it is in the limit, as with every queue here:
//!   ns-2's queue of 50 packets is one of 51);
//! - *wait* lets at least 1/p arrivals pass between drops: distances are uniform between 1/p and
//!   2/p instead of 1 and 1/p;
//! - an arrival that finds fewer than two packets waiting is never dropped early;
//! - for an idle time the average ages by as many packets of mean length as the line could have
//!   sent.
//!
//! Unlike ns-2 with `ns1_compat_`, a forced drop begins a new count, as it does in the paper.

use super::loss::happens;
use super::schedule::Timeline;
use super::{Count, DropTail, LinkPacket, Queue, RedConfig, Varying};
use crate::time::Instant;
use crate::units::Rate;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// In what a queue is measured.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Measure {
    /// Packets, whatever their lengths.
    Packets,
    /// Bytes; thresholds are multiples of the mean packet.
    Bytes,
}

impl RedConfig {
    /// The probability p_b that belongs to an average, in packets of mean length, before the count
    /// spreads it; 1 where every arrival is dropped.
    pub fn probability(&self, average: f64) -> f64 {
        let (min, max, max_p) = (self.min_threshold, self.max_threshold, self.max_p.value());
        if average < min {
            0.0
        } else if average < max {
            max_p * (average - min) / (max - min)
        } else if self.gentle {
            (max_p + (1.0 - max_p) * (average - max) / max).min(1.0)
        } else {
            1.0
        }
    }

    /// The probability p_a of dropping the arrival that is the `count`-th since the last drop.
    pub fn spread(&self, probability: f64, count: f64) -> f64 {
        let done = count * probability;
        let left = match self.wait {
            true if done < 1.0 => return 0.0,
            true => 2.0 - done,
            false => 1.0 - done,
        };
        // Rounding must not let the last chance pass.
        if left > probability { probability / left } else { 1.0 }
    }
}

/// A RED queue.
#[derive(Debug)]
pub struct Red<P> {
    config: RedConfig,
    packets: DropTail<P>,
    rate: Option<Timeline<Rate>>,
    /// In packets of mean length.
    average: f64,
    /// Arrivals, or their bytes in mean packets, since the last drop; `None` below the threshold.
    count: Option<f64>,
    /// Since when nothing is held.
    idle_since: Option<Instant>,
    being_sent: u64,
    early: Count,
    marked: Count,
    rng: Pcg64Mcg,
}

impl<P: LinkPacket> Red<P> {
    /// An empty queue before a line of `rate`.
    pub fn new(config: RedConfig, rate: Option<Varying<Rate>>, seed: u64) -> Red<P> {
        Red {
            packets: DropTail::new(config.limit),
            rate: rate.map(Timeline::new),
            config,
            average: 0.0,
            count: None,
            idle_since: Some(Instant::ZERO),
            being_sent: 0,
            early: Count::default(),
            marked: Count::default(),
            rng: Pcg64Mcg::seed_from_u64(seed ^ 0x0072_6564),
        }
    }

    /// The average, in packets of mean length.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// Another configuration and average for the same queue.
    #[cfg(test)]
    pub(super) fn set(&mut self, config: RedConfig, average: f64) {
        self.config = config;
        self.average = average;
    }

    /// Takes the packet that came last out again.
    #[cfg(test)]
    pub(super) fn forget_newest(&mut self) {
        self.packets.forget_newest();
    }

    /// Takes a sample of the queue at an arrival.
    fn sample(&mut self, now: Instant) {
        let mean_packet = self.config.mean_packet.count().max(1);
        if let Some(since) = self.idle_since.take() {
            // A line without a rate could have sent any number.
            let kept = self.rate.as_mut().map_or(0.0, |rate| {
                let bytes = rate.at(now).bytes_in(now.saturating_since(since));
                let packets = bytes / mean_packet;
                (1.0 - self.config.weight).powf(packets as f64)
            });
            self.average *= kept;
        }
        let held = self.packets.held();
        let waiting = match self.config.average {
            Measure::Packets => held.packets.saturating_sub(1) as f64,
            Measure::Bytes => (held.bytes - self.being_sent) as f64 / mean_packet as f64,
        };
        self.average += self.config.weight * (waiting - self.average);
    }

    /// What happens to an arrival of `wire_len` bytes.
    fn decide(&mut self, wire_len: u64) -> Early {
        let mean = wire_len as f64 / self.config.mean_packet.count().max(1) as f64;
        let waiting = self.packets.held().packets.saturating_sub(1);
        if self.average < self.config.min_threshold || waiting < 2 {
            self.count = None;
            return Early::Nothing;
        }
        let probability = self.config.probability(self.average);
        if probability >= 1.0 {
            return Early::Drop;
        }
        let one = match self.config.drops {
            Measure::Packets => 1.0,
            Measure::Bytes => mean,
        };
        let Some(count) = self.count.map(|count| count + one) else {
            // The first above the threshold only begins the count.
            self.count = Some(one);
            return Early::Nothing;
        };
        self.count = Some(count);
        let chance = match self.config.spread(probability, count) {
            sure @ 1.0.. => sure,
            chance => chance * one,
        };
        match happens(&mut self.rng, chance) {
            false => Early::Nothing,
            true if self.config.ecn && self.average < self.config.max_threshold => Early::Mark,
            true => Early::Drop,
        }
    }
}

/// What is to be done to an arrival before the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Early {
    Nothing,
    /// Mark it if it can be, or else drop it.
    Mark,
    Drop,
}

impl<P: LinkPacket> Queue<P> for Red<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P) -> Result<(), P> {
        self.sample(now);
        let early = self.decide(packet.wire_len());
        if early == Early::Nothing && self.packets.fits(&packet) {
            return self.packets.enqueue(now, packet);
        }
        // Whatever becomes of it, the sources are told: a new count begins.
        self.count = self.count.map(|_| 0.0);
        if !self.packets.fits(&packet) {
            return self.packets.enqueue(now, packet);
        }
        if early == Early::Mark && packet.mark_congestion_experienced() {
            self.marked.add(&packet);
            return self.packets.enqueue(now, packet);
        }
        self.early.add(&packet);
        Err(packet)
    }

    fn head(&mut self, now: Instant) -> Option<&P> {
        let head = self.packets.head(now);
        self.being_sent = head.map_or(0, LinkPacket::wire_len);
        head
    }

    fn dequeue(&mut self, now: Instant) -> Option<P> {
        let packet = self.packets.dequeue(now);
        self.being_sent = 0;
        if self.packets.held().packets == 0 {
            self.idle_since = Some(now);
        }
        packet
    }

    fn drop_superseded(&mut self, newer: &P, from: usize) {
        self.packets.drop_superseded(newer, from);
    }

    fn bring_forward(&mut self, from: usize) {
        self.packets.bring_forward(from);
    }

    fn held(&self) -> Count {
        self.packets.held()
    }

    fn dropped(&self) -> Count {
        self.early + self.packets.dropped()
    }

    fn marked(&self) -> Count {
        self.marked
    }
}
