//! The state machine: `Startup` fills the pipe, `Drain` takes the queue away that this has built,
//! `ProbeBw` cycles around the estimated bandwidth, and `ProbeRtt` empties the path every ten
//! seconds.

use super::{Bbr1, CWND_GAIN, CYCLE, DRAIN_GAIN, HIGH_GAIN, Variant};
use crate::tcp::congestion::filter::draw;
use crate::tcp::congestion::{AckEvent, Congestion};
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// How long `ProbeRtt` lasts at least, with little in flight.
pub(super) const PROBE_RTT: Duration = Duration::from_millis(200);
/// The pipe is full after so many rounds without growth ...
const FULL_ROUNDS: u32 = 3;
/// ... by this factor.
const GROWTH: f64 = 1.25;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mode {
    Startup,
    Drain,
    ProbeBw {
        /// The index of its gain in [`CYCLE`].
        phase: usize,
    },
    ProbeRtt,
}

/// Whether the pipe has been full.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct FullPipe {
    /// The bandwidth that is to be exceeded by [`GROWTH`].
    pub(super) bandwidth: f64,
    /// Rounds in which it was not.
    pub(super) rounds: u32,
    pub(super) reached: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ProbeRtt {
    /// From when on it may end, once little is in flight.
    done_at: Option<Instant>,
    /// A round has passed since then.
    round_done: bool,
}

impl<V: Variant> Bbr1<V> {
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBw { .. } if self.policer.rate().is_some() => 1.0,
            Mode::ProbeBw { phase: 0 } => self.variant.probing_gain(self.min_rtt),
            Mode::ProbeBw { phase } => CYCLE[phase],
            Mode::ProbeRtt => 1.0,
        }
    }

    pub(super) fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw { .. } => CWND_GAIN,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Takes the state machine on, behind the model's bandwidth.
    pub(super) fn update_mode(&mut self, ack: &AckEvent) {
        self.update_phase(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack);
        let expired = self.update_min_rtt(ack);
        self.check_probe_rtt(ack, expired);
    }

    fn update_phase(&mut self, ack: &AckEvent) {
        let Mode::ProbeBw { phase } = self.mode else { return };
        if self.phase_is_over(ack) {
            self.mode = Mode::ProbeBw { phase: (phase + 1) % CYCLE.len() };
            self.phase_at = ack.now;
        }
    }

    fn phase_is_over(&self, ack: &AckEvent) -> bool {
        let Some(min_rtt) = self.min_rtt else { return false };
        let a_round_trip = ack.now.saturating_since(self.phase_at) > min_rtt;
        let gain = self.pacing_gain();
        if gain == 1.0 {
            return a_round_trip;
        }
        let in_net = self.in_net(ack.in_flight_before, ack);
        let bandwidth = self.bandwidth.max();
        if gain > 1.0 {
            // A loss: so much may not fit into the path.
            let tried = ack.lost > Bytes::ZERO || in_net >= self.inflight(bandwidth, gain);
            a_round_trip && tried
        } else {
            a_round_trip || in_net <= self.inflight(bandwidth, 1.0)
        }
    }

    /// Gain cycling begins anew, with any phase but the one that drains what the one before it has
    /// built.
    pub(super) fn begin_cycle(&mut self, now: Instant) {
        let phases = CYCLE.len() as u64;
        let phase = phases - draw(now, self.delivered) % (phases - 1);
        self.mode = Mode::ProbeBw { phase: (phase % phases) as usize };
        self.phase_at = now;
    }

    fn check_full_pipe(&mut self, ack: &AckEvent) {
        let app_limited = ack.sample.is_some_and(|sample| sample.app_limited);
        if self.full_pipe.reached || !self.rounds.start || app_limited {
            return;
        }
        let bandwidth = self.bandwidth.max();
        if bandwidth >= self.full_pipe.bandwidth * GROWTH {
            (self.full_pipe.bandwidth, self.full_pipe.rounds) = (bandwidth, 0);
            return;
        }
        self.full_pipe.rounds += 1;
        self.full_pipe.reached = self.full_pipe.rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, ack: &AckEvent) {
        let target = self.inflight(self.bandwidth.max(), 1.0);
        if self.mode == Mode::Startup && self.full_pipe.reached {
            self.mode = Mode::Drain;
            self.variant.settled();
            let window = self.slow_start.window();
            self.slow_start.set(window, target);
        }
        if self.mode == Mode::Drain && self.in_net(ack.in_flight, ack) <= target {
            self.begin_cycle(ack.now);
        }
    }

    fn check_probe_rtt(&mut self, ack: &AckEvent, expired: bool) {
        let cruises = matches!(self.mode, Mode::ProbeBw { .. });
        let due = self.variant.probes_rtt(expired, cruises);
        if due && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window();
            self.probe_rtt = ProbeRtt::default();
        }
        if self.mode == Mode::ProbeRtt {
            if self.probe_rtt.done_at.is_none() {
                if ack.in_flight <= self.probe_rtt_window() {
                    let done_at = Some(ack.now + PROBE_RTT);
                    self.probe_rtt = ProbeRtt { done_at, round_done: false };
                    self.rounds.began = ack.delivered;
                }
            } else {
                self.probe_rtt.round_done |= self.rounds.start;
                if self.probe_rtt.round_done {
                    self.end_probe_rtt(ack.now, ack.rtt);
                }
            }
        }
        if ack.newly > Bytes::ZERO {
            self.idle_restart = false;
        }
    }

    /// Ends `ProbeRtt`, if it has lasted long enough, with the round-trip time of now.
    pub(super) fn end_probe_rtt(&mut self, now: Instant, rtt: Option<Duration>) {
        if self.probe_rtt.done_at.is_none_or(|done_at| now <= done_at) {
            return;
        }
        self.min_rtt_at = now;
        if let Some(rtt) = rtt.filter(|_| V::MEASURES_AGAIN) {
            self.min_rtt = Some(rtt);
        }
        let window = self.window().max(self.repair.saved);
        self.slow_start.set_window(window);
        if let Some(bandwidth) = self.variant.path_changed() {
            self.bandwidth.reset(self.rounds.count, bandwidth);
            self.full_pipe = FullPipe::default();
        }
        if self.full_pipe.reached {
            self.begin_cycle(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
