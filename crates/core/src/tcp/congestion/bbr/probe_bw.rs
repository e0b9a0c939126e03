//! ProbeBW (5.3.3): down, cruise, refill, up.

use super::path::Sample;
use super::{Bbr, BbrState, HEADROOM, MIN_PIPE, elapsed};
use crate::tcp::congestion::filter::draw;
use crate::tcp::congestion::{AckEvent, Congestion};
use crate::time::Instant;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Rounds after which a Reno flow would have filled the path again, at most (5.3.3.8.2).
const RENO_ROUNDS: u64 = 63;

/// What acknowledgments tell of a probe (2.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// The course of probes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Probe {
    pub(super) acks: AckPhase,
    /// `is_bw_probe_sample`: what is acknowledged left while probing.
    pub(super) sampling: bool,
    pub(super) rounds_since_up: u64,
    /// `bw_probe_wait`, in seconds.
    pub(super) wait: f64,
    /// `cycle_stamp`.
    pub(super) cycle_at: Instant,
    /// `bw_probe_up_rounds`, `bw_probe_up_acked` and `probe_up_acked_per_inc`.
    up_rounds: u32,
    up_acked: Bytes,
    pub(super) up_acked_per_segment: Bytes,
    /// `prev_probe_too_high` and `prev_probe_precautionary` (5.3.3.6).
    pub(super) too_high: bool,
    pub(super) precautionary: bool,
}

impl Default for Probe {
    fn default() -> Probe {
        Probe {
            acks: AckPhase::Init,
            sampling: false,
            rounds_since_up: 0,
            wait: 0.0,
            cycle_at: Instant::ZERO,
            up_rounds: 0,
            up_acked: Bytes::ZERO,
            up_acked_per_segment: Bytes::MAX,
            too_high: false,
            precautionary: false,
        }
    }
}

impl Bbr {
    pub(super) fn start_down(&mut self, now: Instant) {
        self.latest.reset();
        self.probe.up_acked_per_segment = Bytes::MAX;
        // PickProbeWait: 2 to 3 s, and a round more or less.
        let chance = draw(now, self.delivered);
        self.probe.rounds_since_up = chance & 1;
        self.probe.wait = 2.0 + (chance >> 11) as f64 / (1u64 << 53) as f64;
        self.probe.cycle_at = now;
        self.probe.acks = AckPhase::Stopping;
        self.start_round();
        self.state = BbrState::Down;
    }

    pub(super) fn start_refill(&mut self) {
        self.reset_short_term();
        (self.probe.up_rounds, self.probe.up_acked) = (0, Bytes::ZERO);
        self.probe.precautionary = false;
        self.probe.acks = AckPhase::Refilling;
        self.start_round();
        self.state = BbrState::Refill;
    }

    fn start_up(&mut self, sample: &Sample) {
        self.probe.acks = AckPhase::Starting;
        self.start_round();
        self.full_pipe.restart(sample.rate.unwrap_or_default());
        self.state = BbrState::Up;
        self.raise_slope();
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_probe_bw(&mut self, sample: &Sample, ack: &AckEvent) {
        if !self.full_pipe.reached || ack.newly == Bytes::ZERO || self.adapt_long_term(sample, ack)
        {
            return;
        }
        match self.state {
            BbrState::Down | BbrState::Cruise if self.is_time_to_probe(ack.now) => {
                self.start_refill();
            }
            BbrState::Down if self.is_time_to_cruise(ack.in_flight) => {
                self.state = BbrState::Cruise;
            }
            BbrState::Refill if self.rounds.start => {
                self.probe.sampling = true;
                self.start_up(sample);
            }
            BbrState::Up => self.check_up_done(sample, ack),
            _ => {}
        }
    }

    /// `IsTimeToProbeBW`: by the clock, or as soon as a Reno flow would have come back.
    fn is_time_to_probe(&self, now: Instant) -> bool {
        let reno_rounds = (self.target_inflight() / self.smss.as_f64()) as u64;
        elapsed(self.probe.cycle_at, now) > self.probe.wait
            || self.probe.rounds_since_up >= reno_rounds.min(RENO_ROUNDS)
    }

    fn is_time_to_cruise(&self, in_flight: Bytes) -> bool {
        let in_flight = in_flight.as_f64();
        in_flight <= self.with_headroom() && in_flight <= self.inflight(self.max_bw.max(), 1.0)
    }

    fn check_up_done(&mut self, sample: &Sample, ack: &AckEvent) {
        if self.is_time_to_go_down(sample, ack.in_flight_before) {
            self.probe.too_high = false;
            self.start_down(ack.now);
        }
    }

    /// `IsTimeToGoDown`. The bound is reached when no further segment fits below it, which an
    /// acknowledgment only finds so before it has taken its own bytes away.
    fn is_time_to_go_down(&mut self, sample: &Sample, in_flight: Bytes) -> bool {
        // What was too much the last time is not held for a round.
        if self.probe.too_high && (in_flight + self.smss).as_f64() > self.inflight_longterm {
            self.probe.precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.window().as_f64() >= self.inflight_longterm {
            self.full_pipe.restart(sample.rate.unwrap_or_default());
            return false;
        }
        self.full_pipe.now
    }

    /// `InflightWithHeadroom`.
    pub(super) fn with_headroom(&self) -> f64 {
        let headroom = (HEADROOM * self.inflight_longterm).max(self.smss.as_f64());
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        (self.inflight_longterm - headroom).max((MIN_PIPE * self.smss).as_f64())
    }

    /// `RaiseInflightLongtermSlope`: by one segment in the first round, by two in the next, and so
    /// on.
    pub(super) fn raise_slope(&mut self) {
        let growth = 1u64 << self.probe.up_rounds;
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(30);
        self.probe.up_acked_per_segment = (self.window() / growth).max(self.smss);
    }

    /// `ProbeInflightLongtermUpward`.
    fn raise_long_term(&mut self, newly: Bytes) {
        if !self.is_cwnd_limited() || self.window().as_f64() < self.inflight_longterm {
            return;
        }
        let probe = &mut self.probe;
        probe.up_acked += newly;
        let segments = probe.up_acked / probe.up_acked_per_segment;
        probe.up_acked -= segments * probe.up_acked_per_segment;
        self.inflight_longterm += (segments * self.smss).as_f64();
        if self.rounds.start {
            self.raise_slope();
        }
    }

    /// `AdaptLongTermModel`. True if it has changed the state.
    fn adapt_long_term(&mut self, sample: &Sample, ack: &AckEvent) -> bool {
        if self.probe.acks == AckPhase::Starting && self.rounds.start {
            self.probe.acks = AckPhase::Feedback;
        }
        if self.probe.acks == AckPhase::Stopping && self.rounds.start {
            self.probe.sampling = false;
            self.probe.acks = AckPhase::Init;
            if self.state.is_probe_bw() {
                // AdvanceMaxBwFilter.
                self.cycle_count += u64::from(!sample.app_limited);
                if self.probe.precautionary && !self.probe.too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        if !self.is_too_high(sample) && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(sample.in_flight.as_f64());
            if self.state == BbrState::Up {
                self.raise_long_term(ack.newly);
            }
        }
        false
    }
}
