//! Why a sender is silent.
//!
//! Once it has sent all that it may, exactly one thing keeps the next segment back: its limiter. Its time can be
//! divided by that, as RFC 4898 does by three of them (`tcpEStatsPerfSndLimTimeRwin` and its like).

use crate::tcp::sender::Waits;
use strum::VariantArray;

/// What keeps a sender's next segment back.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    VariantArray,
    strum::IntoStaticStr,
    strum::Display,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Limiter {
    /// The handshake: nothing may be sent before its end.
    Handshake,
    /// The application has written nothing more, or nothing is left to be done for it.
    Application,
    /// Nagle's rule, or silly window avoidance: a short segment waits for more (RFC 9293, 3.7.4 and 3.8.6.2.1).
    Nagle,
    /// The peer's window is full.
    PeerWindow,
    /// The congestion window is full.
    Cwnd,
    /// Loss recovery lets nothing out before the next acknowledgment.
    Recovery,
    /// The pacer's next moment has not come.
    Pacer,
    /// It is another sender's turn on the link that several share.
    LinkTurn,
    /// A mark came while the window was one segment (RFC 3168, 6.1.2).
    Mark,
    /// The stream has ended, and all of it was sent; or the connection is over.
    Closed,
}

impl Limiter {
    /// Every limiter.
    pub const ALL: &[Limiter] = Limiter::VARIANTS;

    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What stopped the last transmission; None if something may be sent when it is asked for.
    pub(super) fn of(waits: Waits) -> Option<Limiter> {
        Some(match waits {
            Waits::Application => Limiter::Application,
            Waits::Short => Limiter::Nagle,
            Waits::PeerWindow => Limiter::PeerWindow,
            Waits::CongestionWindow => Limiter::Cwnd,
            Waits::Recovery => Limiter::Recovery,
            Waits::Pacer => Limiter::Pacer,
            Waits::Link => Limiter::LinkTurn,
            Waits::Mark => Limiter::Mark,
            Waits::Asked => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_has_a_name_of_its_own() {
        let names: BTreeSet<_> = Limiter::ALL.iter().map(|limiter| limiter.name()).collect();
        assert_eq!(names.len(), Limiter::ALL.len());
        assert_eq!(Limiter::LinkTurn.to_string(), "link-turn");
    }

    #[test]
    fn whatever_stops_a_sender_is_one() {
        let of: BTreeSet<_> = Waits::VARIANTS.iter().filter_map(|it| Limiter::of(*it)).collect();
        assert_eq!(of.len(), Waits::VARIANTS.len() - 1, "all but `Asked`");
    }
}
