//! Scripts of acknowledgments, after the papers' and RFCs' own numbers.

mod copa;
mod cubic;
pub(super) mod flow;
mod henderson;
mod highspeed;
mod hybla;
mod hystart;
mod known_link;
mod scalable;
mod search;
mod slow_start;
mod tolerant_cubic;
mod vegas;
mod westwood;

use super::*;
use crate::time::{Duration, Instant};

pub(super) const SMSS: Bytes = Bytes::new(1000);

pub(super) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(super) fn slow_start(segments: u64, growth: Growth) -> SlowStartConfig {
    SlowStartConfig {
        initial_window: segments * SMSS,
        initial_window_use: InitialWindowUse::default(),
        initial_ssthresh: None,
        ssthresh_estimate: ThresholdEstimate::Off,
        byte_limit: Some(2),
        growth,
        probing: Probing::default(),
    }
}

/// A selective acknowledgment of a segment that says nothing else.
pub(super) fn ack_event(now: Instant) -> AckEvent {
    AckEvent {
        now,
        smss: SMSS,
        acked: Bytes::ZERO,
        newly: SMSS,
        delivered: Bytes::ZERO,
        lost: Bytes::ZERO,
        in_flight_before: SMSS,
        in_flight: Bytes::ZERO,
        rtt: None,
        rtt_again: None,
        srtt: None,
        min_rtt: None,
        sample: None,
        round: 0,
        next_send: now,
        window_limited: true,
        selective: true,
        phase: RecoveryPhase::Open,
        after_timeout: false,
    }
}

/// A path that acknowledges every segment, of which the window is always full.
pub(super) struct Path {
    pub(super) congestion: Box<dyn Congestion>,
    pub(super) now: Instant,
    pub(super) rtt: Duration,
    pub(super) min_rtt: Duration,
    pub(super) round: u64,
}

impl Path {
    pub(super) fn new(
        control: CongestionAlgorithm,
        config: SlowStartConfig,
        rtt: Duration,
    ) -> Path {
        let congestion = control.congestion(config, SMSS);
        Path { congestion, now: Instant::ZERO, rtt, min_rtt: rtt, round: 0 }
    }

    /// In congestion avoidance with a window of `segments`.
    pub(super) fn avoiding(control: CongestionAlgorithm, segments: u64, rtt: Duration) -> Path {
        let config = slow_start(segments, Growth::Doubling);
        let config = SlowStartConfig { initial_ssthresh: Some(segments * SMSS), ..config };
        Path::new(control, config, rtt)
    }

    pub(super) fn ack(&mut self, bytes: Bytes) -> Response {
        self.min_rtt = self.min_rtt.min(self.rtt);
        let window = self.congestion.window();
        self.congestion.on_ack(&AckEvent {
            acked: bytes,
            newly: bytes,
            in_flight_before: window,
            in_flight: window.saturating_sub(bytes),
            rtt: Some(self.rtt),
            srtt: Some(self.rtt),
            min_rtt: Some(self.min_rtt),
            round: self.round,
            ..ack_event(self.now)
        })
    }

    /// One round trip with an acknowledgment for each segment of the window.
    pub(super) fn round(&mut self) {
        self.round += 1;
        let segments = self.congestion.window() / SMSS;
        let gap = self.rtt / u32::try_from(segments).unwrap();
        for _ in 0..segments {
            self.now += gap;
            self.ack(SMSS);
        }
    }

    pub(super) fn rounds(&mut self, count: u32) {
        (0..count).for_each(|_| self.round());
    }

    /// The window in segments.
    pub(super) fn cwnd(&self) -> f64 {
        self.congestion.window().as_f64() / SMSS.as_f64()
    }

    pub(super) fn event(&self) -> CongestionEvent {
        let window = self.congestion.window();
        CongestionEvent { now: self.now, flight_size: window, in_flight: window, smss: SMSS }
    }

    pub(super) fn lose(&mut self) {
        let event = self.event();
        self.congestion.save_undo();
        self.congestion.on_loss(&event);
    }

    pub(super) fn time_out(&mut self) {
        let event = self.event();
        self.congestion.save_undo();
        self.congestion.on_timeout(&event, false);
    }
}

#[track_caller]
pub(super) fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected.abs(), "{found}, not {expected}");
}
