//! Tables of text: each column as wide as its widest cell.

use std::fmt;

/// The side of its column on which a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// A table of text; its `Display` is one line for each row.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
    indent: usize,
}

/// Spaces between two columns.
const GAP: &str = "  ";

impl Table {
    /// An empty table with these columns.
    pub fn new(columns: impl IntoIterator<Item = Align>) -> Table {
        Table { columns: columns.into_iter().collect(), rows: Vec::new(), indent: 0 }
    }

    /// The same table, each line behind so many spaces.
    #[must_use]
    pub fn indented(self, indent: usize) -> Table {
        Table { indent, ..self }
    }

    /// Appends a row; cells that it lacks are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item: Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        (0..self.columns.len()).map(width).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for row in &self.rows {
            let cells = row.iter().zip(&self.columns).zip(&widths);
            let cells = cells.map(|((cell, align), width)| match align {
                Align::Left => format!("{cell:width$}"),
                Align::Right => format!("{cell:>width$}"),
            });
            let line = " ".repeat(self.indent) + &cells.collect::<Vec<_>>().join(GAP);
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new([Align::Left, Align::Right, Align::Left]).indented(2);
        table.row(["flow", "s", "±"]);
        table.row(["a long name", "12.5"]);
        table.row(["é", "3", "yes"]);
        let text = "  flow            s  ±\n  a long name  12.5\n  é               3  yes\n";
        assert_eq!(table.to_string(), text);
    }
}
