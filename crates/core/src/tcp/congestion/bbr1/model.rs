//! The model of the path: bandwidth, minimum round-trip time, and how acknowledgments bunch.

use super::{Bbr1, Mode, Rounds, Variant};
use crate::tcp::congestion::AckEvent;
use crate::tcp::delivery_rate::RateSample;
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Rounds after which a rate is forgotten: a gain cycle and two (`bbr_bw_rtts`).
const BANDWIDTH_ROUNDS: u64 = 10;

impl<V: Variant> Bbr1<V> {
    /// The bandwidth to go by, in bytes a second: the policer's, if there is one.
    pub(super) fn bandwidth(&self) -> f64 {
        self.policer.rate().unwrap_or_else(|| self.bandwidth.max())
    }

    /// The same for the pacing rate and the window, as the variant has it.
    pub(super) fn bandwidth_to_use(&self) -> f64 {
        let bandwidth = self.bandwidth();
        match self.mode {
            Mode::ProbeBw { .. } => self.variant.bandwidth(bandwidth, self.min_rtt),
            Mode::Startup | Mode::Drain | Mode::ProbeRtt => bandwidth,
        }
    }

    /// Takes what an acknowledgment says of the path.
    pub(super) fn update_model(&mut self, ack: &AckEvent) {
        // A segment that was retransmitted without need is acknowledged too early.
        let min = ack.min_rtt.unwrap_or_default();
        let reliable = |sample: &RateSample| sample.interval >= min && !sample.interval.is_zero();
        let sample = ack.sample.filter(reliable);
        self.rounds.start = false;
        if let Some(sample) = sample {
            self.update_bandwidth(&sample, ack);
            let bandwidth = self.bandwidth();
            let window = self.slow_start.window();
            self.aggregation.update(ack, &self.rounds, bandwidth, window);
        }
    }

    fn update_bandwidth(&mut self, sample: &RateSample, ack: &AckEvent) {
        if sample.prior_delivered >= self.rounds.began {
            self.rounds.began = ack.delivered;
            self.rounds.count += 1;
            self.rounds.start = true;
            self.repair.conserve = false;
            self.variant.end_round(matches!(self.mode, Mode::ProbeBw { .. }));
        }
        self.look_for_policer(ack.lost > Bytes::ZERO, sample.app_limited, ack.now);
        // Linux counts packets: what has arrived is one at least.
        let bytes = sample.delivered.max(ack.smss).as_f64();
        let rate = bytes / sample.interval.as_secs_f64();
        self.variant.on_rate(rate, ack.rtt.filter(|_| self.mode == Mode::ProbeRtt));
        if !sample.app_limited || rate >= self.bandwidth.max() {
            self.bandwidth.update(self.rounds.count, rate, BANDWIDTH_ROUNDS);
        }
    }

    pub(super) fn look_for_policer(&mut self, lossy: bool, app_limited: bool, now: Instant) {
        if V::POLICERS && self.policer.observe(&self.seen(lossy, app_limited)) {
            self.begin_cycle(now);
        }
    }

    /// Takes a round-trip time. True if the last least one is too old.
    pub(super) fn update_min_rtt(&mut self, ack: &AckEvent) -> bool {
        if self.min_rtt.is_none() {
            // The handshake's counts.
            (self.min_rtt, self.min_rtt_at) = (ack.min_rtt, ack.now);
        }
        let expired = ack.now > self.min_rtt_at + V::MIN_RTT_AGE;
        // A short segment alone: its acknowledgment may have been delayed.
        let delayed =
            ack.newly < ack.smss && ack.sample.is_some_and(|sample| sample.delivered == ack.newly);
        let Some(rtt) = ack.rtt else { return expired };
        if self.min_rtt.is_none_or(|min| rtt <= min) || (expired && !delayed) {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), ack.now);
        }
        expired
    }

    /// `bbr_packets_in_net_at_edt`: what will be in flight when the pacer lets the next burst go.
    pub(super) fn in_net(&self, in_flight: Bytes, ack: &AckEvent) -> Bytes {
        let wait = ack.next_send.saturating_since(ack.now);
        let leaves = Bytes::from_f64(self.bandwidth() * wait.as_secs_f64());
        let burst =
            if self.pacing_gain() > 1.0 { self.burst_goal() * self.smss } else { Bytes::ZERO };
        (in_flight + burst).saturating_sub(leaves)
    }
}

/// How much more than the bandwidth allows for acknowledgments report at once, at most, in the last
/// five to ten rounds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Aggregation {
    began: Instant,
    /// Bytes acknowledged since.
    acked: Bytes,
    extra: [Bytes; 2],
    current: usize,
    /// Rounds in which the current one counts.
    rounds: u32,
}

impl Aggregation {
    /// Each of the two maxima is of so many rounds.
    const ROUNDS: u32 = 5;
    /// An epoch ends when so many segments were acknowledged in it.
    const LONGEST: u64 = 1 << 20;
    /// More than is sent in this time is not allowed for.
    const MAX: Duration = Duration::from_millis(100);

    /// An epoch begins with what leaves now.
    pub(super) fn restart(&mut self, now: Instant) {
        (self.began, self.acked) = (now, Bytes::ZERO);
    }

    pub(super) fn update(
        &mut self,
        ack: &AckEvent,
        rounds: &Rounds,
        bandwidth: f64,
        window: Bytes,
    ) {
        if ack.newly == Bytes::ZERO {
            return;
        }
        if rounds.start {
            self.rounds += 1;
            if self.rounds >= Self::ROUNDS {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.extra[self.current] = Bytes::ZERO;
            }
        }
        let span = ack.now.saturating_since(self.began).as_secs_f64();
        let mut expected = Bytes::from_f64(bandwidth * span);
        let longest = Self::LONGEST * ack.smss;
        if self.acked <= expected || self.acked + ack.newly >= longest {
            self.restart(ack.now);
            expected = Bytes::ZERO;
        }
        self.acked += ack.newly;
        let extra = self.acked.saturating_sub(expected).min(window);
        let greatest = &mut self.extra[self.current];
        *greatest = extra.max(*greatest);
    }

    /// What the window allows for it, at `bandwidth`.
    pub(super) fn allowance(&self, bandwidth: f64) -> Bytes {
        let max = bandwidth * Self::MAX.as_secs_f64();
        self.extra[0].max(self.extra[1]).min(Bytes::from_f64(max))
    }
}
