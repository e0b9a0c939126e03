//! What is outstanding, and the loss recovery that judges it.

use super::Ack;
use super::snapshot::no_recovery;
use crate::snapshot::Writer;
use crate::tcp::congestion::Lost;
use crate::tcp::delivery_rate::LossSample;
use crate::tcp::ledger::{Delivered, Ledger};
use crate::tcp::recovery::{
    AckSummary, Next, Recovery, RecoveryAlgorithm, SentFacts, Timing, Verdict,
};
use crate::time::Instant;
use crate::units::{Bytes, Offset};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The segments in flight (SND.UNA to SND.NXT), and what recovery makes of them.
///
/// Invariant: recovery judges the ledger that it has seen grow. Each segment is noted in the ledger
/// and then told to recovery, and what recovery or a timeout finds lost is marked before anything
/// else is asked. A round trip ends within what is outstanding, or right behind it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Flight {
    ledger: Ledger,
    // Written apart: see `snapshot`.
    #[serde(skip, default = "no_recovery")]
    recovery: Box<dyn Recovery>,
    /// Round trips so far, and SND.NXT when this one began: it ends when that byte is acknowledged,
    /// which is the first that was sent in answer to its beginning (RFC 9406, 4.2).
    round: (u64, Offset),
    duplicates: Duplicates,
}

/// What duplicate acknowledgments let out outside fast recovery.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Duplicates {
    /// New segments, as recovery counts (RFC 3042).
    Send,
    /// Nothing: what SACK blocks have reported since SND.UNA moved counts as in flight all the
    /// same, unless it is below the second number: that was outstanding at the last timeout.
    Wait(Bytes, Offset),
}

impl Flight {
    /// Nothing is outstanding: the next byte is at offset `start`.
    pub(super) fn new(
        start: Offset,
        algorithm: RecoveryAlgorithm,
        limited_transmit: bool,
    ) -> Flight {
        Flight {
            ledger: Ledger::new(start),
            recovery: algorithm.recovery(),
            round: (0, start),
            duplicates: match limited_transmit {
                true => Duplicates::Send,
                false => Duplicates::Wait(Bytes::ZERO, start),
            },
        }
    }

    /// Writes what its [`Serialize`] leaves out.
    pub(super) fn snapshot(&self, into: &mut Writer) {
        self.recovery.snapshot(into);
    }

    /// What was written so comes back.
    pub(super) fn restore(&mut self, recovery: Box<dyn Recovery>) {
        self.recovery = recovery;
    }

    /// The facts, to be read.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(super) fn snd_una(&self) -> Offset {
        self.ledger.snd_una()
    }

    pub(super) fn snd_nxt(&self) -> Offset {
        self.ledger.snd_nxt()
    }

    /// SND.UNA to SND.NXT.
    pub(super) fn outstanding(&self) -> Range<Offset> {
        self.snd_una()..self.snd_nxt()
    }

    /// RFC 5681's FlightSize.
    pub(super) fn size(&self) -> Bytes {
        self.ledger.flight_size()
    }

    /// Bytes held to be in the network.
    pub(super) fn in_flight(&self) -> Bytes {
        match self.duplicates {
            Duplicates::Wait(reported, _) if !self.recovery.in_recovery() => {
                self.ledger.pipe() + reported
            }
            _ => self.recovery.in_flight(&self.ledger),
        }
    }

    pub(super) fn in_recovery(&self) -> bool {
        self.recovery.in_recovery()
    }

    /// Round trips so far.
    pub(super) fn round(&self) -> u64 {
        self.round.0
    }

    /// What is to be sent next, as far as recovery is concerned.
    pub(super) fn next(&self, new_data: bool, smss: Bytes) -> Next {
        self.recovery.next(&self.ledger, new_data, smss)
    }

    /// The first segment that is outstanding, as it was sent.
    pub(super) fn first(&self) -> Option<Range<Offset>> {
        self.ledger.record_at(self.snd_una()).map(|record| record.range.clone())
    }

    /// The last segment as it was sent: the last of a super-segment, or a short one alone.
    pub(super) fn last(&self, smss: Bytes) -> Option<Range<Offset>> {
        let end = self.snd_nxt();
        let sent = &self.ledger.record_at(end.checked_back(Bytes::ONE)?)?.range;
        Some(end - ((end - sent.start - Bytes::ONE) % smss + Bytes::ONE)..end)
    }

    /// A segment leaves.
    pub(super) fn sent(&mut self, sent: &SentFacts) {
        if sent.again {
            self.ledger.resent(sent.now, sent.range.clone());
        } else {
            self.ledger.sent(sent.now, sent.range.clone());
        }
        self.recovery.on_sent(sent, &self.ledger);
    }

    /// What is outstanding went out once more.
    pub(super) fn repeated(&mut self, range: Range<Offset>) {
        self.ledger.repeated(range);
    }

    /// The sender would send more if there was more.
    pub(super) fn set_app_limited(&mut self) {
        self.ledger.set_app_limited();
    }

    /// Notes what `ack` acknowledges, and by its SACK blocks too if recovery is `selective`.
    pub(super) fn acknowledge(
        &mut self,
        now: Instant,
        ack: &Ack<'_>,
        selective: bool,
        smss: Bytes,
    ) -> Delivered {
        let Range { start: una, end: nxt } = self.outstanding();
        // DSACKs lie below; what is above snd_nxt was never sent (RFC 5961's spirit).
        let blocks: ArrayVec<Range<Offset>, 4> = ack
            .sack
            .iter()
            .filter(|block| selective && block.start >= ack.ack.max(una) && block.end <= nxt)
            // Most blocks repeat what earlier acknowledgments said.
            .filter(|block| !self.ledger.sacked().contains(block))
            .map(|block| self.whole_segments(block, smss))
            .filter(|block| block.start < block.end)
            .take(4)
            .collect();
        let delivered = self.ledger.acknowledge(now, ack.ack, blocks);
        if delivered.acked > Bytes::ZERO && self.snd_una() > self.round.1 {
            self.round = (self.round.0 + 1, nxt);
        }
        debug_assert!(self.round.1 <= nxt, "a round trip ends with what was sent");
        delivered
    }

    /// What of a SACK block are whole segments as they were sent. Parts of segments count as not
    /// sacked: a peer that reports single bytes would otherwise cut the ledger's records, and
    /// with them our retransmissions, into single bytes (as in CVE-2019-11478).
    fn whole_segments(&self, block: &Range<Offset>, smss: Bytes) -> Range<Offset> {
        let record = |offset| self.ledger.record_at(offset).map(|record| record.range.clone());
        let start = record(block.start).map_or(block.start, |sent| {
            let segments = (block.start - sent.start).div_ceil(smss);
            (sent.start + segments * smss).min(sent.end)
        });
        let end = record(block.end)
            .map_or(block.end, |sent| sent.start + (block.end - sent.start) / smss * smss);
        start..end
    }

    /// Lets recovery judge an acknowledgment that was noted. What the verdict holds lost is to be
    /// marked by [`Flight::mark_lost`].
    pub(super) fn judge(&mut self, facts: &AckSummary) -> Verdict {
        if let Duplicates::Wait(reported, timeout_point) = &mut self.duplicates {
            let waits =
                facts.delivered.acked == Bytes::ZERO && self.ledger.snd_una() >= *timeout_point;
            *reported = if waits { *reported + facts.delivered.sacked } else { Bytes::ZERO };
        }
        let verdict = self.recovery.on_ack(facts, &self.ledger);
        if self.recovery.in_recovery() {
            self.forget_reports(None);
        }
        verdict
    }

    /// What duplicates have reported keeps nothing back any more.
    fn forget_reports(&mut self, timeout_point: Option<Offset>) {
        if let Duplicates::Wait(reported, point) = &mut self.duplicates {
            (*reported, *point) = (Bytes::ZERO, timeout_point.unwrap_or(*point));
        }
    }

    /// When [`Flight::on_timer`] is to be called, if ever.
    pub(super) fn poll_timer(&self) -> Option<Instant> {
        self.recovery.poll_timer()
    }

    /// Recovery's verdict, if a timer of its own has expired.
    pub(super) fn on_timer(&mut self, now: Instant, timing: &Timing) -> Option<Verdict> {
        let due = self.recovery.poll_timer().is_some_and(|deadline| deadline <= now);
        due.then(|| self.recovery.on_timer(now, timing, &self.ledger))
    }

    /// Holds `range` lost. `tell` hears of each segment that was not marked lost before.
    pub(super) fn mark_lost(
        &mut self,
        now: Instant,
        range: Range<Offset>,
        mut tell: impl FnMut(&Lost),
    ) {
        let delivered = self.ledger.delivered();
        self.ledger.mark_lost_telling(range, |sample: LossSample| {
            tell(&Lost { now, delivered, sample });
        });
    }

    /// Holds lost what is outstanding in segments longer than `smss`, which a router has dropped.
    /// True if anything is.
    pub(super) fn hold_longer_lost(&mut self, smss: Bytes) -> bool {
        let too_long: Vec<Range<Offset>> = self
            .ledger
            .records_in(self.outstanding())
            .filter(|record| !record.sacked && record.range.end - record.range.start > smss)
            .map(|record| record.range.clone())
            .collect();
        for range in &too_long {
            self.ledger.mark_lost(range.clone());
        }
        !too_long.is_empty()
    }

    /// The retransmission timer has expired while something is outstanding. `tell` hears of each
    /// segment that is lost by it.
    pub(super) fn on_timeout(&mut self, now: Instant, mut tell: impl FnMut(&Lost)) {
        let first = self.ledger.record_at(self.snd_una()).expect("something is outstanding");
        if first.sacked {
            // RFC 2018, section 8: the peer has dropped what it had sacked.
            self.ledger.forget_sacked();
        }
        for lost in self.recovery.lost_by_timeout(now, &self.ledger) {
            self.mark_lost(now, lost, &mut tell);
        }
        self.recovery.on_timeout(&self.ledger);
        self.forget_reports(Some(self.snd_nxt()));
    }

    /// Nothing had been lost: what was held so and not retransmitted is in flight after all.
    pub(super) fn undo(&mut self) {
        self.ledger.unmark_lost();
        self.recovery.on_undo(&self.ledger);
        self.forget_reports(None);
    }
}
#[cfg(test)]
mod tests;
