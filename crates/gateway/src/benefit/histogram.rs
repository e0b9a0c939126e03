//! A histogram of bounded size: two buckets an octave.

/// Buckets: twenty octaves.
const BUCKETS: usize = 40;

/// Counts by value. The first bucket has all below √2 units, the last all that is large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    unit: u64,
    sum: u64,
    counts: [u32; BUCKETS],
}

impl Histogram {
    /// An empty one, whose values begin at `unit`.
    pub const fn new(unit: u64) -> Histogram {
        Histogram { unit, sum: 0, counts: [0; BUCKETS] }
    }

    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        let count = &mut self.counts[self.bucket(value)];
        *count = count.saturating_add(1);
        self.sum = self.sum.saturating_add(value);
    }

    /// Adds all that another one of this unit has counted.
    pub fn merge(&mut self, other: &Histogram) {
        self.sum = self.sum.saturating_add(other.sum);
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
    }

    /// The values that were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(*count)).sum()
    }

    /// Their sum.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Each bucket: where it ends, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u32)> {
        self.counts.iter().enumerate().map(|(at, count)| (self.end(at), *count))
    }

    /// The median, as if values were spread evenly in their bucket.
    pub fn median(&self) -> Option<f64> {
        let half = self.count() as f64 / 2.0;
        let mut below = 0.0;
        for (at, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = f64::from(*count);
            if below + count >= half {
                let begin = if at == 0 { 0.0 } else { self.end(at - 1) };
                return Some(begin + (self.end(at) - begin) * (half - below) / count);
            }
            below += count;
        }
        None
    }

    fn bucket(&self, value: u64) -> usize {
        let units = value / self.unit;
        if units == 0 {
            return 0;
        }
        let octave = units.ilog2();
        let above_middle = value as f64 >= self.end(2 * octave as usize);
        (2 * octave as usize + usize::from(above_middle)).min(BUCKETS - 1)
    }

    fn end(&self, bucket: usize) -> f64 {
        let octave = self.unit as f64 * (1_u64 << (bucket / 2)) as f64;
        octave * if bucket.is_multiple_of(2) { std::f64::consts::SQRT_2 } else { 2.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_bucket_that_ends_behind_it() {
        let mut random = 1_u64;
        for _ in 0..10_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let value = random >> (random % 44 + 20);
            let mut histogram = Histogram::new(256);
            histogram.add(value);
            let (end, _) = histogram.buckets().find(|(_, count)| *count == 1).unwrap();
            let last = histogram.buckets().last().unwrap().0;
            assert!((value as f64) < end || end == last, "{value}: {end}");
            let begins = value as f64 >= end / 1.5 || end < 400.0;
            assert!(begins, "{value}: {end}");
        }
    }

    #[test]
    fn the_median_is_within_its_bucket() {
        let mut histogram = Histogram::new(1);
        assert_eq!(histogram.median(), None);
        (1..=1001).for_each(|value| histogram.add(value));
        let median = histogram.median().unwrap();
        assert!((430.0..580.0).contains(&median), "{median}");
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!((twice.count(), twice.median()), (2002, Some(median)));
    }
}
