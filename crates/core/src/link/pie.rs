//! PIE, the proportional integral controller enhanced (RFC 8033).
//!
//! Every *update* interval a controller moves the probability of a drop by how far the queueing
//! delay is from its *target*, and by how much it has changed since. Each arrival is dropped, or
//! marked, with that probability. A burst after a time without congestion passes (section 4.4),
//! early drops are neither in a row nor far apart (section 5.4), and small probabilities move in
//! small steps (section 4.2).
//!
//! The delay is that of the packet which last began to be sent, by its own time of arrival (section
//! 5.2 estimates a departure rate where there are no such times; Linux takes them, too). The
//! interval has no timer: what updates do depends on the events before them alone, so they are made
//! up for at the next event.

use super::loss::happens;
use super::{Count, LinkPacket, PieConfig, Queue, fifo};
use crate::time::{Duration, Instant};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;

/// Up to two packets of this length wait without a drop (section 4.1), as Linux has it: an MTU.
const MEAN_PACKET: u64 = 1500;

/// What the controller knows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Controller {
    probability: f64,
    delay: Duration,
    delay_before: Duration,
    burst: Duration,
}

impl Controller {
    /// Section 4.2, with the limits of section 5.5.
    fn update(&mut self, config: &PieConfig) {
        let [delay, before, target] =
            [self.delay, self.delay_before, config.target].map(|time| time.as_secs_f64());
        let step = config.alpha * (delay - target) + config.beta * (delay - before);
        let step = step / scale(self.probability);
        let step = if self.probability >= 0.1 { step.min(0.02) } else { step };
        self.probability += step;
        if self.delay.is_zero() && self.delay_before.is_zero() {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.delay_before = self.delay;
        self.burst = self.burst.saturating_sub(config.update);
    }

    /// Neither now nor at the last update has the delay been above half the target.
    fn at_rest(&self, config: &PieConfig) -> bool {
        let half = config.target / 2;
        self.probability == 0.0 && self.delay < half && self.delay_before < half
    }
}

/// By how much smaller the steps of a small probability are (section 4.2).
fn scale(probability: f64) -> f64 {
    const SCALES: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
    let found = SCALES.iter().find(|(below, _)| probability < *below);
    found.map_or(1.0, |(_, scale)| *scale)
}

/// A PIE queue.
#[derive(Debug)]
pub struct Pie<P> {
    config: PieConfig,
    /// With the moments at which they came in.
    packets: VecDeque<(Instant, P)>,
    held: Count,
    dropped: Count,
    marked: Count,
    control: Controller,
    /// The next update.
    due: Instant,
    /// The sum of the probabilities since the last drop.
    accumulated: f64,
    rng: Pcg64Mcg,
}

impl<P: LinkPacket> Pie<P> {
    /// An empty queue.
    pub fn new(config: PieConfig, seed: u64) -> Pie<P> {
        Pie {
            config,
            packets: VecDeque::new(),
            held: Count::default(),
            dropped: Count::default(),
            marked: Count::default(),
            control: Controller { burst: config.burst, ..Controller::default() },
            due: Instant::ZERO + config.update,
            accumulated: 0.0,
            rng: Pcg64Mcg::seed_from_u64(seed ^ 0x0070_6965),
        }
    }

    /// The probability of a drop.
    pub fn probability(&self) -> f64 {
        self.control.probability
    }

    /// Another probability and delay for the same queue, at an update that has just been.
    #[cfg(test)]
    pub(super) fn set(&mut self, probability: f64, delay: Duration) {
        self.control =
            Controller { probability, delay, delay_before: delay, burst: Duration::ZERO };
    }

    /// Takes the packet that came last out again.
    #[cfg(test)]
    pub(super) fn forget_newest(&mut self) {
        if let Some((_, packet)) = self.packets.pop_back() {
            self.held.remove(&packet);
        }
    }

    /// Makes up for the updates that were due by `now`.
    pub(super) fn catch_up(&mut self, now: Instant) {
        while self.due <= now {
            let before = self.control;
            self.control.update(&self.config);
            self.due += self.config.update;
            if self.control == before && self.due <= now {
                // Nor will those behind it change anything.
                let missed =
                    now.saturating_since(self.due).as_nanos() / self.config.update.as_nanos();
                // Not more than the time since, which fits.
                let nanos = (missed * self.config.update.as_nanos()) as u64;
                self.due += Duration::from_nanos(nanos);
            }
        }
    }

    /// Whether an arrival is dropped or marked before the queue is full (sections 4.1 and 5.4).
    fn decide(&mut self) -> bool {
        let control = &self.control;
        // As everywhere here the queue holds the packet being sent; the RFC's does not.
        let sending = self.packets.front().map_or(0, |(_, packet)| packet.wire_len());
        if !control.burst.is_zero()
            || (control.delay_before < self.config.target / 2 && control.probability < 0.2)
            || self.held.bytes - sending <= 2 * MEAN_PACKET
        {
            return false;
        }
        if control.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += control.probability;
        let chance = match self.accumulated {
            below if below < 0.85 => return false,
            above if above >= 8.5 => 1.0,
            _ => control.probability,
        };
        let hit = happens(&mut self.rng, chance);
        if hit {
            self.accumulated = 0.0;
        }
        hit
    }
}

impl<P: LinkPacket> Queue<P> for Pie<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P) -> Result<(), P> {
        self.catch_up(now);
        if !self.config.limit.admits(self.held, &packet) {
            self.accumulated = 0.0;
            self.dropped.add(&packet);
            return Err(packet);
        }
        if self.decide() {
            let marks = self.config.ecn && self.control.probability < 0.1;
            if !(marks && packet.mark_congestion_experienced()) {
                self.dropped.add(&packet);
                return Err(packet);
            }
            self.marked.add(&packet);
        }
        if self.control.at_rest(&self.config) {
            self.control.burst = self.config.burst;
        }
        self.held.add(&packet);
        self.packets.push_back((now, packet));
        Ok(())
    }

    fn head(&mut self, now: Instant) -> Option<&P> {
        self.catch_up(now);
        let head = self.packets.front();
        self.control.delay = head.map_or(Duration::ZERO, |(since, _)| now.saturating_since(*since));
        head.map(|(_, packet)| packet)
    }

    fn dequeue(&mut self, now: Instant) -> Option<P> {
        self.catch_up(now);
        let (_, packet) = self.packets.pop_front()?;
        self.held.remove(&packet);
        Some(packet)
    }

    fn drop_superseded(&mut self, newer: &P, from: usize) {
        let counts = [&mut self.held, &mut self.dropped];
        fifo::drop_superseded(&mut self.packets, |(_, packet)| packet, newer, from, counts);
    }

    fn bring_forward(&mut self, from: usize) {
        fifo::bring_forward(&mut self.packets, |(_, packet)| packet, from);
    }

    fn held(&self) -> Count {
        self.held
    }

    fn dropped(&self) -> Count {
        self.dropped
    }

    fn marked(&self) -> Count {
        self.marked
    }
}
