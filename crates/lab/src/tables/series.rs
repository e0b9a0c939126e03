//! What is recorded over time.

use super::column;
use crate::cell::Column;
use crate::cell::Kind::{Number, Text};
use bentpipe_core::time::Instant;
use bentpipe_sim::Outcome;

/// A value of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesRow {
    /// When.
    pub at: Instant,
    /// The flow, link direction or gateway.
    pub of: String,
    /// Which series, with its unit.
    pub series: String,
    /// The value.
    pub value: f64,
}

/// The columns.
pub const SERIES: &[Column<SeriesRow>] = &[
    column("time_s", Number, "s", "when", |s| s.at.into()),
    column("of", Text, "", "the flow, the link with its direction, or the gateway", |s| {
        (&s.of).into()
    }),
    column("series", Text, "", "what was recorded, with its unit", |s| (&s.series).into()),
    column("value", Number, "the series'", "the value", |s| s.value.into()),
];

/// The series of a run: none yet are recorded.
pub(super) fn of(_outcome: &Outcome) -> Vec<SeriesRow> {
    Vec::new()
}
