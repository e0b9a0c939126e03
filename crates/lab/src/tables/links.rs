//! What is said of a direction of a link.

use super::column;
use crate::cell::CellKind::{Count, Number, Text};
use crate::cell::Column;
use crate::figures::queue;
use bentpipe_core::link::{self, Lengths};
use bentpipe_results::LinkRow;

/// The columns. Counts are of the measured part of the run.
pub const LINKS: &[Column<LinkRow>] = &[
    column("link", Text, "", "the link's name", |l| (&l.name).into()),
    column("from", Text, "", "the node where this direction begins", |l| (&l.from).into()),
    column("to", Text, "", "the node where it ends", |l| (&l.to).into()),
    column("offered_packets", Count, "packets", "that came to the queue", |l| {
        l.counters.offered.packets.into()
    }),
    column("offered_bytes", Count, "bytes", "that came to the queue, headers included", |l| {
        l.counters.offered.bytes.into()
    }),
    column("dropped_packets", Count, "packets", "dropped by the queue", |l| {
        l.counters.dropped.packets.into()
    }),
    column("lost_packets", Count, "packets", "sent, then lost on the way", |l| {
        l.counters.lost.packets.into()
    }),
    column("marked_packets", Count, "packets", "marked \"congestion experienced\"", |l| {
        l.counters.marked.packets.into()
    }),
    column("delivered_packets", Count, "packets", "that arrived", |l| {
        l.counters.delivered.packets.into()
    }),
    column("delivered_bytes", Count, "bytes", "that arrived, headers included", |l| {
        l.counters.delivered.bytes.into()
    }),
    column("drop_share", Number, "share", "dropped packets of those offered", |l| {
        share(l.counters.dropped, l.counters.offered).into()
    }),
    column(
        "capacity_bytes",
        Number,
        "bytes",
        "what it could have sent; empty without a rate",
        |l| l.capacity.into(),
    ),
    column(
        "utilisation",
        Number,
        "share",
        "bytes sent, lost ones included, of the capacity",
        |l| l.utilisation().into(),
    ),
    column("throughput_bps", Number, "bit/s", "bytes that arrived over the time", |l| {
        l.throughput().into()
    }),
    column("idle_s", Number, "s", "in which nothing waited or was being sent", |l| {
        l.lengths.as_ref().map(Lengths::empty).into()
    }),
    column(
        "queue_mean_packets",
        Number,
        "packets",
        "mean over time of those waiting or being sent",
        |l| l.mean_queue.0.into(),
    ),
    column(
        "queue_mean_bytes",
        Number,
        "bytes",
        "mean over time of those waiting or being sent",
        |l| l.mean_queue.1.into(),
    ),
    column("queue_sd_packets", Number, "packets", "standard deviation over time", |l| {
        l.lengths.as_ref().and_then(Lengths::standard_deviation).into()
    }),
    column("queue_median_packets", Number, "packets", "median over time", |l| queue(l, 0.5).into()),
    column("queue_p90_packets", Number, "packets", "90th percentile over time", |l| {
        queue(l, 0.9).into()
    }),
    column("queue_p95_packets", Number, "packets", "95th percentile over time", |l| {
        queue(l, 0.95).into()
    }),
    column("queue_p99_packets", Number, "packets", "99th percentile over time", |l| {
        queue(l, 0.99).into()
    }),
    column("queue_max_packets", Count, "packets", "maximum at once, warm-up included", |l| {
        l.longest_queue.packets.into()
    }),
    column("queue_max_bytes", Count, "bytes", "maximum at once, warm-up included", |l| {
        l.longest_queue.bytes.into()
    }),
];

fn share(part: link::Count, whole: link::Count) -> Option<f64> {
    (whole.packets > 0).then(|| part.packets as f64 / whole.packets as f64)
}
