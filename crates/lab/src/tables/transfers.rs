//! What is said of a transfer.

use super::column;
use crate::cell::CellKind::{Count, Number, Text};
use crate::cell::Column;
use bentpipe_results::TransferRow;

/// The columns.
pub const TRANSFERS: &[Column<TransferRow>] = &[
    column("flow", Text, "", "whose", |t| (&t.flow).into()),
    column("start_s", Number, "s", "its SYN, or its request on a connection that stands", |t| {
        t.transfer.started.into()
    }),
    column("first_byte_s", Number, "s", "when its first byte was read", |t| {
        t.transfer.first_byte.into()
    }),
    column(
        "finish_s",
        Number,
        "s",
        "when its last byte was read; empty if the run ended first",
        |t| t.transfer.completed.into(),
    ),
    column("completion_s", Number, "s", "from its start to its finish", |t| {
        t.transfer.completed.map(|end| end.saturating_since(t.transfer.started)).into()
    }),
    column("bytes", Count, "bytes", "its size; empty if it did not finish", |t| {
        t.transfer.completed.map(|_| t.transfer.bytes).into()
    }),
];
