//! What was simulated beside what was measured, for a terminal and for programs.

use bentpipe_papers::live::{Beside, Measured};
use serde_json::{Value, json};
use std::io::{self, Write};

/// As text.
pub(super) fn write(measured: &[Measured], out: &mut impl Write) -> io::Result<()> {
    for one in measured {
        for beside in &one.beside {
            writeln!(out, "{}: {}\n", one.figure, beside.title())?;
            rows(&beside.cells(), out)?;
            writeln!(out)?;
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

/// Columns as wide as their widest cell, numbers to the right.
fn rows(cells: &[Vec<String>], out: &mut impl Write) -> io::Result<()> {
    let columns = cells.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let lengths =
            cells.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        lengths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in cells {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
            line.push_str(&format!("  {pad}{cell}"));
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
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
            "scenarios": one.beside.iter().map(Beside::json).collect::<Vec<_>>(),
            "claims": claims.collect::<Vec<_>>(),
        })
    };
    json!(measured.iter().map(figure).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_have_to_be() {
        let cells = [["a", "live"], ["long", "1 ± 2"]].map(|row| row.map(str::to_owned).to_vec());
        let mut text = Vec::new();
        rows(&cells, &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "     a   live\n  long  1 ± 2\n");
    }
}
