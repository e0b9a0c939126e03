//! What a loss on a leg is taken for.

use std::fmt;
use std::str::FromStr;

/// What a loss is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Losses {
    /// The link's own, where its rate is known and a gateway at its other end has announced itself in
    /// the connection's handshake: nobody else is known to be on the way. All flows together are watched
    /// instead, and believe their losses again if the link does not carry what it should. Elsewhere
    /// each flow of the satellite side tells by itself: a loss is congestion where a queue stands, or where
    /// more is lost than links lose ([`Control::TolerantCubic`]).
    ///
    /// [`Control::TolerantCubic`]: bentpipe_core::tcp::congestion::Control::TolerantCubic
    #[default]
    Link,
    /// Congestion, as everywhere else: the leg's congestion control answers it.
    Believed,
}

impl Losses {
    /// Both.
    pub const ALL: [Losses; 2] = [Losses::Link, Losses::Believed];

    /// Its name in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Losses::Link => "link",
            Losses::Believed => "believed",
        }
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no such thing to take losses for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("losses: `{0}` is none of {names}", names = Losses::ALL.map(Losses::name).join(", "))]
pub struct UnknownLosses(String);

impl FromStr for Losses {
    type Err = UnknownLosses;

    fn from_str(text: &str) -> Result<Losses, UnknownLosses> {
        let named = Losses::ALL.into_iter().find(|losses| losses.name() == text);
        named.ok_or_else(|| UnknownLosses(text.to_owned()))
    }
}
