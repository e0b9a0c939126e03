//! Whether it splits or only observes, as it is told while it runs; on trial it goes back by
//! itself.
//!
//! The loop itself ends a trial: nobody else need be there, or have the right to, or be heard in
//! time.

use super::LiveGateway;
use crate::control::{Turn, Turned};
use bentpipe_core::time::Instant;

impl LiveGateway {
    /// Does what it is told.
    pub(super) fn turn(&mut self, turn: Turn) -> Turned {
        let now = self.clock.now();
        let splits = !self.gateway.observes() && self.trial.is_none();
        match turn {
            _ if self.gateway.drains() => return Turned::Drains,
            Turn::Split(_) if splits => return Turned::SplitsAlready,
            Turn::Split(trial) => {
                self.trial = trial.map(|span| now + span);
                self.only_observe(now, false);
            }
            Turn::Observe => {
                self.trial = None;
                self.only_observe(now, true);
            }
        }
        Turned::Done
    }

    fn only_observe(&mut self, now: Instant, observe: bool) {
        self.gateway.only_observe(now, observe);
        // Before a packet more: of one that is split it must not be a copy.
        self.take_or_look_on();
        // Of what it gives back there may be something left to say.
        self.transmit(now);
    }

    /// Ends a trial that is over.
    pub(super) fn end_trial(&mut self, now: Instant) {
        if self.trial.take_if(|until| *until <= now).is_some() {
            tracing::warn!(
                "the trial is over, and nobody has confirmed it: nothing is split any more"
            );
            self.only_observe(now, true);
        }
    }
}
