//! RACK-TLP (RFC 8985): losses are told by time. A segment is lost when one that was sent later
//! has arrived and the reordering window has passed since; a probe ends the silence behind a
//! lost tail. Names in comments are the RFC's.
//!
//! Transmissions are kept in the order of sending, so that an acknowledgment costs what it newly
//! makes overdue. Entries are not removed when their segments arrive but skipped when they come
//! to the front.
//!
//! Deviations. The reordering timer expires when the first segment falls due, not the last (6.2,
//! step 5): each is then marked at its own time. It, the probe's timer and the retransmission timer
//! run side by side, and the first that is due acts (section 8 would cancel the others). TSecr is
//! not looked at (6.2, step 2, first condition), as a gateway's legs carry timestamps of somebody
//! else's; the second condition stands alone, as for connections without timestamps, and judges an
//! acknowledgment of several retransmissions by the newest. Of transmissions at the same moment
//! the order of sending counts before the sequence.

mod probes;

use super::{AckSummary, DUP_THRESH, Episode, Recovery, SentFacts, Timing, Verdict};
use crate::tcp::cause::Cause;
use crate::tcp::ledger::{Ledger, SentSegment};
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};
use probes::{Probes, Style};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;

/// What is under way until [`Rack::recovery_point`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum RackState {
    Open,
    FastRecovery,
    TimeoutRecovery,
}

/// A segment as RACK compares it: when it was sent, then where it ends.
type Sent = (Instant, Offset);

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct Rack {
    /// Segment.xmit_ts and range, in the order of sending. What has arrived or was
    /// retransmitted since no longer counts.
    sent: VecDeque<(Instant, Range<Offset>)>,
    /// RACK.xmit_ts and RACK.end_seq.
    newest: Option<Sent>,
    /// RACK.rtt.
    rtt: Duration,
    /// RACK.fack.
    fack: Offset,
    reordering_seen: bool,
    reo_wnd: Duration,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    dsack_round: Option<Offset>,
    reordering_timer: Option<Instant>,
    state: RackState,
    recovery_point: Offset,
    /// When congestion control was last told of a loss.
    told_at: Instant,
    probes: Probes,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            sent: VecDeque::new(),
            newest: None,
            rtt: Duration::ZERO,
            fack: Offset::SYN,
            reordering_seen: false,
            reo_wnd: Duration::ZERO,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            dsack_round: None,
            reordering_timer: None,
            state: RackState::Open,
            recovery_point: Offset::SYN,
            told_at: Instant::ZERO,
            probes: Probes::default(),
        }
    }
}

impl Rack {
    /// RACK alone (RFC 8985, section 6), as Linux has it with `tcp_early_retrans=0`.
    pub fn without_probes() -> Rack {
        Rack { probes: Probes::new(Style::Never), ..Rack::default() }
    }

    /// With probe timeouts instead of tail loss probes.
    pub fn with_probe_timeouts() -> Rack {
        Rack { probes: Probes::new(Style::Timeout), ..Rack::default() }
    }

    /// Recoveries that a widened reordering window outlasts (6.2, step 4).
    const PERSIST: u32 = 16;

    /// 6.2, steps 1 to 3: the most recently sent segment that has arrived, and reordering. False if
    /// the acknowledgment speaks of nothing but a retransmission that cannot have arrived yet: RACK
    /// learns nothing by it.
    fn update(&mut self, facts: &AckSummary, ledger: &Ledger) -> bool {
        let arrived = &facts.delivered.arrived;
        let again = arrived.again.filter(|_| facts.rtt_again().is_some());
        let has_learned = arrived.once.is_some() || arrived.again == again;
        if let Some(sent) = arrived.once.max(again) {
            // RACK.rtt is of this acknowledgment, though something sent later has arrived before.
            self.rtt = facts.now.saturating_since(sent.0);
            self.newest = self.newest.max(Some(sent));
        }
        if arrived.lowest_once.is_some_and(|end| end < self.fack) {
            self.reordering_seen = true;
        }
        let highest = ledger.sacked().iter().next_back().map_or(Offset::SYN, |range| range.end);
        self.fack = self.fack.max(ledger.snd_una()).max(highest);
        has_learned
    }

    /// 6.2, step 4: duplicates tell that the window was too small, recoveries without them that
    /// it need not be so wide.
    fn adapt_window(&mut self, facts: &AckSummary, ledger: &Ledger, exiting: bool) {
        if self.dsack_round.is_some_and(|round| ledger.snd_una() >= round) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() && facts.dsack.is_some() {
            self.dsack_round = Some(ledger.snd_nxt());
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = Self::PERSIST;
        } else if exiting {
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
    }

    /// 6.2, step 4: how long a segment may stay away when a later one has arrived.
    fn reordering_window(&self, timing: &Timing, ledger: &Ledger, smss: Bytes) -> Duration {
        let losing = || self.state != RackState::Open || three_are_sacked(ledger, smss);
        if !self.reordering_seen && losing() {
            return Duration::ZERO;
        }
        let min = timing.min_rtt.unwrap_or_default();
        let window = min.saturating_mul(self.reo_wnd_mult) / 4;
        timing.srtt.map_or(window, |srtt| window.min(srtt))
    }

    /// 6.2, step 5: what was sent before RACK.segment and is overdue.
    fn detect_loss(&mut self, now: Instant, ledger: &Ledger) -> Lost {
        let mut lost = Lost::default();
        self.reordering_timer = None;
        let Some(newest) = self.newest else { return lost };
        while let Some((sent_at, range)) = self.sent.front_mut() {
            for record in ledger.records_in(range.clone()) {
                if is_current(record, *sent_at) {
                    if (record.sent_at, record.range.end) >= newest {
                        return lost;
                    }
                    let due = record.sent_at + self.rtt + self.reo_wnd;
                    if due > now {
                        self.reordering_timer = Some(due);
                        return lost;
                    }
                    lost.note(record, self.told_at);
                }
                range.start = record.range.end;
            }
            self.sent.pop_front();
        }
        lost
    }

    /// Begins an episode if `lost` is the first of one.
    fn verdict(&mut self, now: Instant, lost: Lost, episode: Episode, ledger: &Ledger) -> Verdict {
        let mut verdict = Verdict { episode, ..Verdict::default() };
        if !lost.ranges.is_empty() {
            self.probes.disarm();
            if self.state == RackState::Open {
                self.state = RackState::FastRecovery;
                self.recovery_point = ledger.snd_nxt();
                self.told_at = now;
                self.probes.init();
                verdict.episode = Episode::Enter;
                verdict.retransmit_now = true;
            } else if lost.again {
                self.told_at = now;
                verdict.episode = Episode::LostAgain;
            }
        }
        verdict.lost = lost.ranges;
        verdict
    }

    /// What is in flight by the ledger: it may have forgotten SACK blocks, or losses.
    fn begin_from(&mut self, ledger: &Ledger) {
        let all = ledger.records_in(ledger.snd_una()..ledger.snd_nxt());
        let mut sent: Vec<(Instant, Range<Offset>)> = all
            .filter(|record| is_current(record, record.sent_at))
            .map(|record| (record.sent_at, record.range.clone()))
            .collect();
        sent.sort_by_key(|(sent_at, range)| (*sent_at, range.end));
        self.sent = sent.into();
    }

    fn may_probe(&self, ledger: &Ledger) -> bool {
        self.probes.may_be_sent(self.state == RackState::Open, ledger)
    }
}

/// What has been found lost.
#[derive(Debug, Default)]
struct Lost {
    ranges: Vec<Range<Offset>>,
    /// A retransmission is among it that was sent since congestion control was last told.
    again: bool,
}

impl Lost {
    fn note(&mut self, record: &SentSegment, told_at: Instant) {
        self.again |= record.retransmitted && record.sent_at >= told_at;
        match self.ranges.last_mut() {
            Some(last) if last.end == record.range.start => last.end = record.range.end,
            _ => self.ranges.push(record.range.clone()),
        }
    }
}

/// Whether RACK.segs_sacked has come to DupThresh.
fn three_are_sacked(ledger: &Ledger, smss: Bytes) -> bool {
    let sacked = ledger.sacked().iter().flat_map(|range| ledger.records_in(range.clone()));
    let mut segments = sacked.scan(0, |sum, record| {
        *sum += (record.range.end - record.range.start).div_ceil(smss);
        Some(*sum)
    });
    segments.any(|sum| sum >= u64::from(DUP_THRESH))
}

/// Whether `record` is still in flight since it was sent at `sent_at`.
fn is_current(record: &SentSegment, sent_at: Instant) -> bool {
    record.sent_at == sent_at && !record.sacked && (!record.lost || record.retransmitted)
}

/// Whether what now arrives left before the first segment was last retransmitted: so that one
/// cannot have been answered yet. The timer does not count the time until then, or a queue that
/// grows would make it expire (as Linux's `tcp_clean_rtx_queue`).
fn precedes_the_first(facts: &AckSummary, ledger: &Ledger) -> bool {
    let first = ledger.record_at(ledger.snd_una());
    let newest = facts.delivered.arrived.once.filter(|_| facts.delivered.sacked > Bytes::ZERO);
    newest.zip(first).is_some_and(|((sent_at, _), first)| sent_at < first.sent_at)
}

impl Recovery for Rack {
    fn on_ack(&mut self, facts: &AckSummary, ledger: &Ledger) -> Verdict {
        let has_learned = self.update(facts, ledger);
        let exiting = self.state != RackState::Open && ledger.snd_una() >= self.recovery_point;
        let was = self.state;
        if exiting {
            self.state = RackState::Open;
        }
        self.adapt_window(facts, ledger, exiting);
        self.reo_wnd = self.reordering_window(&facts.timing, ledger, facts.smss);
        let lost = self.detect_loss(facts.now, ledger);
        let repaired = self.probes.process_ack(facts, ledger) && was == RackState::Open;
        let episode = match (exiting && was == RackState::FastRecovery, repaired) {
            (true, _) => Episode::Exit,
            (false, true) => Episode::Repaired,
            (false, false) => Episode::Unchanged,
        };
        self.probes.note_ack(facts, ledger, has_learned);
        if !self.may_probe(ledger) {
            self.probes.disarm();
        } else if facts.delivered.acked + facts.delivered.sacked > Bytes::ZERO {
            self.probes.schedule(facts.now, &facts.timing, ledger, facts.smss);
        }
        let mut verdict = self.verdict(facts.now, lost, episode, ledger);
        verdict.restart_timer = precedes_the_first(facts, ledger);
        verdict
    }

    /// 6.3: the first segment, and whatever else is overdue.
    fn lost_by_timeout(&self, now: Instant, ledger: &Ledger) -> Vec<Range<Offset>> {
        let una = ledger.snd_una();
        let overdue = |record: &&SentSegment| {
            record.range.start == una || record.sent_at + self.rtt + self.reo_wnd <= now
        };
        let records = ledger.records_in(una..ledger.snd_nxt()).filter(overdue);
        records.map(|record| record.range.clone()).collect()
    }

    fn on_timeout(&mut self, ledger: &Ledger) {
        self.state = RackState::TimeoutRecovery;
        self.recovery_point = ledger.snd_nxt();
        self.reordering_timer = None;
        self.probes.time_out();
        self.begin_from(ledger);
    }

    fn on_undo(&mut self, ledger: &Ledger) {
        // What overtook a segment that was not lost has reordered it.
        self.reordering_seen |= self.state == RackState::FastRecovery;
        self.state = RackState::Open;
        self.begin_from(ledger);
    }

    fn on_sent(&mut self, sent: &SentFacts, ledger: &Ledger) {
        if self.newest.is_none() {
            // Until a segment was acknowledged, what the handshake measured.
            self.rtt = sent.timing.srtt.unwrap_or_default();
        }
        self.sent.push_back((sent.now, sent.range.clone()));
        let may_probe = self.may_probe(ledger);
        self.probes.on_sent(sent, ledger, may_probe);
    }

    fn poll_timer(&self) -> Option<Instant> {
        [self.reordering_timer, self.probes.poll_timer()].into_iter().flatten().min()
    }

    fn on_timer(&mut self, now: Instant, timing: &Timing, ledger: &Ledger) -> Verdict {
        let mut verdict = Verdict::default();
        if self.reordering_timer.is_some_and(|due| due <= now) {
            let lost = self.detect_loss(now, ledger);
            verdict = self.verdict(now, lost, Episode::Unchanged, ledger);
        }
        if self.probes.is_due(now) {
            // 7.3: whether or not it can be sent.
            verdict.restart_timer = ledger.flight_size() > Bytes::ZERO;
            verdict.probe = self.probes.expire(now, self.state == RackState::Open, timing, ledger);
        }
        verdict
    }

    fn in_recovery(&self) -> bool {
        self.state == RackState::FastRecovery
    }

    fn cause(&self) -> Cause {
        if self.in_recovery() { Cause::Rack } else { Cause::AfterTimeout }
    }
}
