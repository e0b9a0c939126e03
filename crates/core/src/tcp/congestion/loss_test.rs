//! A test of whose a loss is: with a smaller window less is lost if a queue overflows, and as much
//! if the path corrupts.

use super::LinkReport;
use crate::snapshot::fraction;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// The part of what was delivered that is sent in a test.
const SENT: f64 = 0.85;
/// Rounds of a test, after the one that still shows what was sent before.
const ROUNDS: u32 = 2;

/// See the module's head.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct LossTest {
    /// The window and the threshold before.
    before: (Bytes, Bytes),
    /// The share that was lost with it.
    #[serde(with = "fraction")]
    loss: f64,
    /// Rounds so far, and what happened in all but the first.
    rounds: u32,
    seen: LinkReport,
}

impl LossTest {
    /// Begins, with the window and the threshold of `before`, of which the share `loss` was lost.
    pub(super) fn new(before: (Bytes, Bytes), loss: f64) -> LossTest {
        LossTest { before, loss, rounds: 0, seen: LinkReport::default() }
    }

    /// The window meanwhile.
    pub(super) fn window(&self) -> Bytes {
        Bytes::from_f64(self.before.0.as_f64() * (1.0 - self.loss) * SENT)
    }

    /// The window and the threshold before.
    pub(super) fn before(&self) -> (Bytes, Bytes) {
        self.before
    }

    /// Another round. Whether that was the last.
    pub(super) fn is_over_with(&mut self, round: LinkReport) -> bool {
        if self.rounds > 0 {
            self.seen = self.seen.and(round);
        }
        self.rounds += 1;
        self.rounds > ROUNDS
    }

    /// The share that the path loses by itself, if more than half as much was lost in the test as
    /// before, beyond what is `usual`.
    pub(super) fn of_the_path(&self, usual: f64) -> Option<f64> {
        let loss = self.seen.loss();
        (loss - usual >= (self.loss - usual) / 2.0).then_some(loss)
    }
}
