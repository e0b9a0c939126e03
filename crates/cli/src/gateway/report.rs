//! What the gateway did, told at its end.

use bentpipe_gateway::{Departure, Reason, Side, Summary};
use serde_json::{Value, json};
use std::io::{self, Write};

/// The gateway's counters.
pub(crate) struct Report {
    pub(crate) summary: Summary,
    /// Packets that the kernel did not take.
    pub(crate) refused: u64,
}

impl Report {
    /// For people.
    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Summary { split, closed, reset, route_changes, path_mtu_falls, lost_bytes, .. } =
            self.summary;
        let handed_back = self.summary.all_handed_back();
        writeln!(
            out,
            "flows split: {split} ({closed} closed, {reset} reset, {handed_back} handed back)"
        )?;
        if route_changes > 0 {
            writeln!(out, "flows whose route changed: {route_changes}")?;
        }
        if path_mtu_falls > 0 {
            writeln!(out, "legs told of a smaller path MTU: {path_mtu_falls}")?;
        }
        let reasons: Vec<String> = Reason::ALL
            .into_iter()
            .filter(|reason| self.summary.forwarded_flows(*reason) > 0)
            .map(|reason| format!("{}: {}", reason.name(), self.summary.forwarded_flows(reason)))
            .collect();
        let why = if reasons.is_empty() { "none".into() } else { reasons.join(", ") };
        writeln!(out, "flows forwarded: {why}")?;
        for (from, to) in [(Side::Lan, Side::Satellite), (Side::Satellite, Side::Lan)] {
            let (came, went) = (self.summary.side(from), self.summary.side(to));
            writeln!(
                out,
                "{} to {}: {} bytes taken, {} delivered, {} segments ({} bytes) sent again, \
                 {} timeouts",
                from.name(),
                to.name(),
                came.received_bytes,
                went.delivered_bytes,
                went.retransmissions,
                went.retransmitted_bytes,
                went.timeouts,
            )?;
        }
        if lost_bytes > 0 {
            writeln!(out, "acknowledged but not delivered, flows reset: {lost_bytes} bytes")?;
        }
        if self.refused > 0 {
            writeln!(out, "packets that the kernel did not take: {}", self.refused)?;
        }
        Ok(())
    }

    /// For machines.
    pub(crate) fn json(&self) -> Value {
        let summary = &self.summary;
        let forwarded = |count: &dyn Fn(Reason) -> u64| -> Value {
            Reason::ALL.into_iter().map(|reason| (reason.name(), json!(count(reason)))).collect()
        };
        let side = |side| {
            let stats = summary.side(side);
            json!({
                "received_bytes": stats.received_bytes,
                "delivered_bytes": stats.delivered_bytes,
                "retransmissions": stats.retransmissions,
                "retransmitted_bytes": stats.retransmitted_bytes,
                "timeouts": stats.timeouts,
            })
        };
        json!({
            "split": summary.split,
            "closed": summary.closed,
            "reset": summary.reset,
            "handed_back": Departure::ALL
                .into_iter()
                .map(|why| (why.name(), json!(summary.handed_back(why))))
                .collect::<Value>(),
            "route_changes": summary.route_changes,
            "path_mtu_falls": summary.path_mtu_falls,
            "lost_bytes": summary.lost_bytes,
            "forwarded_flows": forwarded(&|reason| summary.forwarded_flows(reason)),
            "forwarded_packets": forwarded(&|reason| summary.forwarded_packets(reason)),
            "legs": { "lan": side(Side::Lan), "satellite": side(Side::Satellite) },
            "refused_by_kernel_packets": self.refused,
        })
    }
}
