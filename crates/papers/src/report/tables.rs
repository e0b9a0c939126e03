//! The papers' tables, with what was found beside what is printed.

use super::Judgement;
use super::block::Cell;
use super::text::{number, printed};
use crate::catalogue::Layout;

/// Rows of cells, the headings first. A column is two: found and printed.
pub(super) fn cells(layout: &Layout, judgement: &Judgement) -> Vec<Vec<Cell>> {
    let claim = judgement.claims.iter().find(|judged| judged.claim.id == layout.claim);
    let findings = claim.map(|judged| judged.findings.as_slice()).unwrap_or_default();
    let mut head = vec![Cell::Text(layout.corner.clone())];
    for [_, heading] in &layout.columns {
        head.extend([Cell::Text(heading.clone()), Cell::Text("printed".to_owned())]);
    }
    let mut table = vec![head];
    for [row, heading] in &layout.rows {
        let mut cells = vec![Cell::Text(heading.clone())];
        for [column, _] in &layout.columns {
            let name = layout.name(row, column);
            let found = findings.iter().find(|finding| finding.name == name);
            let said = found.map_or_else(Default::default, |f| [number(f), printed(f)]);
            cells.extend(said.map(Cell::Number));
        }
        table.push(cells);
    }
    table
}
