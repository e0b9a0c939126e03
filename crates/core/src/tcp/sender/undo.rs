//! Undoing a reduction for which nothing had been lost.
//!
//! From each reduction on a [`Watch`] gathers what was sent again since, and what the peer says
//! about it. There are two ways to learn that all of it was needless:
//!
//! - **Eifel** (RFC 3522): the acknowledgment that goes beyond the first retransmission echoes a
//!   timestamp from before it, so that the original has arrived. After a timeout that one
//!   acknowledgment decides. After a fast retransmit every acknowledgment up to the last
//!   retransmission must say so: one segment that came late proves nothing of the next hole.
//! - **DSACK** (RFC 3708): all that was sent again is reported to have come twice. A segment that
//!   was sent more than once again cannot be told apart, and closes this way.
//!
//! The answer is RFC 4015's: the threshold goes back to what it was, the window to what is in
//! flight and the acknowledged bytes up to an initial window, so that no burst leaves, and never
//! beyond what it was; what was held lost and not sent again is in flight after all; and after a
//! timeout the first round trip of new data raises the retransmission timer's estimate.
//!
//! A peer that lies about either can make us ignore losses that it has had, as one that
//! acknowledges what it has not received. It cannot raise the window beyond what it was.
//! Reports of congestion by ECN end the watch, and so does a loss that a probe has repaired.

use super::{Ack, Sender, transmit::Forced};
use crate::tcp::ledger::Delivered;
use crate::tcp::ranges::RangeSet;
use crate::tcp::timestamps;
use crate::time::Instant;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What has become of the retransmissions since the window was last reduced.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Watch {
    /// SND.NXT when the window was reduced.
    point: u64,
    /// It was by a timeout, outside fast recovery.
    timeout: bool,
    /// When the first segment that was sent again had left before, and when it left again, as
    /// our timestamps say it.
    first: Option<(Instant, Instant)>,
    /// An acknowledgment has spoken against Eifel.
    refuted: bool,
    again: RangeSet,
    /// What of `again` has come twice.
    twice: RangeSet,
    /// A segment was sent more than once again.
    ambiguous: bool,
    /// SND.NXT when `point` was acknowledged: with it, all reports of duplicates have come.
    expires: Option<u64>,
}

impl Watch {
    /// More parts than that come from a peer that reports bytes where segments were sent.
    const MAX_PARTS: usize = 1024;

    fn new(point: u64, timeout: bool) -> Watch {
        Watch {
            point,
            timeout,
            first: None,
            refuted: false,
            again: RangeSet::default(),
            twice: RangeSet::default(),
            ambiguous: false,
            expires: None,
        }
    }

    /// RFC 3522, steps 4 and 5: whether an acknowledgment of new data shows that all was needless.
    fn eifel(&mut self, ack: &Ack<'_>, ambiguous: bool) -> bool {
        let Some((original, again)) = self.first.filter(|_| !self.refuted) else { return false };
        let by_original = ack.echoed.is_some_and(|echoed| original <= echoed && echoed < again);
        if !by_original || ambiguous {
            self.refuted = true;
            return false;
        }
        self.timeout || self.again.iter().next_back().is_none_or(|last| last.end <= ack.ack)
    }

    /// RFC 3708: whether all that was sent again has come twice.
    fn came_twice(&mut self, report: &Range<u64>) -> bool {
        let Some(sent) = self.again.containing(report.start) else { return false };
        if self.twice.len() >= Self::MAX_PARTS {
            self.ambiguous = true;
        }
        if self.ambiguous || report.is_empty() {
            return false;
        }
        self.twice.cover(report.start..report.end.min(sent.end));
        self.twice.covered() == self.again.covered()
    }
}

impl Sender {
    /// The window is about to be reduced, as far as is known for a reason.
    pub(super) fn watch_reduction(&mut self, timeout: bool) {
        if self.config.undo {
            self.congestion.remember();
            self.watch = Some(Box::new(Watch::new(self.snd_nxt(), timeout)));
        }
    }

    /// Congestion is certain: the last reduction stands.
    pub(super) fn end_watch(&mut self) {
        self.watch = None;
    }

    /// `range` is about to be sent again.
    pub(super) fn watch_retransmission(&mut self, now: Instant, range: &Range<u64>) {
        let Some(watch) = self.watch.as_mut().filter(|watch| range.start < watch.point) else {
            return;
        };
        for record in self.ledger.records_in(range.clone()) {
            watch.first.get_or_insert((timestamps::tick(record.sent_at), timestamps::tick(now)));
            watch.ambiguous |= record.transmissions > 1;
        }
        watch.again.cover(range.clone());
    }

    /// Takes an acknowledgment that the ledger has taken. True if it has undone the reduction.
    pub(super) fn undo_if_needless(&mut self, ack: &Ack<'_>, delivered: &Delivered) -> bool {
        let dsack = self.duplicate_report(ack);
        // RFC 3522, step 5: when all acknowledgments of a window were lost, the retransmission
        // brings one with an old timestamp. It is a DSACK, or might have been one.
        let all = self.ledger.flight_size() == 0 && !self.dsack_seen;
        let ambiguous = dsack.is_some() || all;
        self.dsack_seen |= dsack.is_some();
        let (una, nxt) = (self.snd_una(), self.snd_nxt());
        let Some(watch) = &mut self.watch else { return false };
        let by_timestamp = delivered.acked > 0 && watch.eifel(ack, ambiguous);
        if by_timestamp || dsack.is_some_and(|report| watch.came_twice(&report)) {
            self.undo(delivered.acked);
            return true;
        }
        if una >= watch.point {
            let expires = *watch.expires.get_or_insert(nxt);
            if una >= expires && expires < nxt {
                self.watch = None;
            }
        }
        false
    }

    /// RFC 4015, steps 8 to 11.
    fn undo(&mut self, acked: u64) {
        let Some(watch) = self.watch.take() else { return };
        self.stats.spurious += 1;
        self.ledger.unmark_lost();
        self.recovery.on_undo(&self.ledger);
        self.end_reduction();
        if self.forced == Some(Forced::FirstLost) {
            self.forced = None;
        }
        let burst = acked.min(self.config.initial_window.bytes(self.config.smss));
        self.congestion.undo(self.in_flight() + burst);
        self.timeout_until = None;
        if watch.timeout {
            self.timed_out_at = None;
            self.adopt_rtt_beyond = Some(watch.point);
        }
    }
}
