//! What of a link nobody has said here and the gateway at its other end has told.

use super::LegConfig;
use crate::announce::ToldLink;

/// Which properties of a leg's link were told by the gateway at its other end, and not by the
/// operator of this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Told {
    /// [`LegConfig::rate`]: a hint, above which the link is used as far as it turns out to carry
    /// more.
    pub rate: bool,
    /// [`LegConfig::return_rate`].
    pub return_rate: bool,
    /// [`LegConfig::round_trip`].
    pub round_trip: bool,
}

impl LegConfig {
    /// What the operator has said of the link: no more than that is told to the gateway at its
    /// other end.
    pub(crate) fn told_link(&self) -> ToldLink {
        let LegConfig { rate, guess, return_rate, round_trip, told, .. } = *self;
        ToldLink {
            rate: rate.filter(|_| !told.rate).or(guess),
            return_rate: return_rate.filter(|_| !told.return_rate),
            round_trip: round_trip.filter(|_| !told.round_trip),
        }
    }

    /// The leg as it is where the other end says `link` of it, as seen from here. What the operator
    /// has said stays.
    pub(crate) fn with_told(&self, link: ToldLink) -> LegConfig {
        let ToldLink { rate, return_rate, round_trip } = self.told_link();
        LegConfig {
            rate: rate.or(link.rate).filter(|_| self.guess.is_none()),
            return_rate: return_rate.or(link.return_rate),
            round_trip: round_trip.or(link.round_trip),
            told: Told {
                rate: rate.is_none() && link.rate.is_some(),
                return_rate: return_rate.is_none() && link.return_rate.is_some(),
                round_trip: round_trip.is_none() && link.round_trip.is_some(),
            },
            ..*self
        }
    }
}
