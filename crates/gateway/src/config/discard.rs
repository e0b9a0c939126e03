//! Whether segments that are in order and have room are discarded to keep streams short.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What becomes of segments that arrive in order while a stream has a backlog. A sender that loses
/// one sends it again and halves its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Discard {
    /// All are taken: the window alone holds the sender back.
    #[default]
    Off,
    /// One in a window is discarded once a quarter of the room is taken (bharadwaj-2001, 3.2).
    Single,
    /// One is discarded with a probability that grows with the mean backlog, as in RED
    /// (bharadwaj-1999, 3.1).
    RandomEarly,
}

impl Discard {
    /// All there are.
    pub const ALL: [Discard; 3] = [Discard::Off, Discard::Single, Discard::RandomEarly];

    /// Its name in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Discard::Off => "off",
            Discard::Single => "single",
            Discard::RandomEarly => "random-early",
        }
    }
}

impl fmt::Display for Discard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no such way to discard segments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("discard: `{0}` is none of {names}", names = Discard::ALL.map(Discard::name).join(", "))]
pub struct UnknownDiscard(String);

impl FromStr for Discard {
    type Err = UnknownDiscard;

    fn from_str(text: &str) -> Result<Discard, UnknownDiscard> {
        let named = Discard::ALL.into_iter().find(|discard| discard.name() == text);
        named.ok_or_else(|| UnknownDiscard(text.to_owned()))
    }
}
