//! A time as text, without a loss of digits.

use crate::time::Duration;
use std::fmt;

/// A time, in the largest unit that says it exactly.
pub(in crate::link) struct Exact(pub(in crate::link) Duration);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        match units.into_iter().find(|(unit, _)| nanos.is_multiple_of(*unit)) {
            Some((unit, name)) => write!(f, "{}{name}", nanos / unit),
            None => write!(f, "{nanos}ns"),
        }
    }
}
