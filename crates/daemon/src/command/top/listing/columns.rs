//! Columns of a list, and how they share the width of a terminal.

use crate::command::top::units;
use std::cmp::Ordering;
use std::net::IpAddr;

/// A column of a list of `R`.
pub(crate) struct Column<R> {
    pub(crate) head: &'static str,
    /// Its width; of one that grows, the smallest.
    pub(crate) width: usize,
    /// The width up to which it takes what others leave; none if it does not grow.
    pub(crate) grows_to: Option<usize>,
    /// The widths of a terminal that has it. None: it is only sorted by.
    pub(crate) on: Option<std::ops::Range<usize>>,
    /// Texts are on its left.
    pub(crate) is_text: bool,
    /// A row's cell, in at most so many columns if it can.
    pub(crate) cell: fn(&R, usize) -> String,
    pub(crate) rank: fn(&R) -> Rank,
}

/// A row's place in an order: large numbers and early texts are first, unknown ones last.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rank {
    Number(Option<f64>),
    Address(IpAddr, u16),
    Text(String),
}

impl Rank {
    /// That of a number that is known.
    pub(super) fn number(value: f64) -> Rank {
        Rank::Number(Some(value))
    }

    pub(super) fn compare(&self, other: &Rank) -> Ordering {
        match (self, other) {
            (Rank::Number(a), Rank::Number(b)) => {
                let value = |number: &Option<f64>| number.unwrap_or(f64::NEG_INFINITY);
                value(b).total_cmp(&value(a))
            }
            (Rank::Address(a, port), Rank::Address(b, other)) => (a, port).cmp(&(b, other)),
            (Rank::Text(a), Rank::Text(b)) => a.cmp(b),
            // A column has ranks of one kind.
            _ => Ordering::Equal,
        }
    }
}

impl<R> Column<R> {
    /// A column of numbers.
    pub(crate) const fn number(
        head: &'static str,
        width: usize,
        from: usize,
        cell: fn(&R, usize) -> String,
        rank: fn(&R) -> Rank,
    ) -> Column<R> {
        let on = Some(from..usize::MAX);
        Column { head, width, grows_to: None, on, is_text: false, cell, rank }
    }

    /// A column of texts.
    pub(crate) const fn text(
        head: &'static str,
        width: usize,
        from: usize,
        cell: fn(&R, usize) -> String,
        rank: fn(&R) -> Rank,
    ) -> Column<R> {
        Column { is_text: true, ..Column::number(head, width, from, cell, rank) }
    }

    /// It takes what others leave.
    pub(crate) const fn up_to(self, width: usize) -> Column<R> {
        Column { grows_to: Some(width), ..self }
    }

    /// Terminals of this width and wider ones have another column in its place.
    pub(crate) const fn below(self, width: usize) -> Column<R> {
        Column { on: Some(0..width), ..self }
    }

    /// A column that is not shown, and only sorted by.
    pub(crate) const fn unseen(head: &'static str, rank: fn(&R) -> Rank) -> Column<R> {
        Column { on: None, ..Column::number(head, 0, 0, |_, _| String::new(), rank) }
    }

    pub(super) fn is_sortable(&self, width: usize) -> bool {
        self.on.as_ref().is_none_or(|on| on.contains(&width))
    }

    fn is_visible(&self, width: usize) -> bool {
        self.on.as_ref().is_some_and(|on| on.contains(&width))
    }
}

/// The columns that a terminal of this width has, each with its width. One column apart from each
/// other, they take all of it but for the mark before the selected row.
pub(crate) fn visible<R>(
    columns: &'static [Column<R>],
    width: usize,
) -> Vec<(&'static Column<R>, usize)> {
    let mut shown: Vec<(&Column<R>, usize)> = columns
        .iter()
        .filter(|column| column.is_visible(width))
        .map(|column| (column, column.width))
        .collect();
    let taken: usize = shown.iter().map(|(_, width)| width + 1).sum();
    let mut left = width.saturating_sub(taken);
    while left > 0 {
        let before = left;
        for (column, width) in &mut shown {
            if left > 0 && column.grows_to.is_some_and(|most| *width < most) {
                *width += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    shown
}

/// Cells in one line, each as wide as its column.
pub(crate) fn cells<R>(
    columns: &[(&'static Column<R>, usize)],
    mut cell: impl FnMut(&Column<R>, usize) -> String,
) -> String {
    let cells = columns.iter().map(|&(column, width)| {
        let text = units::fit(&cell(column, width), width);
        match column.is_text {
            true => format!("{text:width$}"),
            false => format!("{text:>width$}"),
        }
    });
    cells.collect::<Vec<_>>().join(" ")
}
