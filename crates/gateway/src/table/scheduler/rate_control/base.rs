//! What a round trip takes without a queue: the least one of late.
//!
//! Links change: a route over the ground gives way to a satellite, a satellite to the next one. So
//! what is old is forgotten, and so is what cannot be right: where round trips have become much
//! longer though little is sent, no queue of ours makes them so.

use bentpipe_core::time::Duration;
use std::collections::VecDeque;

/// Rounds whose minimum round-trip times count: longer than it takes to notice a queue of ours and
/// to drain it.
const ROUNDS: usize = 64;

/// So many times as long, for so many rounds in a row, is another path.
const LONGER: u32 = 2;
const LONGER_ROUNDS: usize = 3;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct BaseRtt {
    /// The least of each round, the latest last.
    rounds: VecDeque<Duration>,
    /// The least of those rounds: it is asked for with each acknowledgment.
    past: Option<Duration>,
    /// The least of the present one.
    present: Option<Duration>,
    /// How many of the latest were much longer, though the link was not used.
    longer: usize,
}

impl BaseRtt {
    /// A round trip was measured.
    pub(super) fn on_rtt(&mut self, rtt: Duration) {
        self.present = Some(self.present.map_or(rtt, |min| min.min(rtt)));
    }

    /// A round is over, in which the link was `used` up, or not.
    pub(super) fn end_round(&mut self, used: bool) {
        let Some(min) = self.present.take() else { return };
        let longer = !used && self.past.is_some_and(|base| min > base * LONGER);
        self.longer = if longer { self.longer + 1 } else { 0 };
        self.rounds.push_back(min);
        if self.longer == LONGER_ROUNDS {
            self.rounds.drain(..self.rounds.len() - LONGER_ROUNDS);
            self.longer = 0;
        } else if self.rounds.len() > ROUNDS {
            self.rounds.pop_front();
        }
        self.past = self.rounds.iter().copied().min();
    }

    /// What a round trip takes, if one was measured.
    pub(super) fn get(&self) -> Option<Duration> {
        self.past.into_iter().chain(self.present).min()
    }
}
