//! Pacing rate and window (5.6).

use super::{Bbr, BbrState, MIN_PIPE, PACING_MARGIN, STARTUP_PACING_GAIN, seconds};
use crate::tcp::congestion::slow_start::LARGEST_WINDOW;
use crate::tcp::congestion::{AckEvent, Congestion};
use crate::time::Duration;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// The window before the repair of a loss, or before ProbeRTT.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Repair {
    /// `prior_cwnd`.
    pub(super) saved: Bytes,
    /// Fast recovery, or the repair of a timeout.
    pub(super) under_way: bool,
    /// It was needless: the window comes back, and does not grow with the same acknowledgment.
    pub(super) undone: bool,
}

impl Bbr {
    /// `InitPacingRate`.
    pub(super) fn begin_pacing(&mut self, srtt: Option<Duration>) {
        if let (None, Some(srtt)) = (self.pacing_rate, srtt.filter(|srtt| !srtt.is_zero())) {
            let nominal = self.initial_window.as_f64() / seconds(srtt);
            self.pacing_rate = Some(STARTUP_PACING_GAIN * nominal);
        }
    }

    /// `SetPacingRateWithGain`: until the pipe has been full, the rate does not fall.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * PACING_MARGIN;
        if let Some(before) = self.pacing_rate
            && rate >= 1.0
            && (self.full_pipe.reached || rate > before)
        {
            self.pacing_rate = Some(rate);
        }
    }

    /// `send_quantum`: a millisecond of the rate.
    fn quantum(&self) -> f64 {
        let millisecond = self.pacing_rate.unwrap_or_default() * 0.001;
        millisecond.min(65_536.0).max((2 * self.smss).as_f64())
    }

    /// `BDPMultiple`.
    fn products(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.min.map_or(self.initial_window.as_f64(), |min| gain * bw * seconds(min))
    }

    /// `bdp`.
    pub(super) fn bdp(&self) -> f64 {
        self.products(self.bw, 1.0)
    }

    /// `TargetInflight`.
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp().min(self.window().as_f64())
    }

    /// `QuantizationBudget`.
    fn with_budget(&self, inflight: f64) -> f64 {
        let budget = (3.0 * self.quantum()).max((MIN_PIPE * self.smss).as_f64());
        let probes = if self.state == BbrState::Up { 2 * self.smss } else { Bytes::ZERO };
        inflight.max(budget) + probes.as_f64()
    }

    /// `Inflight`.
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.with_budget(self.products(bw, gain))
    }

    /// `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_window(&self) -> f64 {
        let half = self.products(self.bw, BbrState::ProbeRtt.cwnd_gain());
        half.max((MIN_PIPE * self.smss).as_f64())
    }

    /// `SaveCwnd`.
    pub(super) fn save_window(&mut self) {
        let window = self.window();
        let good = !self.repair.under_way && self.state != BbrState::ProbeRtt;
        self.repair.saved = if good { window } else { self.repair.saved.max(window) };
    }

    /// `SetCwnd`.
    pub(super) fn set_window(&mut self, ack: &AckEvent) {
        let repairs = ack.in_recovery() || ack.after_timeout;
        if std::mem::replace(&mut self.repair.under_way, repairs) && !repairs {
            self.restore_window();
        }
        self.undo.saved &= repairs;
        let gain = self.state.cwnd_gain();
        let max =
            Bytes::from_f64(self.with_budget(self.products(self.bw, gain) + self.extra_acked()));
        let mut window = self.window();
        let grown = if std::mem::take(&mut self.repair.undone) { Bytes::ZERO } else { ack.newly };
        if self.full_pipe.reached {
            window = (window + grown).min(max);
        } else if window < max || self.delivered < self.initial_window {
            window += grown;
        }
        let min = MIN_PIPE * self.smss;
        window = window.max(min);
        if self.state == BbrState::ProbeRtt {
            window = window.min(Bytes::from_f64(self.probe_rtt_window()));
        }
        // BoundCwndForModel; a float that is too large, infinity too, becomes the greatest integer.
        let cap = match self.state {
            BbrState::Down | BbrState::Refill | BbrState::Up => self.inflight_longterm,
            BbrState::ProbeRtt | BbrState::Cruise => self.with_headroom(),
            BbrState::Startup | BbrState::Drain => f64::INFINITY,
        };
        let cap = Bytes::from_f64(cap.min(self.inflight_shortterm)).max(min);
        self.slow_start.set_window(window.min(cap).clamp(self.smss, LARGEST_WINDOW));
    }
}
