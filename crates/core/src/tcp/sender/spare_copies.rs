//! Retransmissions once more, where nothing else is to be sent.
//!
//! A retransmission that is lost costs another round trip, in which all behind it waits at the
//! receiver. Where losses are the link's own, and the link would stand idle, a second copy of each
//! spares that and takes nothing from anybody: the losses would have to meet both. What waits for
//! its pacer, for its turn on a shared link or for the congestion window comes first.
//!
//! Recovery does not know of the copies: one that arrives is taken for the retransmission itself,
//! and if that is held lost all the same, it is retransmitted as it would be. What the receiver
//! reports to have come twice because of them is no sign of reordering, nor of a needless
//! reduction.
//!
//! One copy does not wait until nothing else is to be sent: of a retransmission that was lost, as
//! what left behind it has come. By then two round trips of data wait behind it, which
//! hardly any window has room for once more. At 1 % loss that is one packet in ten thousand.

use super::{Sender, Transmission};
use crate::tcp::cause::Cause;
use crate::tcp::ledger::Ledger;
use crate::tcp::limiter::Limiter;
use crate::tcp::ranges::RangeSet;
use crate::time::Instant;
use crate::units::Offset;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;

/// Reports of so many parts that came twice are awaited at most, of a receiver that makes none; of
/// others, the oldest are forgotten.
const MAX_AWAITED: usize = 256;

/// See the module's head. Nothing is kept before something is retransmitted.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SpareCopies {
    kept: Option<Box<Kept>>,
    /// None are made any more. Those that were made may still be reported.
    stopped: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// What was retransmitted and not copied since, in the order of sending.
    retransmitted: VecDeque<Range<Offset>>,
    /// The first of it was lost again: its copy does not wait.
    at_once: bool,
    /// What was copied and may be reported to have come twice.
    copied: RangeSet,
}

impl SpareCopies {
    /// Makes no more.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
        if let Some(kept) = &mut self.kept {
            kept.retransmitted.clear();
            kept.at_once = false;
        }
    }

    /// Makes them again.
    pub(super) fn resume(&mut self) {
        self.stopped = false;
    }

    /// `range` of what `ledger` has was retransmitted, `again` or for the first time.
    pub(super) fn retransmitted(&mut self, range: Range<Offset>, again: bool, ledger: &Ledger) {
        if self.stopped {
            return;
        }
        // A link that is never idle asks for none: what has arrived is not kept.
        self.next(ledger);
        let kept = self.kept.get_or_insert_default();
        if again {
            kept.retransmitted.push_front(range);
            kept.at_once = true;
        } else {
            kept.retransmitted.push_back(range);
        }
    }

    /// What is to be copied at once, if anything is.
    fn next_at_once(&mut self, ledger: &Ledger) -> Option<Range<Offset>> {
        if !self.is_urgent() {
            return None;
        }
        // It may have arrived.
        self.next(ledger).filter(|_| self.is_urgent())
    }

    fn is_urgent(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.at_once)
    }

    /// What is to be copied next: the oldest retransmission that is still under way by what
    /// `ledger` knows.
    pub(super) fn next(&mut self, ledger: &Ledger) -> Option<Range<Offset>> {
        let kept = self.kept.as_mut()?;
        while let Some(range) = kept.retransmitted.front() {
            let under_way = under_way(range, ledger);
            if under_way.is_some() {
                return under_way;
            }
            kept.drop_first();
        }
        None
    }

    /// The same, and all is kept.
    pub(super) fn peek(&self, ledger: &Ledger) -> Option<Range<Offset>> {
        self.kept.as_ref()?.retransmitted.iter().find_map(|range| under_way(range, ledger))
    }

    /// The next one leaves now.
    fn copied(&mut self, range: Range<Offset>) {
        let kept = self.kept.get_or_insert_default();
        kept.drop_first();
        kept.copied.cover(range);
        while kept.copied.len() > MAX_AWAITED {
            let oldest = kept.copied.iter().next().expect("there are many");
            kept.copied.remove_below(oldest.end);
        }
    }

    /// Whether the receiver may say of `twice` that it has come twice because we have sent it so.
    /// Reports come in order, so none of what lies below is awaited any more.
    pub(super) fn explain(&mut self, twice: &Range<Offset>) -> bool {
        let Some(kept) = self.kept.as_mut().filter(|kept| kept.copied.contains(twice)) else {
            return false;
        };
        kept.copied.remove_below(twice.start);
        true
    }
}

impl Kept {
    fn drop_first(&mut self) {
        self.retransmitted.pop_front();
        self.at_once = false;
    }
}

impl Sender {
    /// A retransmission once more, if any is to be and it is our `turn`.
    pub(super) fn spare_copy(
        &mut self,
        now: Instant,
        turn: Result<(), Limiter>,
    ) -> Option<Result<Transmission, Limiter>> {
        let range = self.spare_copies.as_mut()?.next(self.flight.ledger())?;
        let copies = self.may_copy(&range);
        copies.then(|| turn.map(|()| self.send_copy(now, range)))
    }

    /// One that does not wait until nothing else is to be sent.
    pub(super) fn copy_at_once(&mut self, now: Instant) -> Option<Transmission> {
        let range = self.spare_copies.as_mut()?.next_at_once(self.flight.ledger())?;
        self.may_copy(&range).then(|| self.send_copy(now, range))
    }

    /// Whether `range`, which is about to be retransmitted for this `cause`, was retransmitted
    /// before. What a timer repeats may meet an outage, and does not count.
    pub(super) fn is_lost_again(&self, range: &Range<Offset>, cause: Cause) -> bool {
        self.spare_copies.is_some()
            && cause == Cause::Rack
            && self.flight.ledger().record_at(range.start).is_some_and(|it| it.transmissions > 1)
    }

    /// Whether the peer would take it.
    pub(super) fn may_copy(&self, range: &Range<Offset>) -> bool {
        range.end <= self.window.retransmission_limit()
    }

    fn send_copy(&mut self, now: Instant, range: Range<Offset>) -> Transmission {
        if let Some(copies) = &mut self.spare_copies {
            copies.copied(range.clone());
        }
        self.flight.repeated(range.clone());
        self.cwnd.retransmits(now, &range, self.flight.ledger());
        self.tally.stats.segments += 1;
        let sent = self.once_more(range, Cause::SpareCopy);
        self.pace(now, &sent);
        sent
    }

    /// Whether the peer may say of `twice` that it has come twice because it was sent so.
    pub(super) fn has_copied(&mut self, twice: &Range<Offset>) -> bool {
        self.spare_copies.as_mut().is_some_and(|copies| copies.explain(twice))
    }
}

/// What of a retransmission is still under way.
fn under_way(range: &Range<Offset>, ledger: &Ledger) -> Option<Range<Offset>> {
    let range = range.start.max(ledger.snd_una())..range.end;
    let record = ledger.record_at(range.start)?;
    (record.retransmitted && !record.sacked && !range.is_empty()).then_some(range)
}
