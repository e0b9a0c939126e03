//! Transfers, and how long they take.

use bentpipe_core::time::{Duration, Instant};

/// The number of a flow in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(pub usize);

/// Work with a beginning and an end: a file, a reply, a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Whose.
    pub flow: FlowId,
    /// When it was asked for: the SYN, or the request on a connection that stands.
    pub started: Instant,
    /// When its first byte was read.
    pub first_byte: Option<Instant>,
    /// When its last byte was read.
    pub completed: Option<Instant>,
    /// Its bytes, once it is complete.
    pub bytes: u64,
}

/// A row of a transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferRow {
    /// The flow's name.
    pub flow: String,
    /// The transfer.
    pub transfer: Transfer,
}

/// The spread of completed transfers' times. Percentiles are times that occurred: the least
/// that so many of a hundred did not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completions {
    /// The shortest.
    pub min: Duration,
    /// The 50th percentile.
    pub median: Duration,
    /// The 90th.
    pub p90: Duration,
    /// The 95th.
    pub p95: Duration,
    /// The 99th.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
}

impl Completions {
    /// Of these times; `None` of none.
    pub fn of(mut times: Vec<Duration>) -> Option<Completions> {
        times.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100).max(1);
            times.get(rank - 1).copied()
        };
        Some(Completions {
            min: *times.first()?,
            median: percentile(50)?,
            p90: percentile(90)?,
            p95: percentile(95)?,
            p99: percentile(99)?,
            max: *times.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_occurred() {
        let times = |count: u64| (1..=count).rev().map(Duration::from_secs).collect();
        assert_eq!(Completions::of(Vec::new()), None);
        let spread = |count| {
            let Completions { min, median, p90, p95, p99, max } =
                Completions::of(times(count)).unwrap();
            [min, median, p90, p95, p99, max].map(|time| time.as_nanos() / 1_000_000_000)
        };
        assert_eq!(spread(1), [1; 6]);
        assert_eq!(spread(3), [1, 2, 3, 3, 3, 3]);
        assert_eq!(spread(200), [1, 100, 180, 190, 198, 200]);
    }
}
