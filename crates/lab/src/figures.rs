//! The figures that summaries are made of: one number each of a flow, a link, a group or a run. One
//! that is added here is in the summaries' tables and in their JSON, with its mean and its spread
//! over the runs.

use bentpipe_core::time::Duration;
use bentpipe_results::{Completions, ExtendedCounts, FlowRow, GroupRow, LinkRow, RunRow};

/// A number that a run gives of an `R`.
pub struct Figure<R> {
    /// Its name.
    pub name: &'static str,
    /// What its columns' names end in: its unit.
    pub suffix: &'static str,
    /// Its unit, or what is counted.
    pub unit: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its value, if there is one.
    pub of: fn(&R) -> Option<f64>,
}

impl<R> Figure<R> {
    /// Its name with its unit, as in JSON.
    pub fn key(&self) -> String {
        format!("{}{}", self.name, self.suffix)
    }
}

const fn figure<R>(
    name: &'static str,
    suffix: &'static str,
    unit: &'static str,
    about: &'static str,
    of: fn(&R) -> Option<f64>,
) -> Figure<R> {
    Figure { name, suffix, unit, about, of }
}

fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

fn completion(flow: &FlowRow, of: fn(&Completions) -> Duration) -> Option<f64> {
    flow.completions.as_ref().map(|completions| seconds(of(completions)))
}

/// A count that is absent of other TCPs than ours.
fn extended(flow: &FlowRow, count: fn(&ExtendedCounts) -> u64) -> Option<f64> {
    flow.counts.extended.as_ref().map(|extended| count(extended) as f64)
}

/// Of flows that are not background.
pub const FLOW_FIGURES: &[Figure<FlowRow>] = &[
    figure("goodput", "_bps", "bit/s", "goodput", |f| Some(f.goodput)),
    figure("completion", "_s", "s", "mean completion time", |f| f.mean_completion.map(seconds)),
    figure("completion_min", "_s", "s", "shortest completion time", |f| completion(f, |c| c.min)),
    figure("completion_median", "_s", "s", "median of the completion times", |f| {
        completion(f, |c| c.median)
    }),
    figure("completion_p95", "_s", "s", "95th percentile of the completion times", |f| {
        completion(f, |c| c.p95)
    }),
    figure("completion_p99", "_s", "s", "99th percentile of the completion times", |f| {
        completion(f, |c| c.p99)
    }),
    figure("efficiency", "", "share", "goodput as a share of what the path can carry", |f| {
        f.efficiency
    }),
    figure("retransmissions", "", "segments", "retransmissions of data", |f| {
        Some(f.counts.retransmissions as f64)
    }),
    figure("needless_retransmissions", "", "segments", "segments that the receiver had", |f| {
        extended(f, |counts| counts.needless_retransmissions)
    }),
    figure("timeouts", "", "events", "retransmission timeouts with data outstanding", |f| {
        f.counts.timeouts.map(|timeouts| timeouts as f64)
    }),
    figure("bound_share", "", "share", "acknowledgments held to an increase of one segment", |f| {
        f.counts.extended?.bound_share()
    }),
    figure("window_reductions", "", "events", "reductions of the congestion window", |f| {
        extended(f, |counts| counts.reductions)
    }),
    figure("first_recovery", "_s", "s", "length of the first recovery", |f| {
        f.counts.first_recovery.map(|(time, _)| seconds(time))
    }),
    figure("first_recovery_reductions", "", "events", "reductions in the first recovery", |f| {
        f.counts.first_recovery.map(|(_, reductions)| reductions as f64)
    }),
];

/// Of runs.
pub const RUN_FIGURES: &[Figure<RunRow>] = &[
    figure(
        "utilisation",
        "",
        "share",
        "utilisation of the busiest link direction; the point's",
        |r| r.utilisation,
    ),
    figure("fairness_jain", "", "1/n to 1", "Jain's index; the point's", |r| r.fairness),
];

/// Of directions of links.
pub const LINK_FIGURES: &[Figure<LinkRow>] = &[
    figure("utilisation", "", "share", "utilisation", LinkRow::utilisation),
    figure("throughput", "_bps", "bit/s", "rate of what arrived", LinkRow::throughput),
    figure("drop_share", "", "share", "packets dropped of those offered", |l| {
        let (dropped, offered) = (l.counters.dropped.packets, l.counters.offered.packets);
        (offered > 0).then(|| dropped as f64 / offered as f64)
    }),
    figure("queue_mean", "_packets", "packets", "mean length of the queue", |l| {
        Some(l.mean_queue.0)
    }),
    figure("queue_sd", "_packets", "packets", "standard deviation of that over time", |l| {
        l.lengths.as_ref()?.standard_deviation()
    }),
    figure("queue_median", "_packets", "packets", "median length of the queue", |l| queue(l, 0.5)),
    figure("queue_p95", "_packets", "packets", "95th percentile of the length over time", |l| {
        queue(l, 0.95)
    }),
    figure("idle", "_s", "s", "time in which the line sent nothing", |l| {
        l.lengths.as_ref().map(|lengths| seconds(lengths.empty()))
    }),
];

/// Of groups of flows.
pub const GROUP_FIGURES: &[Figure<GroupRow>] = &[
    figure("goodput_sum", "_bps", "bit/s", "sum of the flows' goodputs", |g| Some(g.goodput.sum)),
    figure("goodput_per_flow", "_bps", "bit/s", "mean of the flows' goodputs", |g| {
        g.goodput.mean()
    }),
    figure("goodput_variation", "", "share", "their standard deviation ÷ their mean", |g| {
        g.goodput.variation()
    }),
    figure("fairness_jain", "", "1/n to 1", "Jain's index of their goodputs", |g| g.goodput.jain()),
    figure("completion_per_flow", "_s", "s", "mean of the flows' mean completion times", |g| {
        g.completion.mean()
    }),
    figure("completion_variation", "", "share", "their standard deviation ÷ their mean", |g| {
        g.completion.variation()
    }),
];

/// The length that a link's queue did not exceed for this share of the time.
pub(crate) fn queue(link: &LinkRow, share: f64) -> Option<f64> {
    link.lengths.as_ref()?.quantile(share).map(|packets| packets as f64)
}

/// The values of `figures` of `row`.
pub(crate) fn values<R>(figures: &[Figure<R>], row: &R) -> Vec<Option<f64>> {
    figures.iter().map(|figure| (figure.of)(row)).collect()
}
