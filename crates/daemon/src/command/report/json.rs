//! The gateway's totals for machines.

use super::{Report, Shares};
use crate::control::Totals;
use crate::work::{DeviceWork, Work};
use bentpipe_core::units::{Bytes, Rate};
use bentpipe_gateway::{Reason, Release, RemoteView, Side};
use bentpipe_linux::process_usage::ProcessUsage;
use serde_json::{Value, json};

impl Report {
    /// The gateway's state and counters.
    pub(in super::super) fn status_json(&self) -> Value {
        let Totals { uptime, held, memory, peer_known, satellite_link: link, .. } = self.totals;
        let flows: Value =
            self.totals.flows.iter().map(|(state, n)| (state.name(), json!(n))).collect();
        json!({
            "uptime_s": uptime.as_secs_f64(),
            "peer_known": peer_known,
            "satellite_link": {
                "losses": link.losses.name(),
                "circuit_broken": link.circuit_broken,
                "rate_bps": link.rate.map(Rate::bits_per_sec),
                "rate_told": link.told,
                "contradiction": link.contradiction.map(|theirs| theirs.to_string()),
                "used_at_bps": link.used_at.map(Rate::bits_per_sec),
            },
            "remotes": self.totals.remotes.iter().map(remote).collect::<Value>(),
            "flows": flows,
            "held_bytes": held.count(),
            "memory_bytes": memory.count(),
            "satellite_acknowledgments": self.totals.acknowledgments,
            "work": work(&self.totals.work, self.totals.usage),
            "totals": self.json(),
        })
    }

    /// The counters since the gateway began.
    pub(in super::super) fn json(&self) -> Value {
        let summary = &self.totals.summary;
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
                "recovery_timeouts": stats.recovery_timeouts,
                "recoveries": stats.recoveries,
                "window_reductions": stats.reductions,
                "flows_reduced_again": stats.reduced_again,
                "discarded": stats.discarded,
            })
        };
        let Shares { of_packets, of_bytes, of_flows } = Shares::of(summary);
        json!({
            "split": summary.split,
            "adopted": summary.adopted,
            "closed": summary.closed,
            "reset": summary.reset,
            "released": Release::ALL
                .into_iter()
                .map(|why| (why.name(), json!(summary.released(why))))
                .collect::<Value>(),
            "panicked": summary.panicked,
            "route_changes": summary.route_changes,
            "path_mtu_falls": summary.path_mtu_falls,
            "lost_bytes": summary.lost_bytes,
            "forwarded_resets": summary.forwarded_resets,
            "foreign_announcements": summary.foreign_announcements,
            "split_packets": summary.split_traffic.packets,
            "split_bytes": summary.split_traffic.bytes,
            "forwarded_flows": forwarded(&|reason| summary.forwarded_flows(reason)),
            "forwarded_packets": forwarded(&|reason| summary.forwarded(reason).packets),
            "forwarded_bytes": forwarded(&|reason| summary.forwarded(reason).bytes),
            "forwarded_share": { "flows": of_flows, "packets": of_packets, "bytes": of_bytes },
            "legs": { "lan": side(Side::Lan), "satellite": side(Side::Satellite) },
            "refused_by_kernel_packets": self.totals.work.refused(),
        })
    }
}

/// A remote.
fn remote(remote: &RemoteView) -> Value {
    json!({
        "name": remote.name.to_string(),
        "flows": remote.flows,
        "used_at_bps": remote.used_at.map(Rate::bits_per_sec),
        "window_bytes": remote.window.map(Bytes::count),
    })
}

/// The system calls of the loop, and their cost.
fn work(work: &Work, usage: ProcessUsage) -> Value {
    let device = |side: Side| {
        let DeviceWork {
            reads,
            read_bytes,
            empty_reads,
            writes,
            written_bytes,
            bare_acks,
            refused: _,
        } = work.devices[side as usize];
        json!({
            "reads": reads,
            "read_bytes": read_bytes,
            "empty_reads": empty_reads,
            "writes": writes,
            "written_bytes": written_bytes,
            "bare_acks": bare_acks,
        })
    };
    json!({
        "processor_s": usage.processor.as_secs_f64(),
        "waits": work.waits,
        "system_calls": work.system_calls(),
        "page_faults": usage.minor_faults,
        "context_switches": usage.context_switches,
        "lan": device(Side::Lan),
        "satellite": device(Side::Satellite),
    })
}
