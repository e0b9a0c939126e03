//! Lists: their columns, and which of their rows are shown, in which order.
//!
//! A column declares once how it shows a row, how it sorts, and which terminals have room for it.

mod cell;
mod columns;
mod flow;
mod row;
mod sums;
mod unsplit;

pub(crate) use columns::{Column, Rank, cells, visible};
pub(crate) use row::Row;

/// The state of a list that an operator moves about in.
#[derive(Debug)]
pub(crate) struct Listing<R: Row> {
    selected: Option<R::Id>,
    /// Where the selected row was last, among those shown.
    place: usize,
    /// The first row on the screen.
    top: usize,
    sort: usize,
    reversed: bool,
}

/// A step in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Up(usize),
    Down(usize),
    First,
    Last,
}

impl<R: Row> Default for Listing<R> {
    fn default() -> Listing<R> {
        Listing { selected: None, place: 0, top: 0, sort: R::SORTED_BY, reversed: false }
    }
}

impl<R: Row> Listing<R> {
    /// The rows that pass the filter, in order. Each word of it is to be in a row's text; behind
    /// `=`, as a whole word.
    pub(crate) fn shown<'a>(&self, rows: &'a [R], filter: &str) -> Vec<&'a R> {
        let words: Vec<String> = filter.split_whitespace().map(str::to_lowercase).collect();
        let passes = |row: &&R| {
            words.is_empty() || {
                let text = row.text().to_lowercase();
                words.iter().all(|word| match word.strip_prefix('=') {
                    Some(whole) => text.split_whitespace().any(|it| it == whole),
                    None => text.contains(word.as_str()),
                })
            }
        };
        let rank = R::COLUMNS[self.sort].rank;
        let mut shown: Vec<(Rank, &R)> =
            rows.iter().filter(passes).map(|row| (rank(row), row)).collect();
        shown.sort_by(|(a, _), (b, _)| {
            let order = a.compare(b);
            if self.reversed { order.reverse() } else { order }
        });
        shown.into_iter().map(|(_, row)| row).collect()
    }

    /// The place of the selected row among those shown, if there are any. A row that has gone
    /// passes the selection to the one that has come into its place.
    pub(crate) fn settle(&mut self, shown: &[&R], height: usize) -> Option<usize> {
        let known = |id: &R::Id| shown.iter().position(|row| row.id() == *id);
        let last = shown.len().checked_sub(1)?;
        self.place = self.selected.as_ref().and_then(known).unwrap_or(self.place.min(last));
        if self.selected.is_some() {
            self.selected = Some(shown[self.place].id());
        }
        let lowest = (self.place + 1).saturating_sub(height);
        self.top =
            self.top.clamp(lowest, self.place.max(lowest)).min(shown.len().saturating_sub(height));
        Some(self.place)
    }

    /// The first row on the screen.
    pub(crate) fn top(&self) -> usize {
        self.top
    }

    /// Moves the selection, which follows its row from then on.
    pub(crate) fn step(&mut self, shown: &[&R], step: Step) {
        let Some(last) = shown.len().checked_sub(1) else { return };
        self.place = match step {
            Step::Up(rows) => self.place.saturating_sub(rows),
            Step::Down(rows) => (self.place + rows).min(last),
            Step::First => 0,
            Step::Last => last,
        };
        self.selected = Some(shown[self.place].id());
    }

    /// Selects the row in the place where the selection is.
    pub(crate) fn select(&mut self, shown: &[&R]) -> Option<R::Id> {
        self.selected = shown.get(self.place).map(|row| row.id());
        self.selected.clone()
    }

    /// Sorts by the next column that a terminal of this width shows.
    pub(crate) fn sort_by_next(&mut self, width: usize) {
        let count = R::COLUMNS.len();
        let next = (1..=count).map(|step| (self.sort + step) % count);
        let is_shown = |column: &usize| R::COLUMNS[*column].is_sortable(width);
        self.sort = next.into_iter().find(is_shown).unwrap_or(self.sort);
        self.reversed = false;
    }

    /// Turns the order about.
    pub(crate) fn reverse(&mut self) {
        self.reversed = !self.reversed;
    }

    /// What it is sorted by.
    pub(crate) fn order(&self) -> String {
        let name = R::COLUMNS[self.sort].head;
        if self.reversed { format!("{name}, reversed") } else { name.to_owned() }
    }
}

#[cfg(test)]
mod tests;
