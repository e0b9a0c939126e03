//! The minimum of what was measured of late.

use bentpipe_core::time::{Duration, Instant};
use std::collections::VecDeque;

/// How long something may be the minimum: so many round trips, and this at least.
const KEPT_ROUNDS: u32 = 90;
const KEPT: Duration = Duration::from_secs(30);

/// Values, each less than those behind it, with the moments at which they were measured.
#[derive(Debug, Default)]
pub(super) struct Minimum {
    rising: VecDeque<(Instant, f64)>,
}

impl Minimum {
    /// A value was measured, where a round trip takes `rtt` seconds.
    pub(super) fn take(&mut self, now: Instant, value: f64, rtt: f64) {
        while self.rising.back().is_some_and(|(_, earlier)| *earlier >= value) {
            self.rising.pop_back();
        }
        self.rising.push_back((now, value));
        let kept = KEPT.max(Duration::from_secs_f64(rtt) * KEPT_ROUNDS);
        while self.rising.len() > 1 && now.saturating_since(self.rising[0].0) > kept {
            self.rising.pop_front();
        }
    }

    /// It is this from now on.
    pub(super) fn replace(&mut self, now: Instant, value: f64) {
        self.rising.clear();
        self.rising.push_back((now, value));
    }

    /// The minimum, if anything was measured.
    pub(super) fn get(&self) -> Option<f64> {
        self.rising.front().map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(seconds)
    }

    #[test]
    fn it_counts_until_it_is_old() {
        let mut minimum = Minimum::default();
        assert_eq!(minimum.get(), None);
        for (seconds, rtt) in [(0.0, 0.06), (1.0, 0.05), (2.0, 0.07), (29.0, 0.09)] {
            minimum.take(at(seconds), rtt, rtt);
        }
        assert_eq!(minimum.get(), Some(0.05));
        minimum.take(at(31.5), 0.08, 0.08);
        assert_eq!(minimum.get(), Some(0.07), "that of the second second is gone");
        minimum.replace(at(32.0), 0.1);
        assert_eq!(minimum.get(), Some(0.1));
        // Of a long path longer.
        minimum.replace(at(40.0), 0.6);
        minimum.take(at(90.0), 0.7, 0.7);
        assert_eq!(minimum.get(), Some(0.6));
    }
}
