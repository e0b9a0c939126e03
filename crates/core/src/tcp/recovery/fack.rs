//! Forward acknowledgment (Mathis and Mahdavi, SIGCOMM 1996).
//!
//! `snd_fack` is one past the highest offset that the peer is known to hold. All below it that is
//! not sacked has left the network, so what is in the network is `awnd` = `snd_nxt` − `snd_fack` +
//! `retran_data`. Recovery begins when `snd_fack` is more than three segments above `snd_una`, or
//! with the third duplicate acknowledgment, and ends when all has been acknowledged that was
//! outstanding then: one reduction an episode. A lost retransmission waits for the timer.
//!
//! Rampdown: halving the window at once silences the sender for half a round trip. With it the
//! sender goes on with one segment for every two that have left the network, so that the window
//! shrinks over the round trip. Here that is an amount by which less is held to be in flight: at
//! first what exceeds half of the flight, and less by half of what `snd_fack` advances.
//!
//! Not here: the paper's correction for overdamping, which lets slow start's window, doubled since
//! the loss, be halved twice. That is for congestion control to do.

use super::{AckSummary, DUP_THRESH, Episode, Recovery, Verdict};
use crate::tcp::ledger::Ledger;
use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct Fack {
    rampdown: bool,
    dup_acks: u32,
    /// The end of what was outstanding at the beginning of this episode.
    recovery_point: Option<Offset>,
    /// What was outstanding at the last timeout: no new episode before it is acknowledged.
    timeout_point: Offset,
    /// All below that is not sacked has been marked lost.
    lost_edge: Offset,
    /// Where `snd_fack` was.
    fack: Offset,
    /// What rampdown lets the sender exceed the window by.
    excess: Bytes,
}

impl Fack {
    /// Before any loss.
    pub fn new(rampdown: bool) -> Fack {
        Fack {
            rampdown,
            dup_acks: 0,
            recovery_point: None,
            timeout_point: Offset::SYN,
            lost_edge: Offset::SYN,
            fack: Offset::SYN,
            excess: Bytes::ZERO,
        }
    }

    fn snd_fack(ledger: &Ledger) -> Offset {
        ledger.sacked().iter().next_back().map_or(ledger.snd_una(), |last| last.end)
    }

    /// The ledger counts a hole as in flight until it is marked lost; these have left the network
    /// all the same. Outside recovery they are few, in recovery there are none.
    fn holes(&self, ledger: &Ledger) -> Bytes {
        let fack = Self::snd_fack(ledger);
        let from = self.lost_edge.max(ledger.snd_una());
        if from >= fack {
            return Bytes::ZERO;
        }
        let hole = ledger.records_in(from..fack).filter(|record| !record.sacked && !record.lost);
        hole.map(|record| record.range.end - record.range.start).sum()
    }

    fn awnd(&self, ledger: &Ledger) -> Bytes {
        ledger.pipe() - self.holes(ledger)
    }
}

impl Recovery for Fack {
    fn on_ack(&mut self, facts: &AckSummary, ledger: &Ledger) -> Verdict {
        let mut verdict = Verdict::default();
        let una = ledger.snd_una();
        if facts.delivered.acked > Bytes::ZERO {
            self.dup_acks = 0;
            if self.recovery_point.is_some_and(|point| una >= point) {
                self.recovery_point = None;
                self.excess = Bytes::ZERO;
                verdict.episode = Episode::Exit;
            }
        } else if facts.delivered.sacked > Bytes::ZERO {
            self.dup_acks += 1;
        }
        let fack = Self::snd_fack(ledger);
        let left = fack.saturating_sub(std::mem::replace(&mut self.fack, fack));
        self.excess = self.excess.saturating_sub(left / 2);
        let reordered = fack.saturating_sub(una) > u64::from(DUP_THRESH) * facts.smss;
        let may_enter = self.recovery_point.is_none() && una >= self.timeout_point;
        if may_enter
            && (reordered || self.dup_acks >= DUP_THRESH)
            && ledger.flight_size() > Bytes::ZERO
        {
            self.recovery_point = Some(ledger.snd_nxt());
            if self.rampdown {
                self.excess = self.awnd(ledger).saturating_sub(ledger.flight_size() / 2);
            }
            verdict.episode = Episode::Enter;
            verdict.retransmit_now = true;
        }
        if self.recovery_point.is_some() {
            let from = self.lost_edge.max(una);
            if from < fack {
                verdict.lost.push(from..fack);
                self.lost_edge = fack;
            }
        }
        verdict
    }

    fn on_timeout(&mut self, ledger: &Ledger) {
        let point = ledger.snd_nxt();
        *self = Fack { timeout_point: point, lost_edge: point, ..Fack::new(self.rampdown) };
    }

    fn on_undo(&mut self, _ledger: &Ledger) {
        *self = Fack { fack: self.fack, ..Fack::new(self.rampdown) };
    }

    fn in_recovery(&self) -> bool {
        self.recovery_point.is_some()
    }

    fn in_flight(&self, ledger: &Ledger) -> Bytes {
        self.awnd(ledger).saturating_sub(self.excess)
    }
}
