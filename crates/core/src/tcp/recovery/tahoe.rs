//! Tahoe: fast retransmit without fast recovery (Jacobson 1988; Fall and Floyd 1996, section 2).
//!
//! Three duplicate acknowledgments mean that all that is outstanding is sent anew, from one
//! segment on in slow start, as after a timeout. (Where SACK was agreed on, what is sacked is not
//! sent again; Tahoe proper has no SACK.)

use super::{AckFacts, DUP_THRESH, Episode, Recovery, Verdict};
use crate::tcp::ledger::Ledger;

/// See the module's head.
#[derive(Debug, Default)]
pub struct Tahoe {
    dup_acks: u32,
}

impl Recovery for Tahoe {
    fn on_ack(&mut self, facts: &AckFacts, ledger: &Ledger) -> Verdict {
        if facts.acked > 0 {
            self.dup_acks = 0;
        }
        if !facts.duplicate {
            return Verdict::default();
        }
        self.dup_acks += 1;
        if self.dup_acks != DUP_THRESH {
            return Verdict::default();
        }
        Verdict {
            lost: vec![ledger.snd_una()..ledger.snd_nxt()],
            episode: Episode::Restart,
            retransmit_now: true,
            ..Verdict::default()
        }
    }

    fn on_timeout(&mut self, _ledger: &Ledger) {
        self.dup_acks = 0;
    }

    fn in_recovery(&self) -> bool {
        false
    }
}
