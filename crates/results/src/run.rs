//! A run under way: the receivers of its records, and its errors.

use crate::{EventSink, PacketSink, SeriesSink};
use bentpipe_core::link::{Count, Counters};

/// The receivers of a run's records while it lasts.
#[derive(Debug, Default)]
pub struct Sinks {
    /// Packets that pass hosts and sides of gateways.
    ///
    /// They are those of the nodes and flows that
    /// [`SeriesRecording`](bentpipe_scenario::SeriesRecording) names. A capture looks and changes
    /// nothing: the outcome is the same with and without.
    pub packets: Option<Box<dyn PacketSink>>,
    /// Events of the same flows' connections there, with their causes.
    pub events: Option<Box<dyn EventSink>>,
    /// The values of time series. Without it they are collected in
    /// [`RunResults::series`](crate::RunResults::series).
    pub series: Option<Box<dyn SeriesSink>>,
}

/// An error of a run, apart from panics.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A line's packets do not add up.
    #[error("packets on link {link} do not add up: {counters:?}, {inside:?} inside")]
    Conservation {
        /// The link's name.
        link: String,
        /// What it has counted.
        counters: Counters,
        /// What is still inside.
        inside: Count,
    },
    /// A flow could not be what it should, a byte was wrong, or a node cannot be played here.
    #[error("{0}")]
    Failed(String),
    /// The caller does not want the run any more.
    #[error("the run was given up")]
    Cancelled,
}
