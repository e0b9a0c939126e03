//! Connections that were not split, by reason.

use crate::command::reasons;
use crate::command::top::look::{Totals, Word};
use bentpipe_gateway::Reason;
use serde::Serialize;

/// A reason, and how much it kept from being split since the gateway began.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ReasonRow {
    pub(crate) reason: Word,
    pub(crate) connections: u64,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// In words, if this program knows it.
    pub(crate) meaning: Option<&'static str>,
}

/// Reasons that there were, those with most bytes first.
pub(super) fn reasons(totals: &Totals) -> Vec<ReasonRow> {
    let row = |(name, packets): (&String, &u64)| ReasonRow {
        reason: name.clone().into(),
        connections: totals.forwarded_flows.get(name).copied().unwrap_or(0),
        packets: *packets,
        bytes: totals.forwarded_bytes.get(name).copied().unwrap_or(0),
        meaning: Reason::ALL.into_iter().find(|reason| reason.name() == name).map(reasons::cause),
    };
    let rows = totals.forwarded_packets.iter().map(row);
    let mut rows: Vec<ReasonRow> =
        rows.filter(|row| row.connections > 0 || row.packets > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.bytes, row.packets, row.connections)));
    rows
}
