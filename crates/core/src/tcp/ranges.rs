//! A set of stream offsets as disjoint ranges: what a receiver holds beyond a hole, and what a
//! sender knows to have arrived.

use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint, non-adjacent, non-empty ranges in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RangeSet {
    /// End by start.
    ranges: BTreeMap<u64, u64>,
    covered: u64,
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
    pub fn covered(&self) -> u64 {
        self.covered
    }

    /// The ranges in ascending order; reversible.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.ranges.iter().map(|(&start, &end)| start..end)
    }

    /// The range that holds `offset`.
    pub fn containing(&self, offset: u64) -> Option<Range<u64>> {
        let (&start, &end) = self.ranges.range(..=offset).next_back()?;
        (offset < end).then_some(start..end)
    }

    /// Whether all of `range` is covered.
    pub fn contains(&self, range: &Range<u64>) -> bool {
        range.is_empty() || self.containing(range.start).is_some_and(|held| range.end <= held.end)
    }

    /// Adds `range` and returns the parts of it that were not covered before, in ascending order.
    pub fn insert(&mut self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut added = Vec::new();
        if range.is_empty() {
            return added;
        }
        let mut merged = range.clone();
        let mut at = range.start;
        // From the last range that begins at or before ours, to the last that touches it.
        let from = match self.ranges.range(..=range.start).next_back() {
            Some((&start, &end)) if end >= range.start => start,
            _ => range.start,
        };
        let touched: Vec<(u64, u64)> =
            self.ranges.range(from..=range.end).map(|(&start, &end)| (start, end)).collect();
        for (start, end) in touched {
            if at < start {
                added.push(at..start);
            }
            at = at.max(end);
            merged = merged.start.min(start)..merged.end.max(end);
            self.ranges.remove(&start);
        }
        if at < range.end {
            added.push(at..range.end);
        }
        self.ranges.insert(merged.start, merged.end);
        self.covered += added.iter().map(|part| part.end - part.start).sum::<u64>();
        added
    }

    /// Forgets all below `offset`.
    pub fn remove_below(&mut self, offset: u64) {
        while let Some((&start, &end)) = self.ranges.first_key_value() {
            if start >= offset {
                break;
            }
            self.ranges.pop_first();
            self.covered -= end.min(offset) - start;
            if end > offset {
                self.ranges.insert(offset, end);
                break;
            }
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.covered = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_like_a_set_of_offsets(
            steps in proptest::collection::vec((0u64..60, 0u64..12, any::<bool>()), 0..60),
        ) {
            let (mut set, mut model) = (RangeSet::default(), BTreeSet::new());
            for (start, len, insert) in steps {
                if insert {
                    let new: Vec<u64> = set.insert(start..start + len).into_iter().flatten().collect();
                    let expected: Vec<u64> =
                        (start..start + len).filter(|offset| model.insert(*offset)).collect();
                    prop_assert_eq!(new, expected);
                } else {
                    set.remove_below(start);
                    model.retain(|offset| *offset >= start);
                }
                let all: Vec<u64> = set.iter().flatten().collect();
                prop_assert_eq!(all, model.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(set.covered(), model.len() as u64);
                // Adjacent ranges are joined.
                let ranges: Vec<_> = set.iter().collect();
                prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
