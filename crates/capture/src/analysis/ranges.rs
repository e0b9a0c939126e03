//! A set of ranges of a stream.

use std::collections::BTreeMap;

/// Ranges that neither touch nor overlap: begin → end.
#[derive(Debug, Default)]
pub(crate) struct Ranges(BTreeMap<i64, i64>);

impl Ranges {
    /// Adds one, joined with those that it touches.
    pub(crate) fn insert(&mut self, mut begin: i64, mut end: i64) {
        if begin >= end {
            return;
        }
        while let Some((&at, &to)) = self.0.range(..=end).next_back() {
            if to < begin {
                break;
            }
            self.0.remove(&at);
            begin = begin.min(at);
            end = end.max(to);
        }
        self.0.insert(begin, end);
    }

    /// True if any part of this one is in it.
    pub(crate) fn overlaps(&self, begin: i64, end: i64) -> bool {
        self.0.range(..end).next_back().is_some_and(|(_, &to)| to > begin)
    }

    /// True if all of this one is in it.
    pub(crate) fn contains(&self, begin: i64, end: i64) -> bool {
        self.0.range(..=begin).next_back().is_some_and(|(_, &to)| to >= end)
    }

    /// The parts of this one that are not in it.
    pub(crate) fn gaps(&self, mut begin: i64, end: i64) -> Vec<(i64, i64)> {
        let mut gaps = Vec::new();
        let before = self.0.range(..begin).next_back();
        for (&from, &to) in before.into_iter().chain(self.0.range(begin..end)) {
            if from > begin {
                gaps.push((begin, from));
            }
            begin = begin.max(to);
        }
        if begin < end {
            gaps.push((begin, end));
        }
        gaps
    }

    /// Forgets what is before a place.
    pub(crate) fn forget_before(&mut self, place: i64) {
        while let Some((&begin, &end)) = self.0.first_key_value() {
            if begin >= place {
                return;
            }
            self.0.remove(&begin);
            if end > place {
                self.0.insert(place, end);
            }
        }
    }

    /// The ranges that begin at or behind a place.
    pub(crate) fn behind(&self, place: i64) -> impl Iterator<Item = (i64, i64)> {
        self.0.range(place..).map(|(&begin, &end)| (begin, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_and_are_forgotten() {
        let mut ranges = Ranges::default();
        ranges.insert(10, 20);
        ranges.insert(30, 40);
        ranges.insert(50, 50);
        assert!(ranges.overlaps(15, 31) && !ranges.overlaps(20, 30) && !ranges.contains(10, 40));
        ranges.insert(20, 30);
        assert_eq!(ranges.behind(0).collect::<Vec<_>>(), [(10, 40)]);
        ranges.forget_before(15);
        assert!(ranges.contains(15, 40) && !ranges.overlaps(0, 15));
    }
}
