//! What is said of a flow.

use super::{column, counts};
use crate::cell::Column;
use crate::cell::Kind::{Count, Number, Switch, Text};
use bentpipe_sim::record::FlowRow;

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
    counts::datagrams(),
    counts::arrived(),
    counts::segments(),
    counts::retransmissions(),
    counts::retransmitted(),
    counts::timeouts(),
    counts::recoveries(),
    column("min_rtt_s", Number, "s", "minimum round-trip time that the source measured", |f| {
        f.tally.min_rtt.into()
    }),
    column("srtt_s", Number, "s", "the source's smoothed round-trip time at the end", |f| {
        f.tally.srtt.into()
    }),
];
