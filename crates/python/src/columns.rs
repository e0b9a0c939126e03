//! What the columns of results say, as they are declared.

use bentpipe_lab::tables::Table;
use bentpipe_lab::{CellKind, Heading, SummaryTable, drawing};
use pyo3::prelude::*;

/// A column: its name, the type of its values, its unit, and what it says.
type Column = (String, &'static str, String, String);

/// The tables of results, and the columns of each, but for those of the point and the run.
#[pyfunction]
pub(crate) fn columns() -> Vec<(&'static str, Vec<Column>)> {
    let all = |headings: Vec<Heading>| headings.into_iter().map(column).collect();
    let summaries = SummaryTable::ALL.map(|table| (table.name(), all(table.headings())));
    let tables = Table::ALL.map(|table| (table.name(), all(table.headings())));
    summaries.into_iter().chain(tables).collect()
}

/// What `series` can have values of, with the unit of each.
#[pyfunction]
pub(crate) fn quantities() -> Vec<(&'static str, &'static str)> {
    drawing::QUANTITIES.iter().map(|(name, unit, _)| (*name, *unit)).collect()
}

fn column(heading: Heading) -> Column {
    let kind = match heading.kind {
        CellKind::Text => "str",
        CellKind::Count => "uint64",
        CellKind::Number => "float64",
        CellKind::Switch => "bool",
    };
    (heading.name, kind, heading.unit, heading.about)
}
