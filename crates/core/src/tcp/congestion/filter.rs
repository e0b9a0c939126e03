//! What model-based policies measure with: a maximum over a window of rounds, and numbers for what
//! their specifications leave to chance.

use crate::snapshot::fraction;
use crate::time::Instant;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The greatest of the values of recent rounds (or of whatever else counts up).
///
/// Exact, where Linux' `win_minmax` keeps three values and approximates: at most one value is held
/// for each round, as each is less than those before it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct WindowedMax {
    falling: VecDeque<RoundValue>,
}

/// The greatest value of a round. Most come of whole numbers, and take few bytes as fractions.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct RoundValue {
    round: u64,
    #[serde(with = "fraction")]
    value: f64,
}

impl WindowedMax {
    /// `value` was seen in `round`. What was seen more than `age` rounds before is forgotten.
    pub(super) fn update(&mut self, round: u64, value: f64, age: u64) {
        while self.falling.back().is_some_and(|seen| seen.value <= value) {
            self.falling.pop_back();
        }
        if self.falling.back().is_none_or(|seen| seen.round != round) {
            self.falling.push_back(RoundValue { round, value });
        }
        while self.falling.front().is_some_and(|seen| round - seen.round > age) {
            self.falling.pop_front();
        }
    }

    /// Forgets all but `value`, seen in `round`.
    pub(super) fn reset(&mut self, round: u64, value: f64) {
        self.falling.clear();
        self.falling.push_back(RoundValue { round, value });
    }

    /// The greatest value; zero before the first.
    pub(super) fn max(&self) -> f64 {
        self.falling.front().map_or(0.0, |seen| seen.value)
    }
}

/// Where a specification draws at random so that flows do not march in step: a hash (SplitMix64's)
/// of the moment and of the bytes delivered so far. Flows seldom share both, and a run repeats
/// them.
pub(super) fn draw(now: Instant, delivered: Bytes) -> u64 {
    let mut bits = now.as_nanos() ^ delivered.count().rotate_left(32);
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_of_a_window_is_exact() {
        let values = [3.0, 9.0, 4.0, 4.0, 7.0, 1.0, 2.0, 2.0, 6.0, 5.0, 0.5, 0.1, 0.2];
        for age in [0, 1, 3, 10] {
            let mut filter = WindowedMax::default();
            assert_eq!(filter.max(), 0.0);
            for (round, value) in (0u64..).zip(values) {
                // Each value comes with a lesser one of the same round, before and behind it.
                for part in [value / 2.0, value, value / 3.0] {
                    filter.update(round, part, age);
                }
                let first = round.saturating_sub(age) as usize;
                let window = &values[first..=round as usize];
                assert_eq!(filter.max(), window.iter().fold(0.0, |max, value| value.max(max)));
                assert!(filter.falling.len() as u64 <= age + 1);
            }
        }
    }

    #[test]
    fn draws_differ_and_are_spread() {
        let mut counts = [0; 7];
        for i in 0..7_000 {
            counts[(draw(Instant::from_millis(i), Bytes::new(1000 * i)) % 7) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }
}
