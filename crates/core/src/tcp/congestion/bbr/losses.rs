//! What losses do to the model (5.5.10), and how that is undone (5.5.11).

use super::path::Sample;
use super::{BETA, Bbr, BbrState, LOSS_THRESHOLD};
use crate::tcp::congestion::{CongestionEvent, Lost};
use crate::tcp::delivery_rate::LossSample;
use crate::time::Instant;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What the first loss of an episode found, until it is known whether it was one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Undo {
    /// It is of the losses that are being repaired.
    pub(super) saved: bool,
    /// The state that losses have ended.
    pub(super) state: Option<BbrState>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

impl Bbr {
    /// `IsInflightTooHigh`.
    pub(super) fn is_too_high(&self, sample: &Sample) -> bool {
        self.exceeds(sample.lost, sample.in_flight)
    }

    fn exceeds(&self, lost: Bytes, in_flight: Bytes) -> bool {
        lost.as_f64() > LOSS_THRESHOLD * in_flight.as_f64()
            || (lost > Bytes::ZERO && !self.selective)
    }

    /// `NoteLoss` and `SaveStateUponLoss`, this once an episode, as 5.5.11.1 says. By the
    /// pseudocode the losses behind one that has ended a probe would save what that one has made of
    /// the model.
    fn note_loss(&mut self) {
        if !self.latest.loss {
            self.latest.round_began = self.delivered;
        }
        if !self.undo.saved {
            self.save_window();
            self.undo = Undo {
                saved: true,
                state: None,
                bw_shortterm: self.bw_shortterm,
                inflight_shortterm: self.inflight_shortterm,
                inflight_longterm: self.inflight_longterm,
            };
        }
        self.latest.loss = true;
    }

    /// `HandleLostPacket`.
    pub(super) fn lose(&mut self, lost: &Lost) {
        self.note_loss();
        let sample = lost.sample;
        if self.probe.sampling && self.exceeds(sample.lost, sample.in_flight) {
            self.reduce_long_term(inflight_at_loss(&sample), sample.app_limited, lost.now);
        }
    }

    /// `HandleInflightTooHigh`.
    fn reduce_long_term(&mut self, in_flight: f64, app_limited: bool, now: Instant) {
        self.probe.too_high = true;
        // Only one answer to a probe.
        self.probe.sampling = false;
        if !app_limited {
            self.inflight_longterm = in_flight.max(self.target_inflight() * BETA);
        }
        if self.state == BbrState::Up {
            self.undo.state = Some(BbrState::Up);
            self.start_down(now);
        }
    }

    /// A mark.
    pub(super) fn mark(&mut self, event: &CongestionEvent) {
        self.note_loss();
        if self.probe.sampling {
            self.reduce_long_term(event.flight_size.as_f64(), false, event.now);
        } else if self.state == BbrState::Startup {
            self.end_startup_by_loss();
        }
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn undo_losses(&mut self) {
        self.restore_window();
        self.repair.undone = true;
        self.latest.loss = false;
        self.full_pipe.restart(0.0);
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(BbrState::Startup) if self.state != BbrState::Startup => {
                self.full_pipe.reached = false;
                if self.state != BbrState::ProbeRtt {
                    self.state = BbrState::Startup;
                }
            }
            Some(BbrState::Up) if !matches!(self.state, BbrState::Up | BbrState::ProbeRtt) => {
                self.start_refill();
            }
            _ => {}
        }
    }
}

/// `InflightAtLoss`: what was in flight when the losses came to exceed the threshold, which may
/// have been in the midst of a super-segment.
pub(super) fn inflight_at_loss(sample: &LossSample) -> f64 {
    let before = sample.in_flight.saturating_sub(sample.bytes).as_f64();
    let lost_before = sample.lost.saturating_sub(sample.bytes).as_f64();
    let prefix = (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD);
    before + prefix.max(0.0)
}
