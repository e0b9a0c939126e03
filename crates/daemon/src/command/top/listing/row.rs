//! The interface between a list and its rows.

use super::Column;
use std::fmt::Debug;

/// A row of a list.
pub(crate) trait Row: Sized + 'static {
    /// Its identity from look to look.
    type Id: PartialEq + Clone + Debug;
    /// The columns of its list.
    const COLUMNS: &'static [Column<Self>];
    /// The column by which the list is sorted at first.
    const SORTED_BY: usize = 0;

    fn id(&self) -> Self::Id;

    /// What a filter looks at.
    fn text(&self) -> String;
}
