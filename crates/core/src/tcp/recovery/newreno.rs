//! NewReno without SACK (RFC 6582, slow-but-steady), with limited transmit (RFC 3042).
//!
//! RFC 5681 inflates the window by one segment for each duplicate acknowledgment, because each
//! says that a segment has left the network. Here the same is said where it belongs: the bytes
//! in flight are fewer by what duplicates have reported. Limited transmit follows by itself.

use super::{AckFacts, DUP_THRESH, Episode, Recovery, Verdict};
use crate::tcp::ledger::Ledger;
use std::ops::Range;

/// See the module's head.
#[derive(Debug)]
pub struct NewReno {
    dup_acks: u32,
    /// Bytes that duplicate acknowledgments say have left the network.
    left_network: u64,
    in_recovery: bool,
    /// One past RFC 6582's `recover`: the end of what was outstanding at the last loss. None
    /// before the first.
    recover: Option<u64>,
}

impl NewReno {
    /// Before any loss.
    pub fn new() -> NewReno {
        NewReno { dup_acks: 0, left_network: 0, in_recovery: false, recover: None }
    }

    fn first_segment(ledger: &Ledger, smss: u64) -> Range<u64> {
        let una = ledger.snd_una();
        una..(una + smss).min(ledger.snd_nxt())
    }
}

impl Default for NewReno {
    fn default() -> NewReno {
        NewReno::new()
    }
}

impl Recovery for NewReno {
    fn on_ack(&mut self, facts: &AckFacts, ledger: &Ledger) -> Verdict {
        let recover_reached = self.recover.is_none_or(|recover| ledger.snd_una() >= recover);
        if facts.acked > 0 {
            self.dup_acks = 0;
            if !self.in_recovery {
                self.left_network = 0;
                return Verdict::default();
            }
            if recover_reached {
                // RFC 6582, 3.2, step 3: full acknowledgment.
                self.in_recovery = false;
                self.left_network = 0;
                return Verdict { episode: Episode::Exit, ..Verdict::default() };
            }
            // Step 3: partial acknowledgment. Deflate by what was acknowledged, add back SMSS.
            self.left_network =
                self.left_network.saturating_sub(facts.acked.saturating_sub(facts.smss));
            return Verdict {
                lost: vec![Self::first_segment(ledger, facts.smss)],
                retransmit_now: true,
                ..Verdict::default()
            };
        }
        if !facts.duplicate {
            return Verdict::default();
        }
        self.dup_acks += 1;
        // RFC 6582, 3.2, step 1: enter only if the acknowledgment covers more than `recover`.
        // Duplicates of what a timeout sent needlessly do not.
        let may_enter = self.recover.is_none_or(|recover| ledger.snd_una() > recover);
        if self.in_recovery || may_enter || self.dup_acks < DUP_THRESH {
            // Outside recovery limited transmit stops at two segments (RFC 3042).
            self.left_network += facts.smss;
        }
        if self.dup_acks == DUP_THRESH && !self.in_recovery && may_enter {
            self.in_recovery = true;
            self.recover = Some(ledger.snd_nxt());
            return Verdict {
                lost: vec![Self::first_segment(ledger, facts.smss)],
                episode: Episode::Enter,
                retransmit_now: true,
                ..Verdict::default()
            };
        }
        Verdict::default()
    }

    fn on_timeout(&mut self, ledger: &Ledger) {
        // Step 4: exit fast recovery, remember what was outstanding.
        *self = NewReno { recover: Some(ledger.snd_nxt()), ..NewReno::new() };
    }

    fn in_recovery(&self) -> bool {
        self.in_recovery
    }

    fn in_flight(&self, ledger: &Ledger) -> u64 {
        ledger.pipe().saturating_sub(self.left_network)
    }
}
