//! Reno without SACK (RFC 2581, section 3.2): fast retransmit and fast recovery.
//!
//! Recovery ends with the first acknowledgment of new data, whatever else was lost: several losses
//! in one window mean several reductions, or a timeout. Nothing keeps the duplicates of what a
//! timeout has sent needlessly from beginning a recovery (a false fast retransmit).
//!
//! The window is not inflated for duplicate acknowledgments; the bytes in flight are fewer by as
//! much instead, as in [`super::NewReno`]: before recovery that is limited transmit (RFC 3042).

use super::{AckSummary, DUP_THRESH, Episode, Recovery, Verdict, left_before_recovery};
use crate::tcp::ledger::Ledger;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// See the module's head.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Reno {
    dup_acks: u32,
    in_recovery: bool,
    /// Bytes that duplicate acknowledgments say have left the network.
    left_network: Bytes,
}

impl Recovery for Reno {
    fn on_ack(&mut self, facts: &AckSummary, ledger: &Ledger) -> Verdict {
        if facts.delivered.acked > Bytes::ZERO {
            let was_in_recovery = std::mem::take(self).in_recovery;
            // Step 5: deflate the window to ssthresh.
            let episode = if was_in_recovery { Episode::Deflate } else { Episode::Unchanged };
            return Verdict { episode, ..Verdict::default() };
        }
        if !facts.duplicate {
            return Verdict::default();
        }
        self.dup_acks += 1;
        if self.in_recovery {
            // Step 3.
            self.left_network += facts.smss;
        } else if self.dup_acks == DUP_THRESH {
            // Steps 1 and 2.
            self.in_recovery = true;
            self.left_network = u64::from(DUP_THRESH) * facts.smss;
            return Verdict::fast_retransmit(ledger, facts.smss);
        } else {
            self.left_network = left_before_recovery(self.dup_acks, ledger, facts.smss);
        }
        Verdict::default()
    }

    fn on_timeout(&mut self, _ledger: &Ledger) {
        *self = Reno::default();
    }

    fn on_undo(&mut self, _ledger: &Ledger) {
        *self = Reno::default();
    }

    fn in_recovery(&self) -> bool {
        self.in_recovery
    }

    fn in_flight(&self, ledger: &Ledger) -> Bytes {
        ledger.pipe().saturating_sub(self.left_network)
    }
}
