//! Time series, as a run hands them over.

use bentpipe_core::time::Instant;
use std::fmt;
use std::sync::Arc;

/// A value at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// Of what: a flow's name, a link's with `/forward` or `/back`, a gateway's, a middlebox's.
    pub element: Arc<str>,
    /// The quantity's name: that of the series, in bytes, seconds or bit/s.
    ///
    /// Or `queue-packets` and `queue-bytes`; `segment`, `segment-end` and `ack`.
    pub quantity: &'static str,
    /// The value.
    pub value: f64,
}

/// Takes the values of a run's time series as they come, by time.
pub trait SeriesSink: fmt::Debug {
    /// The next value.
    fn sample(&mut self, sample: &Sample);
}
