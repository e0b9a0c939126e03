//! The bottleneck's rate, as acknowledgments tell it that come from behind it.
//!
//! Segments leave a bottleneck that is busy one by one, and their acknowledgments keep these
//! intervals (Jacobson's self-clocking). So the rate of a few acknowledgments in a row, over all
//! connections, is at most the bottleneck's, unless they have waited for each other on their way.
//! The greatest rate of the last 10 s counts: a sender that pauses makes none of them faster.
//!
//! Acknowledgments that report a loss or its repair do not count: the one that closes a hole also
//! stands for all that had come before.

use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Rate;
use std::collections::VecDeque;

/// Intervals between acknowledgments that make a sample: fewer would believe one that has waited.
const INTERVALS: usize = 4;

/// A sample counts for so long.
const MEMORY: Duration = Duration::from_secs(10);

/// What acknowledgments have told.
#[derive(Debug, Default)]
pub(super) struct BottleneckRate {
    /// Bytes on the wire acknowledged so far.
    acknowledged: u64,
    /// When the latest acknowledgments came, and what was acknowledged then.
    recent: VecDeque<(Instant, u64)>,
    /// Samples in bytes a second that no younger one exceeds, and when they were taken.
    greatest: VecDeque<(Instant, f64)>,
}

impl BottleneckRate {
    /// An acknowledgment has come, of data that took `bytes` on the wire.
    pub(super) fn on_ack(&mut self, now: Instant, bytes: u64) {
        self.acknowledged += bytes;
        self.recent.push_back((now, self.acknowledged));
        if self.recent.len() <= INTERVALS {
            return;
        }
        let Some((since, before)) = self.recent.pop_front() else { return };
        let span = now.saturating_since(since).as_secs_f64();
        if span > 0.0 {
            let sample = (self.acknowledged - before) as f64 / span;
            while self.greatest.back().is_some_and(|(_, other)| *other <= sample) {
                self.greatest.pop_back();
            }
            self.greatest.push_back((now, sample));
        }
        while self.greatest.front().is_some_and(|(at, _)| *at + MEMORY < now) {
            self.greatest.pop_front();
        }
    }

    /// What comes next says nothing together with what has come.
    pub(super) fn interrupt(&mut self) {
        self.recent.clear();
    }

    /// The rate; none before enough acknowledgments have come.
    pub(super) fn rate(&self) -> Option<Rate> {
        let bytes = self.greatest.front()?.1;
        Some(Rate::from_bits_per_sec((bytes * 8.0).round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acknowledgments of 1500 bytes, one each `gap` milliseconds from `start` on.
    fn train(rate: &mut BottleneckRate, start: u64, count: u64, gap: u64) {
        for number in 0..count {
            rate.on_ack(Instant::from_millis(start + number * gap), 1500);
        }
    }

    #[test]
    fn the_greatest_rate_of_five_acknowledgments_in_a_row_counts() {
        let mut rate = BottleneckRate::default();
        train(&mut rate, 0, 4, 6);
        assert_eq!(rate.rate(), None, "too few");
        train(&mut rate, 500, 20, 6);
        assert_eq!(rate.rate(), Some(Rate::from_bits_per_sec(2_000_000)));
        // Slower ones are a sender that pauses,
        train(&mut rate, 1000, 20, 12);
        assert_eq!(rate.rate(), Some(Rate::from_bits_per_sec(2_000_000)));
        // or a path that has become slower.
        train(&mut rate, 2000, 1000, 12);
        assert_eq!(rate.rate(), Some(Rate::from_bits_per_sec(1_000_000)));
    }

    #[test]
    fn what_closes_a_hole_does_not_count() {
        let mut rate = BottleneckRate::default();
        train(&mut rate, 0, 10, 6);
        rate.interrupt();
        rate.on_ack(Instant::from_millis(61), 60_000);
        train(&mut rate, 67, 10, 6);
        assert_eq!(rate.rate(), Some(Rate::from_bits_per_sec(2_000_000)));
    }
}
