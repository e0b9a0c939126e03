//! Undoing a reduction for which nothing had been lost.
//!
//! From each reduction on an [`UndoState`] gathers what was retransmitted since, and what the peer
//! says about it. There are two ways to learn that all of it was needless:
//!
//! - **Eifel** (RFC 3522): the acknowledgment that goes beyond the first retransmission echoes a
//!   timestamp from before it, so that the original has arrived. After a timeout that one
//!   acknowledgment decides. After a fast retransmit every acknowledgment up to the last
//!   retransmission must say so: one segment that came late proves nothing of the next hole.
//! - **DSACK** (RFC 3708): all that was retransmitted is reported to have come twice. A segment
//!   that was retransmitted more than once cannot be told apart, and closes this way.
//!
//! The answer is RFC 4015's: the threshold goes back to what it was, the window to what is in
//! flight and the acknowledged bytes up to an initial window, so that no burst leaves, and never
//! beyond what it was; what was marked lost and not retransmitted is in flight after all; and after
//! a timeout the first round trip of new data raises the retransmission timer's estimate.
//!
//! A peer that lies about either can make us ignore losses that it has had, as one that
//! acknowledges what it has not received. It cannot raise the window beyond what it was.
//! Reports of congestion by ECN end this, and so does a loss that a probe has repaired.

use super::Ack;
use crate::tcp::ledger::Ledger;
use crate::tcp::ranges::RangeSet;
use crate::tcp::timestamps;
use crate::time::Instant;
use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What may still be undone.
///
/// Invariant: the state covers everything that was retransmitted since the reduction that it
/// is about, as far as it was outstanding then, and it ends when that is known to have been needed,
/// when it was undone, or when no more can be learnt.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Undo {
    /// What was retransmitted since the last reduction, while it may still be undone.
    state: Option<Box<UndoState>>,
    /// The peer has reported a duplicate: it knows DSACK.
    dsack_seen: bool,
}

/// A reduction for which nothing had been lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Needless {
    /// SND.NXT when the window was reduced.
    pub(super) point: Offset,
    /// It was by a timeout, outside fast recovery.
    pub(super) timeout: bool,
}

/// What has become of the retransmissions since the window was last reduced.
#[derive(Debug, Serialize, Deserialize)]
struct UndoState {
    /// SND.NXT when the window was reduced.
    point: Offset,
    /// It was by a timeout, outside fast recovery.
    timeout: bool,
    /// When the first segment that was retransmitted had left before, and when it left again, as
    /// our timestamps say it.
    first: Option<(Instant, Instant)>,
    /// An acknowledgment has spoken against Eifel.
    refuted: bool,
    retransmitted: RangeSet,
    /// What of that has come twice.
    twice: RangeSet,
    /// A segment was retransmitted more than once.
    ambiguous: bool,
    /// SND.NXT when `point` was acknowledged: with it, all reports of duplicates have come.
    expires: Option<Offset>,
}

impl UndoState {
    /// More parts than that come from a peer that reports bytes where segments were sent.
    const MAX_PARTS: usize = 1024;

    fn new(point: Offset, timeout: bool) -> UndoState {
        UndoState {
            point,
            timeout,
            first: None,
            refuted: false,
            retransmitted: RangeSet::default(),
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
        self.timeout || self.retransmitted.iter().next_back().is_none_or(|last| last.end <= ack.ack)
    }

    /// RFC 3708: whether all that was retransmitted has come twice.
    fn came_twice(&mut self, report: &Range<Offset>) -> bool {
        let Some(sent) = self.retransmitted.containing(report.start) else { return false };
        if self.twice.len() >= Self::MAX_PARTS {
            self.ambiguous = true;
        }
        if self.ambiguous || report.is_empty() {
            return false;
        }
        self.twice.cover(report.start..report.end.min(sent.end));
        self.twice.covered() == self.retransmitted.covered()
    }
}

impl Undo {
    /// The window is about to be reduced with SND.NXT at `point`, as far as is known for a reason.
    pub(super) fn begin(&mut self, point: Offset, timeout: bool) {
        self.state = Some(Box::new(UndoState::new(point, timeout)));
    }

    /// Congestion is certain: the last reduction stands.
    pub(super) fn end(&mut self) {
        self.state = None;
    }

    /// `range` of what `ledger` has is about to be retransmitted.
    pub(super) fn retransmits(&mut self, now: Instant, range: &Range<Offset>, ledger: &Ledger) {
        let Some(state) = self.state.as_mut().filter(|state| range.start < state.point) else {
            return;
        };
        for record in ledger.records_in(range.clone()) {
            state.first.get_or_insert((timestamps::tick(record.sent_at), timestamps::tick(now)));
            state.ambiguous |= record.transmissions > 1;
        }
        state.retransmitted.cover(range.clone());
    }

    /// Takes an acknowledgment of `acked` new bytes that the ledger has taken, whereupon
    /// `outstanding` is left. The reduction that it shows to be needless, whose state goes.
    pub(super) fn on_ack(
        &mut self,
        ack: &Ack<'_>,
        acked: Bytes,
        outstanding: &Range<Offset>,
    ) -> Option<Needless> {
        if self.state.is_none() && ack.sack.is_empty() {
            return None;
        }
        let dsack = ack.duplicate_report();
        // RFC 3522, step 5: when all acknowledgments of a window were lost, the retransmission
        // brings one with an old timestamp. It is a DSACK, or might have been one.
        let all = outstanding.is_empty() && !self.dsack_seen;
        let ambiguous = dsack.is_some() || all;
        self.dsack_seen |= dsack.is_some();
        let state = self.state.as_mut()?;
        let by_timestamp = acked > Bytes::ZERO && state.eifel(ack, ambiguous);
        if by_timestamp || dsack.is_some_and(|report| state.came_twice(&report)) {
            let UndoState { point, timeout, .. } = **state;
            self.state = None;
            return Some(Needless { point, timeout });
        }
        if outstanding.start >= state.point {
            let expires = *state.expires.get_or_insert(outstanding.end);
            if outstanding.start >= expires && expires < outstanding.end {
                self.state = None;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// Ten segments of a hundred bytes that left at 100 ms, reduced at once, of which the first
    /// left again at 300 ms.
    fn retransmitted(timeout: bool) -> (Undo, Ledger) {
        let mut ledger = Ledger::new(Offset::FIRST);
        for number in 0..10 {
            ledger.sent(at(100), Offset::new(1 + number * 100)..Offset::new(101 + number * 100));
        }
        let mut undo = Undo::default();
        undo.begin(ledger.snd_nxt(), timeout);
        undo.retransmits(at(300), &Offset::span(1, 101), &ledger);
        ledger.resent(at(300), Offset::span(1, 101));
        (undo, ledger)
    }

    fn ack(ack: u64, sack: &[Range<Offset>], echoed: Option<Instant>) -> Ack<'_> {
        Ack {
            segment: Offset::FIRST,
            ack: Offset::new(ack),
            window: Bytes::new(9_000),
            sack,
            echoed,
            occupies: false,
        }
    }

    #[test]
    fn an_echo_from_before_the_retransmission_shows_that_it_was_needless() {
        for timeout in [false, true] {
            let (mut undo, _) = retransmitted(timeout);
            let needless = undo.on_ack(
                &ack(101, &[], Some(at(100))),
                Bytes::new(100),
                &Offset::span(101, 1001),
            );
            assert_eq!(needless, Some(Needless { point: Offset::new(1001), timeout }));
            let again = undo.on_ack(
                &ack(201, &[], Some(at(100))),
                Bytes::new(100),
                &Offset::span(201, 1001),
            );
            assert_eq!(again, None, "once");
        }
    }

    #[test]
    fn the_echo_of_the_retransmission_refutes_it_for_good() {
        let (mut undo, _) = retransmitted(true);
        assert_eq!(
            undo.on_ack(&ack(101, &[], Some(at(300))), Bytes::new(100), &Offset::span(101, 1001)),
            None
        );
        assert_eq!(
            undo.on_ack(&ack(201, &[], Some(at(100))), Bytes::new(100), &Offset::span(201, 1001)),
            None
        );
    }

    #[test]
    fn reports_of_all_that_was_retransmitted_show_it_too() {
        let (mut undo, mut ledger) = retransmitted(false);
        undo.retransmits(at(310), &Offset::span(201, 301), &ledger);
        ledger.resent(at(310), Offset::span(201, 301));
        assert_eq!(
            undo.on_ack(
                &ack(501, &[Offset::span(1, 101)], None),
                Bytes::new(500),
                &Offset::span(501, 1001)
            ),
            None,
            "half"
        );
        let needless = undo.on_ack(
            &ack(501, &[Offset::span(201, 301)], None),
            Bytes::ZERO,
            &Offset::span(501, 1001),
        );
        assert_eq!(needless, Some(Needless { point: Offset::new(1001), timeout: false }));
    }

    #[test]
    fn a_state_goes_when_no_report_can_come_any_more() {
        let (mut undo, _) = retransmitted(false);
        assert_eq!(
            undo.on_ack(&ack(1001, &[], None), Bytes::new(1000), &Offset::span(1001, 1501)),
            None
        );
        assert!(undo.state.is_some(), "reports of what came last are on their way");
        assert_eq!(
            undo.on_ack(&ack(1501, &[], None), Bytes::new(500), &Offset::span(1501, 2001)),
            None
        );
        assert!(undo.state.is_none());
        undo.begin(Offset::new(2001), true);
        undo.end();
        assert!(undo.state.is_none());
    }
}
