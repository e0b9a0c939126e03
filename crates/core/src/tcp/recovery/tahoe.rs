//! Tahoe: fast retransmit without fast recovery (Jacobson 1988; Fall and Floyd 1996, section 2).
//!
//! Three duplicate acknowledgments mean that all that is outstanding is sent anew, from one
//! segment on in slow start, as after a timeout. (Where SACK was agreed on, what is sacked is not
//! retransmitted; Tahoe proper has no SACK.)
//!
//! Much of what is retransmitted had arrived, and brings duplicates in turn. As in ns (`bugFix_`),
//! those that acknowledge no more than what was outstanding at the last loss begin nothing;
//! otherwise a long queue keeps the sender going round for ever.

use super::{AckSummary, DUP_THRESH, Episode, Recovery, Verdict, left_before_recovery};
use crate::tcp::ledger::Ledger;
use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};

/// See the module's head.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Tahoe {
    dup_acks: u32,
    /// Bytes that duplicate acknowledgments say have left the network (limited transmit, RFC 3042).
    left_network: Bytes,
    /// The end of what was outstanding at the last loss; none before the first.
    recover: Option<Offset>,
}

impl Recovery for Tahoe {
    fn on_ack(&mut self, facts: &AckSummary, ledger: &Ledger) -> Verdict {
        if facts.delivered.acked > Bytes::ZERO {
            (self.dup_acks, self.left_network) = (0, Bytes::ZERO);
        }
        if !facts.duplicate {
            return Verdict::default();
        }
        self.dup_acks += 1;
        let may_enter = self.recover.is_none_or(|recover| ledger.snd_una() > recover);
        if self.dup_acks != DUP_THRESH || !may_enter {
            if self.dup_acks < DUP_THRESH && may_enter {
                self.left_network = left_before_recovery(self.dup_acks, ledger, facts.smss);
            }
            return Verdict::default();
        }
        (self.recover, self.left_network) = (Some(ledger.snd_nxt()), Bytes::ZERO);
        Verdict {
            lost: vec![ledger.snd_una()..ledger.snd_nxt()],
            episode: Episode::Restart,
            retransmit_now: true,
            ..Verdict::default()
        }
    }

    fn on_timeout(&mut self, ledger: &Ledger) {
        *self = Tahoe { dup_acks: 0, left_network: Bytes::ZERO, recover: Some(ledger.snd_nxt()) };
    }

    fn on_undo(&mut self, _ledger: &Ledger) {
        // `recover` stays: the duplicates of what was retransmitted are still to come.
        (self.dup_acks, self.left_network) = (0, Bytes::ZERO);
    }

    fn in_recovery(&self) -> bool {
        false
    }

    fn in_flight(&self, ledger: &Ledger) -> Bytes {
        ledger.pipe().saturating_sub(self.left_network)
    }
}
