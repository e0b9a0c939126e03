//! The tables of results. A column is declared once: its name, unit and meaning, and where its
//! cells come from; files, their README and the tests go by that. `docs/metrics.md` has the
//! definitions at length.

mod counts;
mod flows;
mod gateways;
mod groups;
mod links;
mod runs;
mod series;
mod transfers;

use crate::cell::{self, CellKind, Column, Heading, Row};
use bentpipe_results::RunResults;

pub use flows::FLOWS;
pub use gateways::GATEWAYS;
pub use groups::GROUPS;
pub use links::LINKS;
pub use runs::RUNS;
pub use series::SERIES;
pub use transfers::TRANSFERS;

/// How many tables there are.
pub(crate) const TABLES: usize = 7;

/// A table of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// One row a flow.
    Results,
    /// One row a run.
    Runs,
    /// One row a direction of a link.
    Links,
    /// One row a gateway.
    Gateways,
    /// One row a group of flows.
    Groups,
    /// One row a transfer.
    Transfers,
    /// One row a moment, thing and series.
    Series,
}

impl Table {
    /// All, in the order in which a run's record holds them.
    pub const ALL: [Table; TABLES] = [
        Table::Results,
        Table::Runs,
        Table::Links,
        Table::Gateways,
        Table::Groups,
        Table::Transfers,
        Table::Series,
    ];

    /// The name of its files.
    pub fn name(self) -> &'static str {
        match self {
            Table::Results => "results",
            Table::Runs => "runs",
            Table::Links => "links",
            Table::Gateways => "gateways",
            Table::Groups => "groups",
            Table::Transfers => "transfers",
            Table::Series => "series",
        }
    }

    /// What a row is.
    pub fn about(self) -> &'static str {
        match self {
            Table::Results => "one row a flow of a run",
            Table::Runs => "one row a run; sums are over the flows that are not background",
            Table::Links => "one row a direction of a link in a run",
            Table::Gateways => "one row a gateway of a run",
            Table::Groups => "one row a group of flows in a run",
            Table::Transfers => {
                "one row a transfer (file, reply, page) of a flow that is not background"
            }
            Table::Series => "one row a moment and recorded series of a run",
        }
    }

    /// Its own columns, without those of the point and the run.
    pub fn headings(self) -> Vec<Heading> {
        match self {
            Table::Results => cell::headings(FLOWS),
            Table::Runs => cell::headings(RUNS),
            Table::Links => cell::headings(LINKS),
            Table::Gateways => cell::headings(GATEWAYS),
            Table::Groups => cell::headings(GROUPS),
            Table::Transfers => cell::headings(TRANSFERS),
            Table::Series => cell::headings(SERIES),
        }
    }

    /// Its rows of `results`.
    pub(crate) fn rows(self, results: &RunResults) -> Vec<Row> {
        match self {
            Table::Results => rows(FLOWS, &results.flows),
            Table::Runs => rows(RUNS, std::slice::from_ref(&results.run)),
            Table::Links => rows(LINKS, &results.links),
            Table::Gateways => rows(GATEWAYS, &results.gateways),
            Table::Groups => rows(GROUPS, &results.groups),
            Table::Transfers => rows(TRANSFERS, &results.transfers),
            Table::Series => rows(SERIES, &results.series),
        }
    }
}

fn rows<R>(columns: &[Column<R>], rows: &[R]) -> Vec<Row> {
    rows.iter().map(|row| cell::row(columns, row)).collect()
}

const fn column<R>(
    name: &'static str,
    kind: CellKind,
    unit: &'static str,
    about: &'static str,
    cell: fn(&R) -> crate::Cell,
) -> Column<R> {
    Column { name, kind, unit, about, cell }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::time::{Duration, Instant};
    use bentpipe_gateway::{PerSide, Reason};
    use bentpipe_results::{Completions, FlowCounts, FlowRow, GatewayRow, LegCounts, RunRow};

    /// The columns that `columns` leave empty of `row`.
    fn empty<R>(columns: &[Column<R>], row: &R) -> Vec<&'static str> {
        let cells = columns.iter().filter(|column| (column.cell)(row) == cell::Cell::None);
        cells.map(|column| column.name).collect()
    }

    fn flow(counts: FlowCounts) -> FlowRow {
        FlowRow {
            name: "main".to_owned(),
            background: false,
            started: Some(Instant::ZERO),
            finished: Some(Instant::from_millis(500)),
            counts,
            goodput: 0.0,
            connections: 1,
            begun: 1,
            completed: 1,
            mean_completion: Some(Duration::from_millis(500)),
            completions: Completions::of(vec![Duration::from_millis(500)]),
            efficiency: Some(0.0),
            ssthresh_error: None,
        }
    }

    /// A run of this flow alone.
    fn run(flow: &FlowRow) -> RunRow {
        let measured = (Instant::ZERO, Instant::from_millis(1000));
        RunRow::of(1, measured, std::slice::from_ref(flow), &[])
    }

    /// What a kernel's sockets count at most.
    fn live() -> FlowCounts {
        let min_rtt = Some(Duration::from_millis(1));
        FlowCounts { timeouts: None, extended: None, min_rtt, srtt: min_rtt, ..FlowCounts::ZERO }
    }

    #[test]
    fn what_a_kernel_does_not_count_is_empty_and_not_zero() {
        let uncounted = [
            "probes",
            "fin_retransmissions",
            "needless_retransmissions",
            "timeouts",
            "fin_timeouts",
            "recovery_timeouts",
            "bound_share",
            "window_reductions",
            "corruption_recoveries",
            "corruption_answered",
            "congestion_recoveries",
            "congestion_unanswered",
            "first_recovery_s",
            "first_recovery_reductions",
            "ssthresh_estimate_bytes",
            "ssthresh_estimate_error",
        ];
        let flow = flow(live());
        assert_eq!(empty(FLOWS, &flow), uncounted);
        let of_runs = |name: &&str| RUNS.iter().any(|column| column.name == *name);
        let mut expected: Vec<&str> = uncounted.into_iter().filter(of_runs).collect();
        // Without a link there is no utilisation, and of nothing delivered no fairness.
        expected.splice(0..0, ["fairness_jain", "utilisation"]);
        expected.extend(["packets", "digest"]);
        assert_eq!(empty(RUNS, &run(&flow)), expected);
    }

    #[test]
    fn what_a_simulated_flow_has_not_done_is_zero_and_not_empty() {
        let counts = empty(FLOWS, &flow(FlowCounts::ZERO));
        let none = ["bound_share", "first_recovery_s", "first_recovery_reductions"];
        assert_eq!(counts[..3], none);
        assert!(!empty(RUNS, &run(&flow(FlowCounts::ZERO))).contains(&"timeouts"));
    }

    #[test]
    fn what_a_gateway_does_not_say_is_empty() {
        let leg = LegCounts {
            received_bytes: None,
            delivered_bytes: Some(0),
            retransmissions: None,
            retransmitted_bytes: None,
            timeouts: None,
            recovery_timeouts: None,
            recoveries: None,
            reductions: None,
            reduced_again: None,
        };
        let mut row = GatewayRow {
            name: "g".to_owned(),
            split: Some(0),
            adopted: None,
            closed: None,
            reset: None,
            released: None,
            lost_bytes: None,
            forwarded_flows: None,
            forwarded_packets: Reason::ALL.map(|_| Some(0)),
            legs: PerSide::of(|_| leg),
            mean_held: None,
            max_held: None,
        };
        row.forwarded_packets[Reason::HalfOpen as usize] = None;
        let filled: Vec<&str> = GATEWAYS.iter().map(|column| column.name).collect();
        let empty = empty(GATEWAYS, &row);
        let filled = filled.into_iter().filter(|name| !empty.contains(name));
        // A sum that lacks a reason is absent.
        let expected = [
            "gateway",
            "split_flows",
            "forwarded_unknown_flow_packets",
            "forwarded_options_packets",
            "forwarded_route_packets",
            "forwarded_not_opened_packets",
            "forwarded_not_tcp_packets",
            "lan_delivered_bytes",
            "satellite_delivered_bytes",
        ];
        assert_eq!(filled.collect::<Vec<_>>(), expected);
    }
}
