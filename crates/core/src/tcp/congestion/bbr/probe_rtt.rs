//! The minimum round-trip time, ProbeRTT (5.3.4) and sending behind an idle time (5.4).

use super::probe_bw::AckPhase;
use super::{Bbr, BbrState};
use crate::tcp::congestion::{AckEvent, Congestion};
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// `MinRTTFilterLen`.
const MIN_RTT_AGE: Duration = Duration::from_secs(10);
/// `ProbeRTTInterval`.
const INTERVAL: Duration = Duration::from_secs(5);
/// `ProbeRTTDuration`.
const PROBE_RTT: Duration = Duration::from_millis(200);

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct MinRtt {
    /// `min_rtt` and `min_rtt_stamp`.
    pub(super) min: Option<Duration>,
    at: Instant,
    /// `probe_rtt_min_delay`, `probe_rtt_min_stamp` and `probe_rtt_expired`.
    recent: Option<Duration>,
    pub(super) recent_at: Instant,
    expired: bool,
    /// `probe_rtt_done_stamp` and `probe_rtt_round_done`.
    done_at: Option<Instant>,
    round_done: bool,
}

impl Bbr {
    /// `UpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, ack: &AckEvent) {
        let (of, now) = (&mut self.min_rtt, ack.now);
        if of.min.is_none() {
            // The handshake's.
            (of.min, of.at) = (ack.min_rtt, now);
            (of.recent, of.recent_at) = (ack.min_rtt, now);
        }
        of.expired = now > of.recent_at + INTERVAL;
        if let Some(rtt) = ack.rtt
            && (of.expired || of.recent.is_none_or(|recent| rtt < recent))
        {
            (of.recent, of.recent_at) = (Some(rtt), now);
        }
        let old = now > of.at + MIN_RTT_AGE;
        if old || of.recent < of.min {
            (of.min, of.at) = (of.recent, of.recent_at);
        }
    }

    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, ack: &AckEvent) {
        if self.state != BbrState::ProbeRtt && self.min_rtt.expired && !self.idle_restart {
            self.save_window();
            self.state = BbrState::ProbeRtt;
            self.min_rtt.done_at = None;
            self.probe.acks = AckPhase::Stopping;
            self.start_round();
        }
        if self.state == BbrState::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        if ack.newly > Bytes::ZERO {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, ack: &AckEvent) {
        if self.min_rtt.done_at.is_none() {
            if ack.in_flight.as_f64() <= self.probe_rtt_window() {
                self.min_rtt.done_at = Some(ack.now + PROBE_RTT);
                self.min_rtt.round_done = false;
                self.start_round();
            }
            return;
        }
        self.min_rtt.round_done |= self.rounds.start;
        if self.min_rtt.round_done {
            self.end_probe_rtt(ack.now);
        }
    }

    /// `CheckProbeRTTDone` and `ExitProbeRTT`.
    fn end_probe_rtt(&mut self, now: Instant) {
        if self.min_rtt.done_at.is_none_or(|done_at| now <= done_at) {
            return;
        }
        self.min_rtt.recent_at = now;
        self.restore_window();
        self.reset_short_term();
        if self.full_pipe.reached {
            // The queue is empty: no need to go down.
            self.start_down(now);
            self.state = BbrState::Cruise;
        } else {
            self.state = BbrState::Startup;
        }
    }

    /// `HandleRestartFromIdle`: as fast as the path is known to be, and no faster.
    pub(super) fn restart_from_idle(&mut self, now: Instant) {
        self.idle_restart = true;
        self.aggregation.began = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == BbrState::ProbeRtt {
            self.end_probe_rtt(now);
        }
    }

    pub(super) fn restore_window(&mut self) {
        let window = self.window().max(self.repair.saved);
        self.slow_start.set_window(window);
    }
}
