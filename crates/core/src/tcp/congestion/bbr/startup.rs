//! Startup and Drain (5.3.1, 5.3.2), and when a pipe is full.

use super::path::Sample;
use super::{Bbr, BbrState};
use crate::tcp::congestion::AckEvent;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// `BBRStartupFullLossCnt`: lost ranges of a round with which Startup ends.
const FULL_LOSSES: u32 = 6;
/// Rounds for which Drain lasts at most.
const DRAIN_ROUNDS: u64 = 3;
/// A rate that grows by less in each of so many rounds is that of a full pipe.
const GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

/// 5.3.1.2.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct FullPipe {
    /// `full_bw`.
    pub(super) bw: f64,
    /// `full_bw_count`.
    pub(super) rounds: u32,
    /// `full_bw_now`.
    pub(super) now: bool,
    /// `full_bw_reached`.
    pub(super) reached: bool,
}

impl FullPipe {
    /// `ResetFullBW`, with a first rate to exceed.
    pub(super) fn restart(&mut self, bw: f64) {
        (self.bw, self.rounds, self.now) = (bw, 0, false);
    }
}

impl Bbr {
    /// `CheckFullBWReached`.
    pub(super) fn check_full_pipe(&mut self, sample: &Sample) {
        let Some(rate) = sample.rate else { return };
        if self.full_pipe.now || !self.rounds.start || sample.app_limited {
            return;
        }
        if rate >= self.full_pipe.bw * GROWTH {
            self.full_pipe.restart(rate);
            return;
        }
        self.full_pipe.rounds += 1;
        self.full_pipe.now = self.full_pipe.rounds >= FULL_ROUNDS;
        self.full_pipe.reached |= self.full_pipe.now;
    }

    /// `CheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, sample: &Sample, ack: &AckEvent) {
        if self.state == BbrState::Startup && self.is_loss_high(sample, ack) {
            self.end_startup_by_loss();
        }
        if self.latest.round_start {
            self.latest.loss_events = 0;
        }
        if self.state == BbrState::Startup && self.full_pipe.reached {
            self.state = BbrState::Drain;
            self.drain_start_round = self.rounds.count;
        }
    }

    /// 5.3.1.3: in recovery for a round, in which more than the threshold was lost, in six parts.
    fn is_loss_high(&self, sample: &Sample, ack: &AckEvent) -> bool {
        if !ack.in_recovery() {
            return false;
        }
        let in_parts = self.latest.loss_events >= FULL_LOSSES;
        let round = self.latest.round_start && in_parts && self.is_too_high(sample);
        round || (!self.selective && ack.lost > Bytes::ZERO)
    }

    pub(super) fn end_startup_by_loss(&mut self) {
        self.undo.state = Some(BbrState::Startup);
        (self.full_pipe.reached, self.full_pipe.now) = (true, true);
        self.inflight_longterm = self.bdp().max(self.latest.inflight.as_f64());
    }

    /// `CheckDrainDone`.
    pub(super) fn check_drain_done(&mut self, ack: &AckEvent) {
        if self.state != BbrState::Drain {
            return;
        }
        let drained = ack.in_flight.as_f64() <= self.inflight(self.bw, 1.0);
        if drained || self.rounds.count > self.drain_start_round + DRAIN_ROUNDS {
            self.start_down(ack.now);
        }
    }
}
