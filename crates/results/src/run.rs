//! A run under way: where its records go, and why it may end without results.

use crate::{EventSink, PacketSink, SeriesSink};
use bentpipe_core::link::{Count, Counters};

/// Where a run's records go while it lasts.
#[derive(Debug, Default)]
pub struct Sinks {
    /// Every packet that passes a host or a side of a gateway, of those nodes and flows that
    /// [`Record`](bentpipe_scenario::Record) names. A capture looks and changes nothing: the outcome is
    /// the same with and without.
    pub packets: Option<Box<dyn PacketSink>>,
    /// What the connections of the same flows do there, and why.
    pub events: Option<Box<dyn EventSink>>,
    /// The values of time series. Without it they are collected in [`Outcome::series`](crate::Outcome::series).
    pub series: Option<Box<dyn SeriesSink>>,
}

/// What goes wrong in a run, apart from panics: none of it is the scenario's fault.
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
    /// On real hosts: a flow could not be what it should, or a byte was wrong.
    #[error("{0}")]
    Failed(String),
    /// The caller does not want the run any more.
    #[error("the run was given up")]
    Cancelled,
}
