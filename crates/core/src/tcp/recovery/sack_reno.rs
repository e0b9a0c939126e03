//! SACK with Reno's congestion control (Henderson, section 4.2: "SACK-Reno").
//!
//! The scoreboard says what has left the network and what to send, as in RFC 6675
//! ([`super::Sack`]), but episodes are Reno's: the third duplicate acknowledgment begins one, the
//! first new acknowledgment ends it, whatever else was outstanding. Losses of one window that come
//! to light one after another each halve the window. [`super::Sack`] is the other of the pair,
//! "SACK-NewReno".

use super::sack::is_lost_edge;
use super::{AckSummary, DUP_THRESH, Episode, Recovery, SentFacts, Verdict, first_segment};
use crate::tcp::ledger::Ledger;
use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};

/// See the module's head.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SackReno {
    /// Acknowledgments with news from SACK since `snd_una` moved.
    dup_acks: u32,
    in_recovery: bool,
    /// All below that is not sacked has been marked lost.
    lost_edge: Offset,
    /// One past the highest offset retransmitted.
    high_rxt: Offset,
}

impl Recovery for SackReno {
    fn on_ack(&mut self, facts: &AckSummary, ledger: &Ledger) -> Verdict {
        let mut verdict = Verdict::default();
        let una = ledger.snd_una();
        if facts.delivered.acked > Bytes::ZERO {
            self.dup_acks = 0;
            if std::mem::take(&mut self.in_recovery) {
                verdict.episode = Episode::Deflate;
            }
            return verdict;
        }
        if facts.delivered.sacked == Bytes::ZERO {
            return verdict;
        }
        self.dup_acks += 1;
        let from = self.lost_edge.max(self.high_rxt).max(una);
        let mut edge = is_lost_edge(ledger, facts.smss);
        if self.dup_acks == DUP_THRESH && !self.in_recovery {
            self.in_recovery = true;
            verdict.episode = Episode::Enter;
            if from == una {
                verdict.retransmit_now = true;
                edge = edge.max(first_segment(ledger, facts.smss).end);
            }
        }
        if self.in_recovery && edge > from {
            verdict.lost.push(from..edge);
            self.lost_edge = edge;
        }
        verdict
    }

    fn on_timeout(&mut self, ledger: &Ledger) {
        *self = SackReno { lost_edge: ledger.snd_nxt(), ..SackReno::default() };
    }

    fn on_sent(&mut self, sent: &SentFacts, _ledger: &Ledger) {
        if sent.again {
            self.high_rxt = self.high_rxt.max(sent.range.end);
        }
    }

    fn on_undo(&mut self, _ledger: &Ledger) {
        *self = SackReno { high_rxt: self.high_rxt, ..SackReno::default() };
    }

    fn in_recovery(&self) -> bool {
        self.in_recovery
    }
}
