//! BBR version 3 (draft-ietf-ccwg-bbr-06 of July 2026; section numbers are its own).
//!
//! A model of the path at two time scales. The long one has the greatest delivery rate of two
//! probing cycles (`max_bw`) and what may be in flight without losing more than 2 %
//! (`inflight_longterm`); the short one follows losses between probes (`bw_shortterm`,
//! `inflight_shortterm`), and is forgotten when the next probe begins. Names are the draft's.
//!
//! Differences: what the draft draws at random is a hash of the moment and of the bytes delivered
//! ([`draw`](super::filter::draw)); a rate sample stands for a segment at least, as else a peer
//! with a window of few bytes would slow the connection down for long; at most one lost range
//! counts for an acknowledgment (as in Google's Linux); a mark (RFC 3168), of which the draft only
//! says that it is congestion, is to this policy a loss above the threshold; the model is saved at
//! the first loss of an episode, not of each round.
//!
//! With a round trip of half a second ProbeRTT, due after five seconds, comes before a probe is
//! over: two to three seconds of cruising, a round of refilling, three rounds without growth. Then
//! `max_bw` keeps its maximum, as its window only moves behind a probe.

mod losses;
mod path;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;
mod window;

use super::filter::WindowedMax;
use super::{AckEvent, Congestion, CongestionEvent, Departed, Lost, PacingBasis};
use super::{Response, SlowStart, SlowStartConfig};
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Rate};
use losses::Undo;
use path::{Aggregation, Latest, Rounds, Sample};
use probe_bw::Probe;
use probe_rtt::MinRtt;
use serde::{Deserialize, Serialize};
use startup::FullPipe;
use window::Repair;

/// `StartupPacingGain`: the least gain that doubles the rate each round (2.5), 4 ln 2.
const STARTUP_PACING_GAIN: f64 = 4.0 * std::f64::consts::LN_2;
/// `PacingMarginPercent`: 1 % (5.6.2).
const PACING_MARGIN: f64 = 0.99;
/// `LossThresh`: what a probe may lose in a round (2.8).
const LOSS_THRESHOLD: f64 = 0.02;
/// `Beta`: the greatest decrease in a round with losses.
const BETA: f64 = 0.7;
/// `Headroom`: the part of `inflight_longterm` that is left to others.
const HEADROOM: f64 = 0.15;
/// `MinPipeCwnd`, in segments.
const MIN_PIPE: u64 = 4;

/// The states (3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum BbrState {
    Startup,
    Drain,
    /// ProbeBW_DOWN.
    Down,
    /// ProbeBW_CRUISE.
    Cruise,
    /// ProbeBW_REFILL.
    Refill,
    /// ProbeBW_UP.
    Up,
    ProbeRtt,
}

impl BbrState {
    /// The table of 5.6.1.
    fn pacing_gain(self) -> f64 {
        match self {
            BbrState::Startup => STARTUP_PACING_GAIN,
            BbrState::Drain => 0.5,
            BbrState::Down => 0.9,
            BbrState::Cruise | BbrState::Refill | BbrState::ProbeRtt => 1.0,
            BbrState::Up => 1.25,
        }
    }

    /// The same.
    fn cwnd_gain(self) -> f64 {
        match self {
            BbrState::Startup
            | BbrState::Drain
            | BbrState::Down
            | BbrState::Cruise
            | BbrState::Refill => 2.0,
            BbrState::Up => 2.25,
            BbrState::ProbeRtt => 0.5,
        }
    }

    fn is_probe_bw(self) -> bool {
        matches!(self, BbrState::Down | BbrState::Cruise | BbrState::Refill | BbrState::Up)
    }

    /// `IsProbingBW`: losses are the price of what is found out.
    fn accelerates(self) -> bool {
        matches!(self, BbrState::Startup | BbrState::Refill | BbrState::Up)
    }
}

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct Bbr {
    /// The window and the threshold; slow start itself is not used.
    slow_start: SlowStart,
    initial_window: Bytes,
    smss: Bytes,
    /// C.has_selective_acks.
    selective: bool,
    /// C.delivered.
    delivered: Bytes,
    state: BbrState,
    rounds: Rounds,
    max_bw: WindowedMax,
    cycle_count: u64,
    /// In bytes a second; `bw_shortterm` is infinite while no loss has set it.
    bw: f64,
    bw_shortterm: f64,
    /// In bytes; infinite while no loss has set them.
    inflight_longterm: f64,
    inflight_shortterm: f64,
    latest: Latest,
    full_pipe: FullPipe,
    drain_start_round: u64,
    probe: Probe,
    min_rtt: MinRtt,
    aggregation: Aggregation,
    undo: Undo,
    repair: Repair,
    idle_restart: bool,
    /// C.pacing_rate in bytes a second; none before the first round-trip time.
    pacing_rate: Option<f64>,
}

impl Bbr {
    /// At the beginning of a connection with segments of `smss` bytes.
    pub fn new(slow_start: SlowStartConfig, smss: Bytes) -> Bbr {
        let slow_start = SlowStartConfig { initial_ssthresh: None, ..slow_start };
        Bbr {
            slow_start: SlowStart::new(slow_start, smss),
            initial_window: slow_start.initial_window,
            smss,
            selective: true,
            delivered: Bytes::ZERO,
            state: BbrState::Startup,
            rounds: Rounds::default(),
            max_bw: WindowedMax::default(),
            cycle_count: 0,
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            latest: Latest::default(),
            full_pipe: FullPipe::default(),
            drain_start_round: 0,
            probe: Probe::default(),
            min_rtt: MinRtt::default(),
            aggregation: Aggregation::default(),
            undo: Undo::default(),
            repair: Repair::default(),
            idle_restart: false,
            pacing_rate: None,
        }
    }
}

impl Congestion for Bbr {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    /// `UpdateOnACK` (5.2.3).
    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        if !ack.reports() {
            return Response::default();
        }
        self.smss = ack.smss;
        self.selective = ack.selective;
        self.delivered = ack.delivered;
        self.begin_pacing(ack.srtt);
        let sample = Sample::of(ack);
        self.update_latest_delivery(&sample);
        self.update_congestion_signals(&sample, ack);
        self.update_aggregation(ack);
        self.check_full_pipe(&sample);
        self.check_startup_done(&sample, ack);
        self.check_drain_done(ack);
        self.update_probe_bw(&sample, ack);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack);
        self.latest.advance(&sample);
        self.bw = self.max_bw.max().min(self.bw_shortterm);
        self.set_pacing_rate(self.state.pacing_gain());
        self.set_window(ack);
        Response { app_limited: self.state == BbrState::ProbeRtt, ..Response::default() }
    }

    /// `OnTransmit` (5.2.2).
    fn on_sent(&mut self, departed: &Departed) {
        self.rounds.cwnd_limited |= departed.in_flight + departed.bytes + self.smss > self.window();
        if departed.in_flight == Bytes::ZERO && departed.app_limited {
            self.restart_from_idle(departed.now);
        }
    }

    /// `HandleLostPacket` (5.5.10.2).
    fn on_lost(&mut self, lost: &Lost) {
        self.delivered = lost.delivered;
        self.lose(lost);
    }

    /// `OnEnterFastRecovery` (5.6.4.4); the rest is saved as its first loss is noted.
    fn on_loss(&mut self, _event: &CongestionEvent) {
        self.save_window();
    }

    fn on_recovered(&mut self, _flight_size: Bytes, _smss: Bytes) {}

    /// `OnEnterRTO`.
    fn on_timeout(&mut self, event: &CongestionEvent, _again: bool) {
        self.save_window();
        self.repair.under_way = true;
        self.slow_start.set_window(event.in_flight + event.smss);
    }

    fn on_ecn(&mut self, event: &CongestionEvent) {
        self.mark(event);
    }

    fn save_undo(&mut self) {}

    /// `HandleSpuriousLossDetection` (5.5.11.2).
    fn undo(&mut self, _most: Bytes) -> bool {
        self.undo_losses();
        true
    }

    fn on_idle(&mut self) {}

    fn pacing(&self) -> PacingBasis {
        match self.pacing_rate {
            None => PacingBasis::Window { gain: STARTUP_PACING_GAIN },
            Some(rate) => PacingBasis::Rate(Some(Rate::from_bits_per_sec((rate * 8.0) as u64))),
        }
    }

    fn needs_pacing(&self) -> bool {
        true
    }

    fn reduces_proportionally(&self) -> bool {
        false
    }
}

/// A time in seconds.
fn seconds(span: Duration) -> f64 {
    span.as_secs_f64()
}

/// What `at` and later have behind `since`.
fn elapsed(since: Instant, at: Instant) -> f64 {
    seconds(at.saturating_since(since))
}
