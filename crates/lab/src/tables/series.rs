//! What is recorded over time.

use super::column;
use crate::cell::CellKind::{Number, Text};
use crate::cell::{Cell, Column};
use bentpipe_results::Sample;

/// The columns.
pub const SERIES: &[Column<Sample>] = &[
    column("time_s", Number, "s", "when", |s| s.at.into()),
    column(
        "element",
        Text,
        "",
        "a flow, a link with /forward or /back, a gateway or a middlebox",
        |s| Cell::Text(s.element.to_string()),
    ),
    column("quantity", Text, "", "what was recorded of it", |s| Cell::Text(s.quantity.to_owned())),
    column("value", Number, "bytes, packets, s, bit/s", "in the quantity's base unit", |s| {
        s.value.into()
    }),
];
