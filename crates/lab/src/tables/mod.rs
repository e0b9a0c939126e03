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

use crate::cell::{self, Column, Heading, Kind, Row};
use bentpipe_results::Outcome;

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

    /// Its rows of `outcome`.
    pub(crate) fn rows(self, outcome: &Outcome) -> Vec<Row> {
        match self {
            Table::Results => rows(FLOWS, &outcome.flows),
            Table::Runs => rows(RUNS, std::slice::from_ref(&outcome.run)),
            Table::Links => rows(LINKS, &outcome.links),
            Table::Gateways => rows(GATEWAYS, &outcome.gateways),
            Table::Groups => rows(GROUPS, &outcome.groups),
            Table::Transfers => rows(TRANSFERS, &outcome.transfers),
            Table::Series => rows(SERIES, &outcome.series),
        }
    }
}

fn rows<R>(columns: &[Column<R>], rows: &[R]) -> Vec<Row> {
    rows.iter().map(|row| cell::row(columns, row)).collect()
}

const fn column<R>(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    about: &'static str,
    cell: fn(&R) -> crate::Cell,
) -> Column<R> {
    Column { name, kind, unit, about, cell }
}
