//! What flows count, of one flow and of all flows of a run.

use super::column;
use crate::cell::CellKind::Count;
use crate::cell::{Cell, Column};
use bentpipe_results::{ExtendedCounts, FlowCounts, FlowRow, RunRow};

/// A row that has such counts.
pub(super) trait Counted {
    fn counts(&self) -> &FlowCounts;
}

impl Counted for FlowRow {
    fn counts(&self) -> &FlowCounts {
        &self.counts
    }
}

impl Counted for RunRow {
    fn counts(&self) -> &FlowCounts {
        &self.counts
    }
}

/// A count that is absent of other TCPs than ours.
fn extended<R: Counted>(row: &R, count: fn(&ExtendedCounts) -> u64) -> Cell {
    row.counts().extended.as_ref().map(count).into()
}

pub(super) const fn delivered<R: Counted>() -> Column<R> {
    let about = "read by the receiving application after the warm-up";
    column("delivered_bytes", Count, "bytes", about, |row: &R| row.counts().delivered.into())
}

pub(super) const fn datagrams<R: Counted>() -> Column<R> {
    let about = "datagrams or pings sent after the warm-up";
    column("datagrams", Count, "packets", about, |row: &R| row.counts().datagrams.into())
}

pub(super) const fn arrived<R: Counted>() -> Column<R> {
    let about = "datagrams that arrived, or pings that were answered, after the warm-up";
    column("arrived_datagrams", Count, "packets", about, |row: &R| row.counts().arrived.into())
}

pub(super) const fn segments<R: Counted>() -> Column<R> {
    let about = "sent by the source after the warm-up, repeats included";
    column("segments", Count, "segments", about, |row: &R| row.counts().segments.into())
}

pub(super) const fn retransmissions<R: Counted>() -> Column<R> {
    let about = "segments of data retransmitted after the warm-up, probes apart";
    column("retransmissions", Count, "segments", about, |row: &R| {
        row.counts().retransmissions.into()
    })
}

pub(super) const fn retransmitted<R: Counted>() -> Column<R> {
    let about = "data retransmitted after the warm-up, by probes, too";
    column("retransmitted_bytes", Count, "bytes", about, |row: &R| {
        row.counts().retransmitted_bytes.into()
    })
}

pub(super) const fn timeouts<R: Counted>() -> Column<R> {
    let about = "expiries of the retransmission timer with data outstanding, after the warm-up";
    column("timeouts", Count, "events", about, |row: &R| row.counts().timeouts.into())
}

pub(super) const fn recoveries<R: Counted>() -> Column<R> {
    let about = "episodes of fast recovery after the warm-up";
    column("recoveries", Count, "events", about, |row: &R| row.counts().recoveries.into())
}

pub(super) const fn probes<R: Counted>() -> Column<R> {
    let about =
        "data retransmitted to bring an acknowledgment (tail loss probes), after the warm-up";
    column("probes", Count, "segments", about, |row: &R| extended(row, |counts| counts.probes))
}

pub(super) const fn fins<R: Counted>() -> Column<R> {
    let about = "FINs retransmitted without data, after the warm-up";
    column("fin_retransmissions", Count, "segments", about, |row: &R| {
        extended(row, |counts| counts.fin_retransmissions)
    })
}

pub(super) const fn needless<R: Counted>() -> Column<R> {
    let about = "segments that came to the sink though it had all their data, after the warm-up";
    column("needless_retransmissions", Count, "segments", about, |row: &R| {
        extended(row, |counts| counts.needless_retransmissions)
    })
}

pub(super) const fn fin_timeouts<R: Counted>() -> Column<R> {
    let about =
        "expiries of the retransmission timer with only a FIN outstanding, after the warm-up";
    column("fin_timeouts", Count, "events", about, |row: &R| {
        extended(row, |counts| counts.fin_timeouts)
    })
}

pub(super) const fn recovery_timeouts<R: Counted>() -> Column<R> {
    let about =
        "expiries of the retransmission timer in the midst of fast recovery, after the warm-up";
    column("recovery_timeouts", Count, "events", about, |row: &R| {
        extended(row, |counts| counts.recovery_timeouts)
    })
}

pub(super) const fn reductions<R: Counted>() -> Column<R> {
    let about = "of the congestion window, for losses, timeouts and ECN marks, after the warm-up";
    column("window_reductions", Count, "events", about, |row: &R| {
        extended(row, |counts| counts.reductions)
    })
}

pub(super) const fn by_corruption<R: Counted>() -> Column<R> {
    let about = "of these, those in which links had lost or damaged all that was retransmitted";
    column("corruption_recoveries", Count, "events", about, |row: &R| {
        extended(row, |counts| counts.causes.corruption)
    })
}

pub(super) const fn by_congestion<R: Counted>() -> Column<R> {
    let about = "of these, those in which a queue had dropped something, or nothing was lost";
    column("congestion_recoveries", Count, "events", about, |row: &R| {
        extended(row, |counts| counts.causes.congestion)
    })
}

pub(super) const fn corruption_answered<R: Counted>() -> Column<R> {
    let about =
        "of those by corruption, those in which the window was reduced: taken for congestion";
    column("corruption_answered", Count, "events", about, |row: &R| {
        extended(row, |counts| counts.causes.corruption_answered)
    })
}

pub(super) const fn congestion_unanswered<R: Counted>() -> Column<R> {
    let about =
        "of those by congestion, those in which the window was not reduced: taken for corruption";
    column("congestion_unanswered", Count, "events", about, |row: &R| {
        extended(row, |counts| counts.causes.congestion_unanswered)
    })
}
