//! Connections that were not split, by reason, and what passes in the kernel, by class.

use crate::command::reasons;
use crate::command::top::look::{Status, Word};
use bentpipe_gateway::Reason;
use serde::Serialize;
use std::collections::BTreeMap;

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

/// Classes of traffic that passes in the kernel, with what they are.
const CLASSES: [(&str, &str); 4] = [
    ("tcp", "passes in the kernel: released, of other interfaces, or the host's own"),
    ("quic", "passes in the kernel: UDP port 443, which nobody can split"),
    ("udp", "passes in the kernel: other UDP"),
    ("other-ip", "passes in the kernel: ICMP, ESP, tunnels"),
];

/// Reasons and classes that there were, those with most bytes first.
pub(super) fn reasons(status: &Status) -> Vec<ReasonRow> {
    let totals = &status.totals;
    let row = |(name, packets): (&String, &u64)| ReasonRow {
        reason: name.clone().into(),
        connections: totals.forwarded_flows.get(name).copied().unwrap_or(0),
        packets: *packets,
        bytes: totals.forwarded_bytes.get(name).copied().unwrap_or(0),
        meaning: Reason::ALL.into_iter().find(|reason| reason.name() == name).map(reasons::cause),
    };
    let class = |(name, meaning): (&'static str, &'static str)| {
        let directions = || status.passed.get(name).into_iter().flat_map(BTreeMap::values);
        ReasonRow {
            reason: name.to_owned().into(),
            connections: 0,
            packets: directions().map(|traffic| traffic.packets).sum(),
            bytes: directions().map(|traffic| traffic.bytes).sum(),
            meaning: Some(meaning),
        }
    };
    let rows = totals.forwarded_packets.iter().map(row).chain(CLASSES.into_iter().map(class));
    let mut rows: Vec<ReasonRow> =
        rows.filter(|row| row.connections > 0 || row.packets > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.bytes, row.packets, row.connections)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_in_the_kernel_stands_among_the_reasons() {
        let status = serde_json::from_value(serde_json::json!({
            "totals": {
                "forwarded_flows": { "policy": 3 },
                "forwarded_packets": { "policy": 30, "options": 0 },
                "forwarded_bytes": { "policy": 3000 },
            },
            "passed": {
                "quic": { "out": { "packets": 5, "bytes": 500 }, "in": { "packets": 50, "bytes": 50_000 } },
                "other-ip": { "out": { "packets": 0, "bytes": 0 }, "in": { "packets": 0, "bytes": 0 } },
                "not-ip": { "out": { "packets": 9, "bytes": 900 }, "in": { "packets": 0, "bytes": 0 } },
            },
        }));
        let rows = reasons(&status.unwrap());
        let shown: Vec<_> =
            rows.iter().map(|row| (&*row.reason, row.connections, row.bytes)).collect();
        assert_eq!(shown, [("quic", 0, 50_500), ("policy", 3, 3000)]);
    }
}
