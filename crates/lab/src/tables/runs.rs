//! What is said of a run.

use super::{column, counts};
use crate::cell::CellKind::{Count, Number, Text};
use crate::cell::{Cell, Column};
use bentpipe_results::RunRow;

/// The columns. Seeds and digests are texts: many programs round 64-bit numbers.
pub const RUNS: &[Column<RunRow>] = &[
    column("seed", Text, "", "the run's random seed, hexadecimal", |r| hexadecimal(r.seed)),
    column("end_s", Number, "s", "when the run ended", |r| r.end.into()),
    column(
        "goodput_bps",
        Number,
        "bit/s",
        "of all flows together, over the time in which any of them lived",
        |r| r.goodput.into(),
    ),
    column("fairness_jain", Number, "1/n to 1", "Jain's index of the flows' goodputs", |r| {
        r.fairness.into()
    }),
    column("utilisation", Number, "share", "of the busiest direction of a link with a rate", |r| {
        r.utilisation.into()
    }),
    column("dropped_packets", Count, "packets", "dropped by queues, of all links", |r| {
        r.dropped.into()
    }),
    column("lost_packets", Count, "packets", "lost on links, of all links", |r| r.lost.into()),
    counts::delivered(),
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
    counts::recoveries(),
    counts::reductions(),
    counts::by_corruption(),
    counts::corruption_answered(),
    counts::by_congestion(),
    counts::congestion_unanswered(),
    column("packets", Count, "packets", "arrivals at nodes since the beginning", |r| {
        r.packets.into()
    }),
    column("digest", Text, "", "of every packet's arrival: equal runs have equal ones", |r| {
        r.digest.map(hexadecimal).into()
    }),
];

fn hexadecimal(number: u64) -> Cell {
    Cell::Text(format!("{number:016x}"))
}
