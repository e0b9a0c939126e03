//! SACK-based loss recovery (RFC 6675).
//!
//! `IsLost` is kept as one offset, the edge below which all that is not sacked is lost: it only
//! moves forward, so each segment is marked once, however many are in flight.

use super::{AckSummary, DUP_THRESH, Episode, FullWindow, Next, Recovery, SentFacts, Verdict};
use crate::tcp::cause::Cause;
use crate::tcp::ledger::Ledger;
use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct Sack {
    full_window: FullWindow,
    dup_acks: u32,
    /// RFC 6675's RecoveryPoint during an episode.
    recovery_point: Option<Offset>,
    /// What was outstanding at the last timeout: no new episode before it is acknowledged
    /// (section 5.1).
    timeout_point: Offset,
    /// All below that is not sacked is lost.
    lost_edge: Offset,
    /// HighRxt: one past the highest offset retransmitted in this episode.
    high_rxt: Offset,
    /// RescueRxt, one past.
    rescue_rxt: Offset,
    /// One past the highest sacked offset.
    highest_sacked: Offset,
}

impl Sack {
    /// With such a window at the end of recovery, of which RFC 6675 says nothing.
    pub fn new(full_window: FullWindow) -> Sack {
        Sack {
            full_window,
            dup_acks: 0,
            recovery_point: None,
            timeout_point: Offset::default(),
            lost_edge: Offset::default(),
            high_rxt: Offset::default(),
            rescue_rxt: Offset::default(),
            highest_sacked: Offset::default(),
        }
    }

    /// The first unsacked part at or above `from`, below the highest sacked offset.
    fn first_hole(ledger: &Ledger, from: Offset) -> Option<Range<Offset>> {
        let mut at = from.max(ledger.snd_una());
        if let Some(sacked) = ledger.sacked().containing(at) {
            at = sacked.end;
        }
        let highest = ledger.sacked().iter().next_back()?.end;
        let record = ledger.record_at(at).filter(|_| at < highest)?;
        Some(at..record.range.end)
    }
}

impl Recovery for Sack {
    fn on_ack(&mut self, facts: &AckSummary, ledger: &Ledger) -> Verdict {
        let mut verdict = Verdict::default();
        let una = ledger.snd_una();
        if facts.delivered.acked > Bytes::ZERO {
            self.dup_acks = 0;
            if self.recovery_point.is_some_and(|point| una >= point) {
                self.recovery_point = None;
                verdict.episode = match self.full_window {
                    FullWindow::Limited => Episode::Exit,
                    FullWindow::Ssthresh => Episode::Deflate,
                };
            }
        } else if facts.delivered.sacked > Bytes::ZERO {
            self.dup_acks += 1;
        }
        self.highest_sacked = ledger.sacked().iter().next_back().map_or(una, |last| last.end);
        let mut edge = is_lost_edge(ledger, facts.smss).max(self.lost_edge);
        let may_enter = self.recovery_point.is_none() && una >= self.timeout_point;
        if may_enter
            && (edge > una || self.dup_acks >= DUP_THRESH)
            && ledger.flight_size() > Bytes::ZERO
        {
            // Section 5, steps 1, 2 and 4.
            self.recovery_point = Some(ledger.snd_nxt());
            self.high_rxt = una;
            // Step 4.3: no rescue before more than the first retransmission was acknowledged.
            self.rescue_rxt = (una + facts.smss).min(ledger.snd_nxt());
            verdict.episode = Episode::Enter;
            verdict.retransmit_now = true;
            edge = edge.max((una + facts.smss).min(ledger.snd_nxt()));
        }
        // Below HighRxt everything has been retransmitted in this episode, by rule 3 perhaps.
        let from = self.lost_edge.max(self.high_rxt).max(una);
        if edge > from && self.recovery_point.is_some() {
            verdict.lost.push(from..edge);
        }
        if self.recovery_point.is_some() {
            self.lost_edge = self.lost_edge.max(edge);
        }
        verdict
    }

    fn on_timeout(&mut self, ledger: &Ledger) {
        *self = Sack {
            timeout_point: ledger.snd_nxt(),
            lost_edge: ledger.snd_nxt(),
            high_rxt: ledger.snd_una(),
            ..Sack::new(self.full_window)
        };
    }

    fn on_sent(&mut self, sent: &SentFacts, _ledger: &Ledger) {
        if !sent.again {
            return;
        }
        let range = &sent.range;
        // A rescue retransmission does not move HighRxt: it lies above all that is sacked.
        let rescue = range.start >= self.highest_sacked.max(self.lost_edge);
        if rescue && self.recovery_point.is_some() {
            self.rescue_rxt = self.recovery_point.unwrap_or_default();
        } else {
            self.high_rxt = self.high_rxt.max(range.end);
        }
    }

    fn on_undo(&mut self, _ledger: &Ledger) {
        let (high_rxt, highest_sacked) = (self.high_rxt, self.highest_sacked);
        *self = Sack { high_rxt, highest_sacked, ..Sack::new(self.full_window) };
    }

    fn in_recovery(&self) -> bool {
        self.recovery_point.is_some()
    }

    fn next(&self, ledger: &Ledger, new_data: bool, smss: Bytes) -> Next {
        // NextSeg (section 4), rule 1.
        if let Some(range) = ledger.first_lost(smss) {
            return Next::Again(range, self.cause());
        }
        // Rule 2.
        if new_data {
            return Next::New;
        }
        if self.recovery_point.is_none() {
            return Next::Nothing;
        }
        // Rule 3: a hole that is not yet marked lost.
        if let Some(hole) = Self::first_hole(ledger, self.high_rxt) {
            let hole = hole.start..hole.end.min(hole.start + smss);
            return Next::Again(hole, Cause::FastRecovery);
        }
        // Rule 4: one rescue of the last segment in an episode.
        let highest_unsacked = match ledger.sacked().iter().next_back() {
            Some(sacked) if sacked.end == ledger.snd_nxt() => sacked.start,
            _ => ledger.snd_nxt(),
        };
        let resent = self.high_rxt.max(self.highest_sacked).max(ledger.snd_una());
        if ledger.snd_una() > self.rescue_rxt && highest_unsacked > resent {
            let from = highest_unsacked.saturating_back(smss).max(resent);
            return Next::Again(from..highest_unsacked, Cause::Rescue);
        }
        Next::Nothing
    }
}

/// The offset below which all that is not sacked meets IsLost: at least three discontiguous
/// sacked ranges above it, or more than (DupThresh − 1)·SMSS sacked bytes.
pub(super) fn is_lost_edge(ledger: &Ledger, smss: Bytes) -> Offset {
    let (mut ranges, mut bytes) = (0, Bytes::ZERO);
    for range in ledger.sacked().iter().rev() {
        ranges += 1;
        bytes += range.end - range.start;
        if ranges >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * smss {
            return range.start;
        }
    }
    Offset::SYN
}
