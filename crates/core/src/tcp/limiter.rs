//! Why a sender is silent.
//!
//! Once it has sent all that it may, exactly one thing keeps the next segment back: its limiter. A
//! poll that sends nothing returns it. Its time can be divided by that, as RFC 4898 does by three
//! of them (`tcpEStatsPerfSndLimTimeRwin` and its like).

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
    /// Nagle's rule, or silly window avoidance: a short segment waits for more (RFC 9293, 3.7.4 and
    /// 3.8.6.2.1).
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
}
