//! The directions of a link that something is said of.

/// The directions that a setting is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directions {
    /// Both.
    Both,
    /// From the first end to the second: down to the user.
    Forward,
    /// From the second end to the first: up from the user.
    Back,
}
