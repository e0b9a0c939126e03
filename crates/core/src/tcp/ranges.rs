//! A set of stream offsets as disjoint ranges: what a receiver holds beyond a hole, and what a
//! sender knows to have arrived.

use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;

/// Disjoint, non-adjacent, non-empty ranges in ascending order.
///
/// Nearly all that happens to a stream happens at the ends of the set: data arrives behind the
/// last range, holes are filled before the first. A deque does that in constant time, and in the
/// middle it moves the shorter side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeSet {
    ranges: VecDeque<Range<Offset>>,
    covered: Bytes,
}

impl RangeSet {
    /// Whether nothing is covered.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// How many offsets are covered.
    pub fn covered(&self) -> Bytes {
        self.covered
    }

    /// The ranges in ascending order; reversible.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<Offset>> + '_ {
        self.ranges.iter().cloned()
    }

    /// The range that holds `offset`.
    pub fn containing(&self, offset: Offset) -> Option<Range<Offset>> {
        let range = self.ranges.get(self.first_ending_behind(offset))?;
        (range.start <= offset).then(|| range.clone())
    }

    /// Whether all of `range` is covered.
    pub fn contains(&self, range: &Range<Offset>) -> bool {
        range.is_empty() || self.containing(range.start).is_some_and(|held| range.end <= held.end)
    }

    /// Adds `range` and returns the parts of it that were not covered before, in ascending order.
    pub fn insert(&mut self, range: Range<Offset>) -> Vec<Range<Offset>> {
        let mut added = Vec::new();
        if range.is_empty() {
            return added;
        }
        let mut at = range.start;
        for held in self.touching(self.first_touching(range.start), range.end) {
            if at < held.start {
                added.push(at..held.start);
            }
            at = at.max(held.end);
        }
        if at < range.end {
            added.push(at..range.end);
        }
        self.cover(range);
        added
    }

    /// Adds `range`, which is not empty, and returns the range that it has become part of.
    pub fn cover(&mut self, range: Range<Offset>) -> Range<Offset> {
        let first = self.first_touching(range.start);
        let (mut merged, mut held_before, mut count) = (range.clone(), Bytes::ZERO, 0);
        for held in self.touching(first, range.end) {
            merged = merged.start.min(held.start)..merged.end.max(held.end);
            held_before += held.end - held.start;
            count += 1;
        }
        self.covered += merged.end - merged.start - held_before;
        if count == 0 {
            self.ranges.insert(first, merged.clone());
        } else {
            self.ranges[first] = merged.clone();
            self.ranges.drain(first + 1..first + count);
        }
        merged
    }

    /// Forgets all below `offset`.
    pub fn remove_below(&mut self, offset: Offset) {
        while let Some(range) = self.ranges.front_mut().filter(|range| range.start < offset) {
            self.covered -= range.end.min(offset) - range.start;
            if range.end > offset {
                range.start = offset;
                break;
            }
            self.ranges.pop_front();
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.covered = Bytes::ZERO;
    }

    /// Index of the first range that ends at `start` or behind it.
    fn first_touching(&self, start: Offset) -> usize {
        start.checked_back(Bytes::ONE).map_or(0, |before| self.first_ending_behind(before))
    }

    /// The ranges from index `first` on that begin at `end` or before it.
    fn touching(&self, first: usize, end: Offset) -> impl Iterator<Item = &Range<Offset>> {
        self.ranges.range(first..).take_while(move |held| held.start <= end)
    }

    /// Index of the first range that ends behind `offset`. The ends are looked at first.
    fn first_ending_behind(&self, offset: Offset) -> usize {
        let len = self.ranges.len();
        if self.ranges.back().is_none_or(|last| last.end <= offset) {
            return len;
        }
        if len < 2 || self.ranges[len - 2].end <= offset {
            return len - 1;
        }
        if self.ranges[0].end > offset {
            return 0;
        }
        self.ranges.partition_point(|range| range.end <= offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn offsets(range: Range<Offset>) -> Range<u64> {
        range.start.get()..range.end.get()
    }

    proptest! {
        #[test]
        fn behaves_like_a_set_of_offsets(
            steps in proptest::collection::vec((0u64..60, 0u64..12, any::<bool>()), 0..60),
        ) {
            let (mut set, mut model) = (RangeSet::default(), BTreeSet::new());
            for (start, len, insert) in steps {
                if insert {
                    let new: Vec<u64> = set.insert(Offset::span(start, start + len)).into_iter().flat_map(offsets).collect();
                    let expected: Vec<u64> =
                        (start..start + len).filter(|offset| model.insert(*offset)).collect();
                    prop_assert_eq!(new, expected);
                } else {
                    set.remove_below(Offset::new(start));
                    model.retain(|offset| *offset >= start);
                }
                let all: Vec<u64> = set.iter().flat_map(offsets).collect();
                prop_assert_eq!(all, model.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(set.covered(), Bytes::of_len(model.len()));
                // Adjacent ranges are joined.
                let ranges: Vec<_> = set.iter().collect();
                prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
