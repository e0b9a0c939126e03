//! Satellite interfaces as witnesses of packets that are given back: one is up, so these must come
//! by. Nothing follows from it for a while when one has come or gone.

use bentpipe_linux::surroundings::Presence;
use std::time::{Duration, Instant};

/// For so long one that comes may lose packets.
const COMING: Duration = Duration::from_secs(2);
/// What was on its way over one that goes is retransmitted for a while, and comes by nowhere. After
/// a minute retransmissions of a connection are half a minute apart (RFC 6298, 5.5).
const GOING: Duration = Duration::from_secs(60);

/// The satellite's interfaces at the last look.
#[derive(Debug, Default)]
pub(super) struct Carrying {
    before: Vec<Presence>,
    doubtful_until: Option<Instant>,
}

impl Carrying {
    /// Whether packets must come by, with the satellite's interfaces as they are `now`.
    pub(super) fn look(&mut self, now: Instant, satellite: Vec<Presence>) -> bool {
        if self.before != satellite {
            let goes = |(before, now): (&Presence, &Presence)| {
                *before == Presence::Up && *now != Presence::Up
            };
            let doubt = if self.before.iter().zip(&satellite).any(goes) { GOING } else { COMING };
            self.doubtful_until = self.doubtful_until.max(Some(now + doubt));
        }
        self.before = satellite;
        let is_doubtful = self.doubtful_until.is_some_and(|until| now < until);
        !is_doubtful && self.before.contains(&Presence::Up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Presence::{Down, Gone, Up};

    #[test]
    fn one_interface_that_is_up_is_enough_once_none_has_come_or_gone_just_now() {
        let (mut carrying, start) = (Carrying::default(), Instant::now());
        let mut look = |seconds, satellite: [Presence; 2]| {
            carrying.look(start + Duration::from_secs(seconds), satellite.to_vec())
        };
        assert!(!look(0, [Up, Gone]), "it has only just begun");
        assert!(look(2, [Up, Gone]), "the other one never was there");
        assert!(!look(3, [Up, Up]));
        assert!(look(5, [Up, Up]));
        assert!(!look(6, [Down, Up]));
        assert!(!look(20, [Gone, Up]), "connections over it are retransmitted");
        assert!(look(66, [Gone, Up]));
        assert!(!look(130, [Gone, Down]));
        assert!(!look(300, [Gone, Down]), "none is up");
    }
}
