//! Tables: columns that say what they hold, and cells.

use bentpipe_core::time::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// A value of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Cell {
    /// There is none.
    None,
    /// A text.
    Text(String),
    /// A count.
    Count(u64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Switch(bool),
}

/// A row's cells.
pub type Row = Vec<Cell>;

/// The kind of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Texts.
    Text,
    /// Counts.
    Count,
    /// Numbers.
    Number,
    /// Yes or no.
    Switch,
}

/// A column of a table of `R`s. Its name carries its unit.
pub struct Column<R> {
    /// Its name.
    pub name: &'static str,
    /// What its cells are.
    pub kind: CellKind,
    /// Its unit, or what is counted.
    pub unit: &'static str,
    /// What it says.
    pub about: &'static str,
    /// Its cell of a row.
    pub cell: fn(&R) -> Cell,
}

/// The head of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// Its name.
    pub name: String,
    /// What its cells are.
    pub kind: CellKind,
    /// Its unit.
    pub unit: String,
    /// What it says.
    pub about: String,
}

impl Heading {
    pub(crate) fn new(name: &str, kind: CellKind, unit: &str, about: &str) -> Heading {
        let [name, unit, about] = [name, unit, about].map(str::to_owned);
        Heading { name, kind, unit, about }
    }
}

/// The heads of `columns`.
pub(crate) fn headings<R>(columns: &[Column<R>]) -> Vec<Heading> {
    columns.iter().map(|c| Heading::new(c.name, c.kind, c.unit, c.about)).collect()
}

/// The cells of `row`.
pub(crate) fn row<R>(columns: &[Column<R>], row: &R) -> Row {
    columns.iter().map(|column| (column.cell)(row)).collect()
}

impl Cell {
    /// As a number: counts and numbers; yes is 1 and no is 0.
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::None | Cell::Text(_) => None,
            Cell::Count(count) => Some(*count as f64),
            Cell::Number(number) => Some(*number),
            Cell::Switch(on) => Some(f64::from(u8::from(*on))),
        }
    }

    /// As text: what CSV files hold. Numbers are as short as they can be read back exactly.
    pub fn text(&self) -> String {
        match self {
            Cell::None => String::new(),
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Number(number) => number.to_string(),
            Cell::Switch(on) => on.to_string(),
        }
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Cell {
        Cell::Count(count)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Cell {
        if number.is_finite() { Cell::Number(number) } else { Cell::None }
    }
}

impl From<bool> for Cell {
    fn from(on: bool) -> Cell {
        Cell::Switch(on)
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Cell {
        Cell::Text(text.clone())
    }
}

impl From<Duration> for Cell {
    /// In seconds.
    fn from(time: Duration) -> Cell {
        Cell::Number(time.as_nanos() as f64 / 1e9)
    }
}

impl From<Instant> for Cell {
    /// Seconds since the beginning of the run.
    fn from(moment: Instant) -> Cell {
        moment.saturating_since(Instant::ZERO).into()
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::None, Into::into)
    }
}
