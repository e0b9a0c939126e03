//! For how long a queue has had which length: its spread and its percentiles.

use crate::time::Duration;

/// Lengths below this are told apart one by one; of longer ones the first [`BITS`] bits count, so
/// that a class spans less than 0.05 % of its length and there are not many.
const EXACT: u64 = 1 << BITS;
const BITS: u32 = 12;

/// The time that a queue has spent at each of its lengths, in packets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lengths {
    /// By class of lengths: nanoseconds.
    times: Vec<u64>,
}

impl Lengths {
    /// For so many nanoseconds there have been `held` packets in the queue.
    #[inline]
    pub(super) fn add(&mut self, held: u64, nanos: u64) {
        if nanos > 0 {
            let class = class(held);
            if class >= self.times.len() {
                self.lengthen(class);
            }
            self.times[class] += nanos;
        }
    }

    /// Makes room for a length that is new.
    #[cold]
    fn lengthen(&mut self, class: usize) {
        self.times.resize(class + 1, 0);
    }

    /// What has come to it since `earlier`.
    #[must_use]
    pub fn since(mut self, earlier: &Lengths) -> Lengths {
        for (time, before) in self.times.iter_mut().zip(&earlier.times) {
            *time -= before;
        }
        self
    }

    /// How long the queue was empty: nothing waited, and nothing was being sent.
    pub fn empty(&self) -> Duration {
        Duration::from_nanos(self.times.first().copied().unwrap_or(0))
    }

    /// The standard deviation of the length over the time; `None` if there was none.
    pub fn standard_deviation(&self) -> Option<f64> {
        let whole = self.whole()?;
        let moment = |power: i32| -> f64 {
            let times = self.times.iter().enumerate();
            times.map(|(class, time)| *time as f64 / whole * (min(class) as f64).powi(power)).sum()
        };
        Some((moment(2) - moment(1).powi(2)).max(0.0).sqrt())
    }

    /// The least length that was not exceeded for this share of the time.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let wanted = self.whole()? * share;
        let mut sum = 0.0;
        let class = self.times.iter().position(|time| {
            sum += *time as f64;
            *time > 0 && sum >= wanted * (1.0 - 1e-12)
        });
        class.map(min)
    }

    fn whole(&self) -> Option<f64> {
        let whole: u64 = self.times.iter().sum();
        (whole > 0).then_some(whole as f64)
    }
}

/// The class of a length.
#[inline]
fn class(length: u64) -> usize {
    if length < EXACT {
        return length as usize;
    }
    let shift = length.ilog2() + 1 - BITS;
    // Each further doubling has half as many classes as there are exact lengths.
    (u64::from(shift) * (EXACT / 2) + (length >> shift)) as usize
}

/// The least length of a class.
fn min(class: usize) -> u64 {
    let class = class as u64;
    if class < EXACT {
        return class;
    }
    let shift = (class - EXACT / 2) / (EXACT / 2);
    (class - shift * (EXACT / 2)) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_begins_at_its_min_length() {
        for length in (0..20_000).chain([1 << 20, (1 << 20) + 1, 123_456_789]) {
            let from = min(class(length));
            assert!(from <= length && (length - from) as f64 <= length as f64 / 2048.0, "{length}");
            assert_eq!(class(from), class(length), "{length}");
            assert!(class(length + 1) - class(length) <= 1, "{length}");
        }
    }

    #[test]
    fn spread_and_percentiles_are_over_time() {
        let mut lengths = Lengths::default();
        assert_eq!((lengths.quantile(0.5), lengths.standard_deviation()), (None, None));
        // A second of warm-up at 9; then 1 s empty, 2 s at 2 and 1 s at 4.
        let second = 1_000_000_000;
        lengths.add(9, second);
        let before = lengths.clone();
        for (held, seconds) in [(0, 1), (2, 2), (4, 1)] {
            lengths.add(held, seconds * second);
        }
        let measured = lengths.since(&before);
        // Mean 2, mean square 6.
        assert!((measured.standard_deviation().unwrap() - 2f64.sqrt()).abs() < 1e-9);
        let quantiles = [0.0, 0.25, 0.26, 0.5, 0.75, 0.76, 1.0].map(|q| measured.quantile(q));
        assert_eq!(quantiles, [0, 0, 2, 2, 2, 4, 4].map(Some));
        assert_eq!(measured.empty(), Duration::from_secs(1));
    }
}
