//! A table of the paper, as its figure's file lays it out.

use super::{Definitions, Expression};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A table: each column has what was found and what is printed.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// As the paper calls it.
    pub title: String,
    /// What the rows are.
    pub corner: String,
    /// Each column's part of the names, and its heading.
    pub columns: Vec<[String; 2]>,
    /// The same of the rows.
    pub rows: Vec<[String; 2]>,
    /// The source of the cells.
    pub cells: Cells,
}

/// The source of a table's cells.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// The numbers of a claim.
    Claim {
        /// Its id.
        claim: String,
        /// The numbers' names: `ROW` and `COLUMN` stand for their parts.
        number: String,
    },
    /// Expressions and printed texts, row by row. No verdict goes by them.
    Read(Vec<Vec<(Expression, String)>>),
}

/// A table in the file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LayoutFile {
    title: String,
    corner: String,
    columns: Vec<[String; 2]>,
    rows: Vec<[String; 2]>,
    claim: Option<String>,
    number: Option<String>,
    /// By column: its expression, in which `ROW` stands for the row's part.
    #[serde(default)]
    is: BTreeMap<String, String>,
    /// By column: the printed texts, in the order of rows.
    #[serde(default)]
    printed: BTreeMap<String, Vec<String>>,
}

impl LayoutFile {
    /// The table, with its expressions.
    ///
    /// # Errors
    /// What is wrong, in a sentence.
    pub(super) fn read(self, name: &str, definitions: &Definitions) -> Result<Layout, String> {
        let LayoutFile { title, corner, columns, rows, claim, number, is, printed } = self;
        let wrong = |why: &str| format!("table.{name}: {why}");
        let cells = match (claim, number) {
            (Some(claim), Some(number)) if is.is_empty() => Cells::Claim { claim, number },
            (None, None) => {
                let cell = |place: usize, row: &str, column: &str| {
                    let text = is.get(column).ok_or_else(|| wrong("a column has no expression"))?;
                    let expression = Expression::read(&text.replace("ROW", row), definitions)
                        .map_err(|why| wrong(&why))?;
                    let said = printed.get(column).and_then(|texts| texts.get(place)).cloned();
                    Ok((expression, said.unwrap_or_default()))
                };
                let row = |(place, [row, _]): (usize, &[String; 2])| {
                    columns.iter().map(|[column, _]| cell(place, row, column)).collect()
                };
                Cells::Read(rows.iter().enumerate().map(row).collect::<Result<_, String>>()?)
            }
            _ => return Err(wrong("it takes a claim and its numbers, or expressions")),
        };
        Ok(Layout { title, corner, columns, rows, cells })
    }
}

impl Layout {
    /// The names of a claim's numbers, row by row.
    pub fn names(&self) -> Vec<Vec<String>> {
        let Cells::Claim { number, .. } = &self.cells else { return Vec::new() };
        let name = |row: &str, column: &str| number.replace("ROW", row).replace("COLUMN", column);
        let of_row = |[row, _]: &[String; 2]| {
            self.columns.iter().map(|[column, _]| name(row, column)).collect()
        };
        self.rows.iter().map(of_row).collect()
    }
}
