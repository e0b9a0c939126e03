//! Losses whose cause is told: explicit loss notification (Balakrishnan and Katz, Explicit Loss
//! Notification and Wireless Web Performance, 1998; RFC 2760 and RFC 3155 name it).
//!
//! The receiver says how many damaged copies of a part of the stream have come to it. If that is as
//! many as have left, what is missing was corrupted. A recovery of nothing else is no sign of
//! congestion: what is lost is retransmitted, and the congestion window does not hear of the
//! episode. As soon as the episode loses anything else, the window hears of it.
//!
//! Congestion controls that judge rates or shares of losses themselves (BBR, tolerant-cubic) still
//! hear of every segment that is marked lost.

use super::Sender;
use super::flight::Flight;
use crate::tcp::recovery::{Episode, Verdict};
use crate::units::Offset;
use std::collections::BTreeMap;
use std::ops::Range;

/// How many copies of each part of a stream were lost in a way that is known.
#[derive(Debug, Clone, Default)]
pub struct Copies(BTreeMap<Offset, (Offset, u32)>);

impl Copies {
    /// Another copy of `range`.
    pub fn add(&mut self, range: Range<Offset>) {
        let copies = self.0.get(&range.start).map_or(0, |&(_, copies)| copies);
        self.set(range, copies + 1);
    }

    /// So many copies of `range`, if they are more than are known.
    pub fn set(&mut self, range: Range<Offset>, copies: u32) {
        if range.is_empty() {
            return;
        }
        let known = self.0.entry(range.start).or_insert((range.end, 0));
        if copies > known.1 {
            *known = (range.end, copies);
        }
    }

    /// Forgets all that begins below `offset`.
    pub fn forget_below(&mut self, offset: Offset) {
        while let Some(first) = self.0.first_entry().filter(|first| *first.key() < offset) {
            first.remove();
        }
    }

    /// Whether so many copies are known of all of `range`.
    pub fn account_for(&self, range: &Range<Offset>, copies: u32) -> bool {
        let mut at = range.start;
        while at < range.end {
            match self.0.range(..=at).next_back() {
                Some((_, &(end, known))) if end > at && known >= copies => at = end,
                _ => return false,
            }
        }
        true
    }

    /// The parts in order, each with its number of copies.
    pub fn iter(&self) -> impl Iterator<Item = (Range<Offset>, u32)> + '_ {
        self.0.iter().map(|(&start, &(end, copies))| (start..end, copies))
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What the peer has said of damaged segments.
#[derive(Debug, Default)]
pub(super) struct Corruption {
    damaged: Copies,
    /// An episode of fast recovery is under way that the window has not heard of.
    unheard: bool,
}

impl Corruption {
    /// Whether all that is held lost already, or has been retransmitted on suspicion, was damaged
    /// each time but for what is on its way.
    fn explains_earlier(&self, flight: &Flight) -> bool {
        let mut earlier = flight
            .ledger()
            .records_in(flight.outstanding())
            .filter(|record| !record.sacked && (record.lost || record.retransmitted))
            .peekable();
        earlier.peek().is_some()
            && earlier.all(|record| {
                let lost = record.transmissions - u32::from(record.retransmitted);
                self.damaged.account_for(&record.range, lost)
            })
    }

    /// Whether all of what is about to be marked lost was damaged each time that it was sent.
    fn explains(&self, lost: &[Range<Offset>], flight: &Flight) -> bool {
        let mut records = lost
            .iter()
            .flat_map(|range| {
                flight.ledger().records_in(range.clone()).map(move |record| (range, record))
            })
            .filter(|(_, record)| !record.sacked && (!record.lost || record.retransmitted))
            .peekable();
        records.peek().is_some()
            && records.all(|(range, record)| {
                let part = record.range.start.max(range.start)..record.range.end.min(range.end);
                self.damaged.account_for(&part, record.transmissions)
            })
    }
}

impl Sender {
    /// The peer says that `copies` damaged copies of `range` have come to it. To be called before
    /// the acknowledgment that says so is taken.
    pub fn note_damaged(&mut self, range: Range<Offset>, copies: u32) {
        let outstanding = self.flight.outstanding();
        if range.start < outstanding.start || range.end > outstanding.end {
            return;
        }
        let corruption = self.corruption.get_or_insert_default();
        corruption.damaged.forget_below(outstanding.start);
        corruption.damaged.set(range, copies);
    }

    /// What is to be retransmitted next, and how often it was sent.
    pub fn first_lost(&self) -> Option<(Range<Offset>, u32)> {
        let range = self.flight.ledger().first_lost(self.sizes.smss)?;
        let transmissions = self.flight.ledger().record_at(range.start)?.transmissions;
        Some((range, transmissions))
    }

    /// Whether an episode of fast recovery is under way that the window has not heard of.
    pub(super) fn repairs_corruption(&self) -> bool {
        self.corruption.as_ref().is_some_and(|corruption| corruption.unheard)
    }

    /// The episode that the window is to hear of, given recovery's verdict, which is not done yet.
    /// `recovering`: an episode was under way before it.
    pub(super) fn heard(&mut self, verdict: &Verdict, recovering: bool) -> Episode {
        let Some(corruption) = &mut self.corruption else { return verdict.episode };
        let unheard = corruption.unheard;
        let loses = !verdict.lost.is_empty();
        // RFC 6675's recovery also mends what lies behind its RecoveryPoint, and begins a new
        // episode when that is all that is left: nothing is newly lost then.
        let explained = if loses {
            corruption.explains(&verdict.lost, &self.flight)
        } else {
            verdict.episode == Episode::Enter && corruption.explains_earlier(&self.flight)
        };
        let (heard, still) = match verdict.episode {
            // One acknowledgment ends an episode that the window has heard of, and begins one that
            // it does not.
            Episode::Enter if explained && recovering && !unheard => (Episode::Exit, true),
            Episode::Enter | Episode::Repaired if explained => {
                (Episode::Unchanged, verdict.episode == Episode::Enter)
            }
            Episode::LostAgain if explained => (Episode::Unchanged, unheard),
            Episode::LostAgain if unheard => (Episode::Enter, false),
            Episode::Unchanged if unheard && loses && !explained => (Episode::Enter, false),
            Episode::Unchanged => (Episode::Unchanged, unheard),
            Episode::Exit | Episode::Deflate if unheard => (Episode::Unchanged, false),
            episode => (episode, false),
        };
        corruption.unheard = still;
        heard
    }

    /// No episode is under way any more: a timeout has overtaken it, or it was undone.
    pub(super) fn forget_unheard(&mut self) {
        if let Some(corruption) = &mut self.corruption {
            corruption.unheard = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_account_for_what_they_cover() {
        let mut copies = Copies::default();
        copies.add(Offset::span(1, 101));
        copies.add(Offset::span(101, 201));
        assert!(copies.account_for(&Offset::span(1, 201), 1));
        assert!(copies.account_for(&Offset::span(51, 151), 1), "parts of both");
        assert!(!copies.account_for(&Offset::span(1, 202), 1), "one byte more");
        assert!(!copies.account_for(&Offset::span(1, 201), 2));
        copies.add(Offset::span(1, 101));
        assert!(copies.account_for(&Offset::span(1, 101), 2));
        copies.set(Offset::span(1, 101), 1);
        assert!(copies.account_for(&Offset::span(1, 101), 2), "old news");
        copies.forget_below(Offset::new(101));
        assert!(!copies.account_for(&Offset::span(1, 101), 1) && copies.iter().count() == 1);
    }
}
