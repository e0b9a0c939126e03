//! Lists as lines of text.

use crate::command::top::listing::{Listing, Row, cells, visible};

/// The head of a list.
pub(in super::super) fn head<R: Row>(width: usize) -> String {
    format!(" {}", cells(&visible(R::COLUMNS, width), |column, _| column.head.to_owned()))
}

/// A row of it, without the mark before it.
pub(in super::super) fn line<R: Row>(row: &R, width: usize) -> String {
    cells(&visible(R::COLUMNS, width), |column, width| (column.cell)(row, width))
}

/// A whole list with its head.
pub(in super::super) fn lines<R: Row>(list: &Listing<R>, rows: &[R], width: usize) -> Vec<String> {
    let rows = list.shown(rows, "").into_iter().map(|row| format!(" {}", line(row, width)));
    std::iter::once(head::<R>(width)).chain(rows).collect()
}
