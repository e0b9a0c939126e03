//! The two directions of a connection.

/// Which end sent a segment. The first end sent the SYN or, where that is missing, the first
/// segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Direction {
    /// From the first end to the second.
    #[default]
    Forward,
    /// From the second end to the first.
    Backward,
}

impl Direction {
    /// Both.
    pub const BOTH: [Direction; 2] = [Direction::Forward, Direction::Backward];

    /// The other one.
    #[must_use]
    pub fn reverse(self) -> Direction {
        match self {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        }
    }

    /// 0 or 1.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }
}
