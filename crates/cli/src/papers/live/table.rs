//! What was simulated beside what was measured, for a terminal and for programs.

use bentpipe_papers::live::{Comparison, Measured};
use bentpipe_terminal::table::{Align, Table};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::iter;

/// As text.
pub(super) fn write(measured: &[Measured], out: &mut impl Write) -> io::Result<()> {
    for one in measured {
        for beside in &one.beside {
            writeln!(out, "{}: {}\n", one.figure, beside.title())?;
            writeln!(out, "{}", rows(&beside.cells()))?;
        }
        for judged in &one.claims {
            let (verdict, claim) = (judged.verdict.words(), &judged.claim);
            writeln!(out, "  {verdict:14} {}: {}", claim.id, claim.says)?;
            for finding in &judged.findings {
                writeln!(
                    out,
                    "      {} {:.4} ± {:.2e} ({} runs), accepted {}",
                    finding.name, finding.found, finding.half_width, finding.runs, finding.accepted
                )?;
            }
        }
        if one.claims.is_empty() {
            writeln!(out, "  no verdict: not all of its points were measured")?;
        }
    }
    Ok(())
}

/// Rows of a table of numbers.
fn rows(cells: &[Vec<String>]) -> Table {
    let columns = cells.first().map_or(0, Vec::len);
    let mut table = Table::new(iter::repeat_n(Align::Right, columns)).indented(2);
    cells.iter().for_each(|row| table.row(row));
    table
}

/// As JSON.
pub(super) fn json(measured: &[Measured]) -> Value {
    let figure = |one: &Measured| {
        let claims = one.claims.iter().map(|judged| {
            let findings = judged.findings.iter().map(|finding| {
                json!({
                    "number": finding.name,
                    "found": finding.found,
                    "half_width": finding.half_width,
                    "accepted": finding.accepted.to_string(),
                    "verdict": finding.verdict,
                })
            });
            let findings: Vec<Value> = findings.collect();
            json!({ "claim": judged.claim.id, "verdict": judged.verdict, "numbers": findings })
        });
        json!({
            "figure": one.figure,
            "scenarios": one.beside.iter().map(Comparison::json).collect::<Vec<_>>(),
            "claims": claims.collect::<Vec<_>>(),
        })
    };
    json!(measured.iter().map(figure).collect::<Vec<_>>())
}
