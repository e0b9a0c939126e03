//! The papers' tables, with what was found beside what is printed.

use super::Judgement;
use super::block::Cell;
use super::text::{number, printed};
use crate::catalogue::{Cells, Layout};
use crate::significant::significant;

/// Rows of cells, the headings first. A column is two: found and printed.
pub(super) fn cells(name: &str, layout: &Layout, judgement: &Judgement) -> Vec<Vec<Cell>> {
    let mut head = vec![Cell::Text(layout.corner.clone())];
    for [_, heading] in &layout.columns {
        head.extend([Cell::Text(heading.clone()), Cell::Text("printed".to_owned())]);
    }
    let mut table = vec![head];
    for ([_, heading], said) in layout.rows.iter().zip(contents(name, layout, judgement)) {
        let cells = said.into_iter().flatten().map(Cell::Number);
        table.push([Cell::Text(heading.clone())].into_iter().chain(cells).collect());
    }
    table
}

/// Found and printed, row by row.
fn contents(name: &str, layout: &Layout, judgement: &Judgement) -> Vec<Vec<[String; 2]>> {
    match &layout.cells {
        Cells::Claim { claim, .. } => {
            let claim = judgement.claims.iter().find(|judged| judged.claim.id == *claim);
            let findings = claim.map(|judged| judged.findings.as_slice()).unwrap_or_default();
            let cell = |name: String| {
                let found = findings.iter().find(|finding| finding.name == name);
                found.map_or_else(Default::default, |f| [number(f), printed(f)])
            };
            let names = layout.names().into_iter();
            names.map(|row| row.into_iter().map(cell).collect()).collect()
        }
        Cells::Read(rows) => {
            let found = judgement.tables.get(name).map(Vec::as_slice).unwrap_or_default();
            let row = |(cells, found): (&Vec<(_, String)>, &Vec<f64>)| {
                let pairs = cells.iter().zip(found);
                pairs.map(|((_, said), found)| [significant(*found), said.clone()]).collect()
            };
            rows.iter().zip(found).map(row).collect()
        }
    }
}
