//! The lateness of the emulator: by how much later than intended packets have left.
//!
//! A histogram of fixed size whose buckets are 1/32 of a power of two wide, so that a percentile is
//! at most 3 % too high, whatever its size (as in HdrHistogram, of which no more is needed here).

use bentpipe_core::time::Duration;

/// Buckets to a power of two, as bits.
const FINE: u32 = 5;
const BUCKETS: usize = (65 - FINE as usize) << FINE;
/// What is more than this is counted apart.
const LATE: Duration = Duration::from_millis(1);

/// Release errors: actual minus intended moments.
#[derive(Debug, Clone)]
pub struct Lateness {
    buckets: Box<[u64]>,
    count: u64,
    max: u64,
    late: u64,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { buckets: vec![0; BUCKETS].into(), count: 0, max: 0, late: 0 }
    }
}

impl Lateness {
    /// Counts a packet that left so much later than it was to.
    pub(crate) fn add(&mut self, error: Duration) {
        let nanos = u64::try_from(error.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[bucket(nanos)] += 1;
        self.count += 1;
        self.max = self.max.max(nanos);
        self.late += u64::from(error > LATE);
    }

    /// Packets counted.
    pub fn packets(&self) -> u64 {
        self.count
    }

    /// Those of them that were late by more than 1 ms.
    pub fn late_packets(&self) -> u64 {
        self.late
    }

    /// The greatest error.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.max)
    }

    /// What this share of the packets, 0 to 1, does not exceed; zero without packets.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (number, packets) in self.buckets.iter().enumerate() {
            seen += packets;
            if seen >= wanted {
                return Duration::from_nanos(end(number).min(self.max));
            }
        }
        Duration::ZERO
    }

    /// Whether one packet in a hundred was late by more than 1 ms; of fewer packets than that
    /// nothing is said.
    pub fn is_late(&self) -> bool {
        self.count >= 100 && self.quantile(0.99) > LATE
    }
}

/// Below 2^(FINE + 1) each number has its own.
fn bucket(nanos: u64) -> usize {
    let shift = (63 - (nanos | 1).leading_zeros()).saturating_sub(FINE);
    ((shift as usize) << FINE) + (nanos >> shift) as usize
}

/// The greatest number of a bucket.
fn end(bucket: usize) -> u64 {
    let shift = (bucket >> FINE).saturating_sub(1);
    let first = (bucket - (shift << FINE)) as u64;
    ((u128::from(first + 1) << shift) - 1).try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_lies_in_its_bucket() {
        let powers =
            (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) | (1 << bit >> 1)]);
        for nanos in powers.chain([u64::MAX, 1000, 999_999]) {
            let own = bucket(nanos);
            assert!(own < BUCKETS && end(own) >= nanos, "{nanos}");
            assert!(own == 0 || end(own - 1) < nanos, "{nanos}");
            assert!(end(own) as f64 <= nanos as f64 * 1.032 + 1.0, "{nanos}");
        }
    }

    #[test]
    fn percentiles_are_those_of_what_was_counted() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile(0.99), Duration::ZERO);
        (1..=1000).for_each(|micros| lateness.add(Duration::from_micros(micros)));
        for (share, expected) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = lateness.quantile(share).as_secs_f64() * 1e6;
            assert!((found / expected - 1.0).abs() < 0.032, "{share}: {found}");
        }
        assert!(!lateness.is_late());
        (0..11).for_each(|_| lateness.add(Duration::from_millis(3)));
        assert!(lateness.is_late());
        assert_eq!((lateness.late_packets(), lateness.max()), (11, Duration::from_millis(3)));
    }
}
