//! The window: towards what the model wants in flight, by no more than is delivered.

use super::{Bbr1, MIN_WINDOW, Mode, Variant};
use crate::tcp::congestion::slow_start::LARGEST_WINDOW;
use crate::tcp::congestion::{AckEvent, Congestion};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// The window before anything is known, in segments (`TCP_INIT_CWND`).
const INITIAL: u64 = 10;
/// Below so many bytes a second (1.2 Mbit/s) segments leave one by one.
const MIN_BURST_RATE: f64 = 150_000.0;

/// Linux' `icsk_ca_state`, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) enum CaState {
    #[default]
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// What losses are being repaired, and the window meanwhile.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Repair {
    pub(super) state: CaState,
    /// The first round of a recovery: as much may leave as has arrived.
    pub(super) conserve: bool,
    /// The window before the repair or `ProbeRtt`.
    pub(super) saved: Bytes,
    /// It was needless: the window comes back, and does not grow with the same acknowledgment.
    pub(super) undone: bool,
}

impl<V: Variant> Bbr1<V> {
    /// Remembers a window that is good, for the end of a repair or of `ProbeRtt`.
    pub(super) fn save_window(&mut self) {
        let window = self.window();
        let good = self.repair.state == CaState::Open && self.mode != Mode::ProbeRtt;
        self.repair.saved = if good { window } else { self.repair.saved.max(window) };
    }

    /// `bbr_tso_segs_goal`: the segments that leave at once, about a millisecond of the rate.
    pub(super) fn burst_goal(&self) -> u64 {
        let rate = self.pacing_rate.unwrap_or(f64::MAX);
        let min = if rate < MIN_BURST_RATE { 1 } else { 2 };
        let segments = Bytes::from_f64((rate / 1024.0).min(65_000.0)) / self.smss;
        segments.clamp(min, 127)
    }

    /// Bandwidth-delay products in segments, rounded up so that the window does not lower the
    /// bandwidth that is measured with it.
    fn bdp(&self, bandwidth: f64, gain: f64) -> u64 {
        self.min_rtt.map_or(INITIAL, |rtt| {
            (bandwidth * rtt.as_secs_f64() * gain / self.smss.as_f64()).ceil() as u64
        })
    }

    /// `bbr_quantization_budget`: room for a burst each in the sending host's queue, in its card
    /// and at the receiver; an even number, for acknowledgments of two; more where the probing
    /// phase would not exceed a small product.
    fn with_bursts(&self, segments: u64) -> u64 {
        let even = (segments + 3 * self.burst_goal()).next_multiple_of(2);
        even + if self.mode == (Mode::ProbeBw { phase: 0 }) { 2 } else { 0 }
    }

    /// What is to be in flight at this bandwidth and gain, in bytes.
    pub(super) fn inflight(&self, bandwidth: f64, gain: f64) -> Bytes {
        self.with_bursts(self.bdp(bandwidth, gain)) * self.smss
    }

    /// `bbr_set_cwnd`.
    pub(super) fn set_window(&mut self, ack: &AckEvent) {
        let mut window = self.window();
        let newly = ack.newly;
        if newly > Bytes::ZERO {
            window = self.repaired_window(ack);
            let grown = if std::mem::take(&mut self.repair.undone) { Bytes::ZERO } else { newly };
            if !self.repair.conserve {
                let target = self.target();
                if self.full_pipe.reached {
                    window = (window + grown).min(target);
                } else if window < target || ack.delivered < INITIAL * self.smss {
                    window += grown;
                }
                window = window.max(MIN_WINDOW * self.smss);
            }
        }
        if self.mode == Mode::ProbeRtt {
            window = window.min(self.probe_rtt_window());
        }
        self.slow_start.set_window(window.clamp(self.smss, LARGEST_WINDOW));
    }

    /// The window in `ProbeRtt`.
    pub(super) fn probe_rtt_window(&self) -> Bytes {
        let product = self.bdp(self.bandwidth(), V::PROBE_RTT_GAIN);
        product.max(MIN_WINDOW) * self.smss
    }

    fn target(&self) -> Bytes {
        let bandwidth = self.bandwidth();
        let mut segments = self.bdp(self.bandwidth_to_use(), self.window_gain());
        if self.full_pipe.reached {
            segments += self.aggregation.allowance(bandwidth) / self.smss;
        }
        self.with_bursts(segments) * self.smss
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: less by what is lost; packet conservation in the first
    /// round of a recovery; the former window behind a repair.
    fn repaired_window(&mut self, ack: &AckEvent) -> Bytes {
        let state = if ack.after_timeout {
            CaState::Loss
        } else if ack.in_recovery() {
            CaState::Recovery
        } else {
            CaState::Open
        };
        let before = std::mem::replace(&mut self.repair.state, state);
        let mut window = self.window().saturating_sub(ack.lost).max(self.smss);
        // No more than before the repair: what an undone reduction has retransmitted is in flight
        // twice.
        let max = self.repair.saved.max(self.window());
        let kept = (ack.in_flight + ack.newly).min(max);
        if state == CaState::Recovery && before != CaState::Recovery {
            self.repair.conserve = true;
            self.rounds.began = ack.delivered;
            window = kept;
        } else if state == CaState::Open && before != CaState::Open {
            self.repair.conserve = false;
            window = window.max(self.repair.saved);
        }
        if self.repair.conserve { window.max(kept) } else { window }
    }
}
