//! The model (5.5): rounds, the greatest rate, the latest delivery, and how acknowledgments bunch.

use super::{BETA, Bbr, elapsed};
use crate::tcp::congestion::filter::WindowedMax;
use crate::tcp::congestion::{AckEvent, Congestion};
use crate::time::Instant;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// `MaxBwFilterLen`: the probing cycle before the current one counts.
const MAX_BW_AGE: u64 = 1;
/// `ExtraAckedFilterLen`: ten rounds.
const EXTRA_ACKED_AGE: u64 = 9;

/// RS: what an acknowledgment says.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sample {
    /// RS.delivery_rate in bytes a second; none if it is not reliable.
    pub(super) rate: Option<f64>,
    pub(super) delivered: Bytes,
    pub(super) prior_delivered: Option<Bytes>,
    /// RS.lost.
    pub(super) lost: Bytes,
    /// RS.tx_in_flight.
    pub(super) in_flight: Bytes,
    pub(super) app_limited: bool,
}

impl Sample {
    pub(super) fn of(ack: &AckEvent) -> Sample {
        let Some(sample) = ack.sample else { return Sample::default() };
        // 4.1.2.3: what was retransmitted without need is acknowledged too early.
        let min = ack.min_rtt.unwrap_or_default();
        let reliable = sample.interval >= min && !sample.interval.is_zero();
        let bytes = sample.delivered.max(ack.smss).as_f64();
        Sample {
            rate: reliable.then(|| bytes / sample.interval.as_secs_f64()),
            delivered: sample.delivered,
            prior_delivered: Some(sample.prior_delivered),
            lost: sample.lost,
            in_flight: sample.in_flight,
            app_limited: sample.app_limited,
        }
    }
}

/// Packet-timed rounds (5.5.1).
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Rounds {
    pub(super) count: u64,
    /// `next_round_delivered`.
    pub(super) began: Bytes,
    /// This acknowledgment begins one.
    pub(super) start: bool,
    /// The window was used up in this round, and in the one before (C.is_cwnd_limited).
    pub(super) cwnd_limited: bool,
    pub(super) was_cwnd_limited: bool,
}

/// The delivery of the last round (5.5.10.3).
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Latest {
    /// `bw_latest` and `inflight_latest`.
    pub(super) bw: f64,
    pub(super) inflight: Bytes,
    /// `loss_round_delivered` and `loss_round_start`: rounds that begin with a loss.
    pub(super) round_began: Bytes,
    pub(super) round_start: bool,
    /// `is_loss_in_round`.
    pub(super) loss: bool,
    /// Acknowledgments of this round that showed a loss.
    pub(super) loss_events: u32,
}

impl Latest {
    /// `ResetCongestionSignals`.
    pub(super) fn reset(&mut self) {
        (self.loss, self.bw, self.inflight) = (false, 0.0, Bytes::ZERO);
    }

    /// `AdvanceLatestDeliverySignals`.
    pub(super) fn advance(&mut self, sample: &Sample) {
        if self.round_start {
            self.bw = sample.rate.unwrap_or_default();
            self.inflight = sample.delivered;
        }
    }
}

/// 5.5.9.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Aggregation {
    pub(super) began: Instant,
    delivered: Bytes,
    extra: WindowedMax,
}

impl Bbr {
    /// `StartRound`.
    pub(super) fn start_round(&mut self) {
        self.rounds.began = self.delivered;
    }

    /// C.is_cwnd_limited.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.rounds.cwnd_limited || self.rounds.was_cwnd_limited
    }

    /// `UpdateLatestDeliverySignals`.
    pub(super) fn update_latest_delivery(&mut self, sample: &Sample) {
        let latest = &mut self.latest;
        latest.bw = latest.bw.max(sample.rate.unwrap_or_default());
        latest.inflight = latest.inflight.max(sample.delivered);
        let began = latest.round_began;
        latest.round_start = sample.prior_delivered.is_some_and(|prior| prior >= began);
        if latest.round_start {
            latest.round_began = self.delivered;
        }
    }

    /// `UpdateCongestionSignals`.
    pub(super) fn update_congestion_signals(&mut self, sample: &Sample, ack: &AckEvent) {
        self.update_round(sample);
        if let Some(rate) = sample.rate
            && (rate >= self.max_bw.max() || !sample.app_limited)
        {
            self.max_bw.update(self.cycle_count, rate, MAX_BW_AGE);
        }
        self.latest.loss_events += u32::from(ack.lost > Bytes::ZERO);
        if !self.latest.round_start {
            return;
        }
        if !self.state.accelerates() && self.latest.loss {
            self.adapt_lower_bounds();
        }
        self.latest.loss = false;
    }

    fn update_round(&mut self, sample: &Sample) {
        let began = self.rounds.began;
        self.rounds.start = sample.prior_delivered.is_some_and(|prior| prior >= began);
        if self.rounds.start {
            self.start_round();
            self.rounds.count += 1;
            self.probe.rounds_since_up += 1;
            self.rounds.was_cwnd_limited = std::mem::take(&mut self.rounds.cwnd_limited);
        }
    }

    /// `InitLowerBounds` and `LossLowerBounds`: once a round with a loss.
    fn adapt_lower_bounds(&mut self) {
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.max_bw.max();
        }
        if self.inflight_shortterm.is_infinite() {
            self.inflight_shortterm = self.window().as_f64();
        }
        self.bw_shortterm = self.latest.bw.max(BETA * self.bw_shortterm);
        let inflight = self.latest.inflight.as_f64();
        self.inflight_shortterm = inflight.max(BETA * self.inflight_shortterm);
    }

    /// `ResetShortTermModel`.
    pub(super) fn reset_short_term(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// `UpdateACKAggregation`.
    pub(super) fn update_aggregation(&mut self, ack: &AckEvent) {
        if ack.newly == Bytes::ZERO {
            return;
        }
        let window = self.window();
        let of = &mut self.aggregation;
        let mut expected = self.bw * elapsed(of.began, ack.now);
        if of.delivered.as_f64() <= expected {
            (of.delivered, of.began, expected) = (Bytes::ZERO, ack.now, 0.0);
        }
        of.delivered += ack.newly;
        let extra = (of.delivered.as_f64() - expected).min(window.as_f64());
        let age = if self.full_pipe.reached { EXTRA_ACKED_AGE } else { 0 };
        of.extra.update(self.rounds.count, extra, age);
    }

    /// `extra_acked`.
    pub(super) fn extra_acked(&self) -> f64 {
        self.aggregation.extra.max()
    }
}
