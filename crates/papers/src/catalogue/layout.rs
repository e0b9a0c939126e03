//! A table of the paper, as its figure's file lays it out: which number of a claim stands in which
//! cell.

use serde::Deserialize;

/// A table: each column has what was found and what is printed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Layout {
    /// As the paper calls it.
    pub title: String,
    /// The claim whose numbers stand in it.
    pub claim: String,
    /// What the rows are.
    pub corner: String,
    /// Each column's part of the numbers' names, and its heading.
    pub columns: Vec<[String; 2]>,
    /// The same of the rows.
    pub rows: Vec<[String; 2]>,
    /// The numbers' names: `ROW` and `COLUMN` stand for their parts.
    pub number: String,
}

impl Layout {
    /// The name of the number in this row and column.
    pub fn name(&self, row: &str, column: &str) -> String {
        self.number.replace("ROW", row).replace("COLUMN", column)
    }

    /// All names.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for [row, _] in &self.rows {
            names.extend(self.columns.iter().map(|[column, _]| self.name(row, column)));
        }
        names
    }
}
