//! The row of a flow.

use crate::{Completions, FlowCounts};
use bentpipe_core::time::{Duration, Instant};

/// A flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowRow {
    /// Its name.
    pub name: String,
    /// It is there for the others.
    pub background: bool,
    /// When it began, if it did.
    pub started: Option<Instant>,
    /// When nothing more was to come.
    pub finished: Option<Instant>,
    /// Its counts in the measured time.
    pub counts: FlowCounts,
    /// The bytes delivered over the measured time, in bit/s.
    pub goodput: f64,
    /// Connections opened since the beginning.
    pub connections: u64,
    /// Transfers begun since the beginning.
    pub begun: u64,
    /// Transfers completed since the beginning.
    pub completed: u64,
    /// The mean time that they took.
    pub mean_completion: Option<Duration>,
    /// The spread of these times; `None` of background, whose times are not kept.
    pub completions: Option<Completions>,
    /// Goodput as a share of the slowest link's rate, headers taken off.
    pub efficiency: Option<f64>,
    /// The excess of the first estimated slow start threshold: a share of the path's content.
    ///
    /// The path holds what its slowest link can carry in the minimum round-trip time.
    pub ssthresh_error: Option<f64>,
}

impl FlowRow {
    /// The part of the measured time in which it lived.
    pub fn life(&self, measured: (Instant, Instant)) -> (Instant, Instant) {
        life(self.started, self.finished, measured)
    }
}

/// The part of the measured time between a flow's beginning and its end.
pub fn life(
    started: Option<Instant>,
    finished: Option<Instant>,
    (from, to): (Instant, Instant),
) -> (Instant, Instant) {
    let begin = started.map_or(from, |started| started.max(from));
    (begin, finished.map_or(to, |finished| finished.min(to)))
}

/// `delivered` bytes over the time between two moments, in bit/s.
pub fn goodput(delivered: u64, (begin, end): (Instant, Instant)) -> f64 {
    let span = end.saturating_since(begin).as_secs_f64();
    if span > 0.0 { delivered as f64 * 8.0 / span } else { 0.0 }
}
