//! What is said of a flow.

use super::{column, counts};
use crate::cell::CellKind::{Count, Number, Switch, Text};
use crate::cell::Column;
use bentpipe_results::FlowRow;

/// A column of how completion times are spread.
macro_rules! completion {
    ($name:literal, $about:literal, $which:ident) => {
        column($name, Number, "s", $about, |f: &FlowRow| {
            f.completions.as_ref().map(|completions| completions.$which).into()
        })
    };
}

/// The columns.
pub const FLOWS: &[Column<FlowRow>] = &[
    column("flow", Text, "", "the flow's name; of several of a kind with .1, .2 behind it", |f| {
        (&f.name).into()
    }),
    column("background", Switch, "", "whether it is there for the others only", |f| {
        f.background.into()
    }),
    column("start_s", Number, "s", "when its first transfer began", |f| f.started.into()),
    column("finish_s", Number, "s", "when nothing more was to come; empty if it never was", |f| {
        f.finished.into()
    }),
    counts::delivered(),
    column(
        "goodput_bps",
        Number,
        "bit/s",
        "those bytes over the measured part of the flow's life",
        |f| f.goodput.into(),
    ),
    column("connections", Count, "connections", "opened, warm-up included", |f| {
        f.connections.into()
    }),
    column("transfers_begun", Count, "transfers", "begun, warm-up included", |f| f.begun.into()),
    column("transfers", Count, "transfers", "completed, warm-up included", |f| f.completed.into()),
    column(
        "completion_mean_s",
        Number,
        "s",
        "mean time of a completed transfer, from its SYN or request to its last byte read",
        |f| f.mean_completion.into(),
    ),
    completion!("completion_min_s", "shortest of these times", min),
    completion!("completion_median_s", "their median", median),
    completion!("completion_p90_s", "their 90th percentile", p90),
    completion!("completion_p95_s", "their 95th percentile", p95),
    completion!("completion_p99_s", "their 99th percentile", p99),
    completion!("completion_max_s", "longest of these times", max),
    column(
        "efficiency",
        Number,
        "share",
        "goodput as a share of what the slowest link on the path can carry, headers taken off",
        |f| f.efficiency.into(),
    ),
    counts::datagrams(),
    counts::arrived(),
    counts::segments(),
    counts::retransmissions(),
    counts::probes(),
    counts::fins(),
    counts::retransmitted(),
    counts::needless(),
    counts::timeouts(),
    counts::fin_timeouts(),
    counts::recovery_timeouts(),
    column(
        "bound_share",
        Number,
        "share",
        "acknowledgments in congestion avoidance for which Constant-Rate or Increase-by-K is held to one segment",
        |f| f.counts.extended.and_then(|counts| counts.bound_share()).into(),
    ),
    counts::recoveries(),
    counts::reductions(),
    counts::by_corruption(),
    counts::corruption_answered(),
    counts::by_congestion(),
    counts::congestion_unanswered(),
    column(
        "first_recovery_s",
        Number,
        "s",
        "from the first fast retransmission or timeout until all is acknowledged that was outstanding then",
        |f| f.counts.first_recovery.map(|(time, _)| time).into(),
    ),
    column(
        "first_recovery_reductions",
        Count,
        "events",
        "reductions of the congestion window in that time",
        |f| f.counts.first_recovery.map(|(_, reductions)| reductions).into(),
    ),
    column("min_rtt_s", Number, "s", "minimum round-trip time that the source measured", |f| {
        f.counts.min_rtt.into()
    }),
    column("srtt_s", Number, "s", "the source's smoothed round-trip time at the end", |f| {
        f.counts.srtt.into()
    }),
    column(
        "ssthresh_estimate_bytes",
        Count,
        "bytes",
        "the first slow start threshold, where the source estimates one (`ssthresh-estimate`)",
        |f| f.counts.ssthresh_estimate.into(),
    ),
    column(
        "ssthresh_estimate_error",
        Number,
        "share",
        "by how much that is more than the path's slowest link carries in the minimum round-trip time; negative if less",
        |f| f.ssthresh_error.into(),
    ),
];
