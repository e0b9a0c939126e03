//! The sums of a story: for how long the sender sent nothing for which reason, and how many
//! segments were sent for which cause.

use super::{Run, Story, Why};
use crate::analysis::Summary;
use crate::evidence::Said;
use std::collections::BTreeMap;

/// The times between a sender's segments, by what limited it in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    /// Nanoseconds, and how many times.
    pub times: BTreeMap<Said, (i64, u64)>,
    /// The longest, in nanoseconds.
    pub longest: i64,
    /// When the first began, in nanoseconds since the connection's first segment.
    pub begin: Option<i64>,
}

/// The time of a direction, from its handshake or first segment to its last data. In nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shares {
    /// All.
    pub total: i64,
    /// Segments left back to back.
    pub sending: i64,
}

/// The sums of a direction, or of several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// Packets, bytes and round trips.
    pub summary: Summary,
    /// Its time.
    pub shares: Shares,
    /// The time between segments.
    pub waits: Waits,
    /// Segments by their cause.
    pub causes: BTreeMap<Why, u64>,
}

impl Sums {
    /// Those of one direction.
    #[must_use]
    pub fn of(summary: Summary, story: &Story) -> Sums {
        let (shares, causes) = (story.shares(), story.causes());
        Sums { summary, shares, waits: story.waits.clone(), causes }
    }

    /// Adds those of another direction.
    pub fn join(&mut self, other: &Sums) {
        self.summary.join(&other.summary);
        self.shares.total = self.shares.total.saturating_add(other.shares.total);
        self.shares.sending = self.shares.sending.saturating_add(other.shares.sending);
        for (&said, &(nanos, times)) in &other.waits.times {
            let (time, count) = self.waits.times.entry(said).or_default();
            *time = time.saturating_add(nanos);
            *count += times;
        }
        self.waits.longest = self.waits.longest.max(other.waits.longest);
        for (&why, &count) in &other.causes {
            *self.causes.entry(why).or_default() += count;
        }
    }
}

impl Waits {
    /// Adds one.
    pub(super) fn add(&mut self, said: Said, begin: i64, nanos: i64) {
        self.begin = Some(self.begin.map_or(begin, |first| first.min(begin)));
        let (time, times) = self.times.entry(said).or_default();
        *time = time.saturating_add(nanos.max(0));
        *times += 1;
        self.longest = self.longest.max(nanos);
    }

    /// All of them, in nanoseconds.
    #[must_use]
    pub fn sum(&self) -> i64 {
        self.times.values().fold(0, |sum: i64, &(time, _)| sum.saturating_add(time))
    }
}

impl Story {
    /// The time of all, and that of sending.
    #[must_use]
    pub fn shares(&self) -> Shares {
        let first_run = self.runs().map(|run| run.begin.min(run.end)).min();
        let first = self.waits.begin.into_iter().chain(first_run).min().unwrap_or(0);
        let last = self.runs().map(|run| run.begin.max(run.end)).max().unwrap_or(first);
        let total = last.saturating_sub(first).max(0);
        Shares { total, sending: total.saturating_sub(self.waits.sum()).max(0) }
    }

    /// Segments by their cause.
    #[must_use]
    pub fn causes(&self) -> BTreeMap<Why, u64> {
        let mut causes = BTreeMap::new();
        for Run { why, segments, .. } in self.runs() {
            *causes.entry(*why).or_default() += segments;
        }
        causes
    }
}
