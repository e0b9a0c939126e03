//! What is said of a group of flows.

use super::column;
use crate::cell::CellKind::{Count, Number, Text};
use crate::cell::Column;
use bentpipe_results::GroupRow;

/// The columns.
pub const GROUPS: &[Column<GroupRow>] = &[
    column("group", Text, "", "the group's name", |g| (&g.name).into()),
    column("flows", Count, "flows", "that are in it", |g| g.flows.into()),
    column("goodput_sum_bps", Number, "bit/s", "sum of the flows' goodputs", |g| {
        g.goodput.sum.into()
    }),
    column("goodput_per_flow_bps", Number, "bit/s", "mean of the flows' goodputs", |g| {
        g.goodput.mean().into()
    }),
    column("goodput_variation", Number, "share", "their standard deviation ÷ their mean", |g| {
        g.goodput.variation().into()
    }),
    column("fairness_jain", Number, "1/n to 1", "Jain's index of the flows' goodputs", |g| {
        g.goodput.jain().into()
    }),
    column("completion_per_flow_s", Number, "s", "mean of the flows' mean completion times", |g| {
        g.completion.mean().into()
    }),
    column(
        "completion_variation",
        Number,
        "share",
        "their standard deviation ÷ their mean",
        |g| g.completion.variation().into(),
    ),
];
