//! Times without a segment, and what kept the sender from sending.

use crate::evidence::{Evidence, Said};
use crate::limiter::Limiter;

/// A time without a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// In nanoseconds since the connection's first segment.
    pub begin: i64,
    /// Its end.
    pub end: i64,
    /// The source of its limiter.
    pub basis: Basis,
}

/// The source of a limiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The end has recorded it.
    Recorded(Limiter),
    /// It follows from what the capture shows.
    Inferred(Evidence),
}

impl Silence {
    /// What kept the sender from sending.
    #[must_use]
    pub fn said(&self) -> Said {
        match self.basis {
            Basis::Recorded(limiter) => Said::One(limiter),
            Basis::Inferred(evidence) => evidence.says(),
        }
    }

    /// True if that is inferred.
    #[must_use]
    pub fn inferred(&self) -> bool {
        matches!(self.basis, Basis::Inferred(_))
    }

    /// How long it was, in nanoseconds.
    #[must_use]
    pub fn duration(&self) -> i64 {
        self.end.saturating_sub(self.begin)
    }
}
