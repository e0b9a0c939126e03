//! The papers' tables, with what was found beside what is printed.

use super::Judgement;
use super::text::{number, printed};
use crate::catalogue::Layout;

/// Rows of cells, the headings first. A column is two: found and printed.
pub(super) fn cells(layout: &Layout, judgement: &Judgement) -> Vec<Vec<String>> {
    let claim = judgement.claims.iter().find(|judged| judged.claim.id == layout.claim);
    let findings = claim.map(|judged| judged.findings.as_slice()).unwrap_or_default();
    let mut head = vec![layout.corner.clone()];
    for [_, heading] in &layout.columns {
        head.extend([heading.clone(), "printed".to_owned()]);
    }
    let mut table = vec![head];
    for [row, heading] in &layout.rows {
        let mut cells = vec![heading.clone()];
        for [column, _] in &layout.columns {
            let name = layout.name(row, column);
            let found = findings.iter().find(|finding| finding.name == name);
            cells.extend(found.map_or_else(Default::default, |f| [number(f), printed(f)]));
        }
        table.push(cells);
    }
    table
}
