//! What a sender is made of.

use super::Reduction;
use crate::tcp::congestion::{
    Congestion, CongestionAlgorithm, Growth, InitialWindowUse, Probing, SlowStartConfig,
    ThresholdEstimate,
};
use crate::tcp::pacing::Pacing;
use crate::tcp::recovery::RecoveryAlgorithm;
use crate::tcp::rtt::RtoConfig;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// The initial congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum InitialWindow {
    /// In segments: ten by RFC 6928.
    Segments(u32),
    /// In bytes, at least one segment.
    Bytes(Bytes),
    /// RFC 3390's formula, "4K slow start": four segments or 4380 bytes, but at least two.
    Rfc3390,
}

impl InitialWindow {
    /// In bytes, for segments of `smss` bytes.
    pub fn bytes(self, smss: Bytes) -> Bytes {
        match self {
            InitialWindow::Segments(segments) => u64::from(segments) * smss,
            InitialWindow::Bytes(bytes) => bytes.max(smss),
            InitialWindow::Rfc3390 => (4 * smss).min((2 * smss).max(Bytes::new(4380))),
        }
    }
}

/// Parameters of a [`super::Sender`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SenderConfig {
    /// Sender maximum segment size: payload bytes of the largest segment, options deducted.
    pub smss: Bytes,
    /// The largest super-segment in bytes; `smss` where segments are to be sent one by one.
    pub max_burst: Bytes,
    /// Header bytes of each segment on the wire, which pacing counts along.
    pub overhead: Bytes,
    /// Loss recovery.
    pub recovery: RecoveryAlgorithm,
    /// Congestion control.
    pub congestion: CongestionAlgorithm,
    /// How the window comes down in fast recovery.
    pub reduction: Reduction,
    /// Send a new segment for each of the first two duplicate acknowledgments, if the peer's window
    /// allows (RFC 3042).
    pub limited_transmit: bool,
    /// Undo a reduction when timestamps (RFC 3522) or duplicate reports (RFC 3708) show that
    /// nothing had been lost.
    pub undo: bool,
    /// Initial congestion window.
    pub initial_window: InitialWindow,
    /// Initial slow start threshold in bytes, if any.
    pub initial_ssthresh: Option<Bytes>,
    /// What that becomes once acknowledgments tell the path's rate.
    pub ssthresh_estimate: ThresholdEstimate,
    /// How much of one acknowledgment slow start counts; see [`SlowStartConfig::byte_limit`].
    pub byte_limit: Option<u32>,
    /// In which slow starts the initial window is used.
    pub initial_window_use: InitialWindowUse,
    /// How the window grows in slow start.
    pub slow_start: Growth,
    /// How fast pacing, if on, lets slow start probe.
    pub probing: Probing,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Pacing.
    pub pacing: Pacing,
    /// Send retransmissions once more where nothing else is to be sent. One that was lost is
    /// repeated at once.
    pub spare_copies: bool,
    /// Nagle's algorithm (RFC 9293, 3.7.4).
    pub nagle: bool,
    /// Begin anew with the initial window after an idle time (RFC 5681, 4.1).
    pub restart_after_idle: bool,
    /// Give up after this many timer expiries without any answer.
    pub max_retries: u32,
}

impl Default for SenderConfig {
    fn default() -> SenderConfig {
        SenderConfig {
            smss: Bytes::new(1460),
            max_burst: Bytes::new(1460),
            overhead: Bytes::new(40),
            recovery: RecoveryAlgorithm::Sack,
            congestion: CongestionAlgorithm::Standard,
            reduction: Reduction::Plain,
            limited_transmit: true,
            undo: false,
            initial_window: InitialWindow::Segments(10),
            initial_ssthresh: None,
            ssthresh_estimate: ThresholdEstimate::Off,
            byte_limit: Some(2),
            initial_window_use: InitialWindowUse::default(),
            slow_start: Growth::Doubling,
            probing: Probing::default(),
            rto: RtoConfig::default(),
            pacing: Pacing::Off,
            spare_copies: false,
            nagle: true,
            restart_after_idle: true,
            max_retries: 15,
        }
    }
}

impl SenderConfig {
    pub(super) fn congestion(&self) -> Box<dyn Congestion> {
        let slow_start = SlowStartConfig {
            initial_window: self.initial_window.bytes(self.smss),
            initial_window_use: self.initial_window_use,
            initial_ssthresh: self.initial_ssthresh,
            ssthresh_estimate: self.ssthresh_estimate,
            byte_limit: self.byte_limit,
            growth: self.slow_start,
            probing: self.probing,
        };
        self.congestion.congestion(slow_start, self.smss)
    }
}
