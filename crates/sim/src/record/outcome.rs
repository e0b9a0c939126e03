//! The results of a run, as rows.
//!
//! Rates and shares are over the measured part of the run: from the end of the warm-up, or a
//! flow's beginning if that is later, to the end of the run, or of the flow if that is earlier.

use super::{FlowRecord, GroupRow, Sample, Tally, Transfer};
use bentpipe_core::link::{Count, Counters, Lengths};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_gateway::Summary;

/// All results of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The run as a whole.
    pub run: RunRow,
    /// Its flows.
    pub flows: Vec<FlowRow>,
    /// Transfers of flows that are not background.
    pub transfers: Vec<TransferRow>,
    /// Each direction of each link.
    pub links: Vec<LinkRow>,
    /// The gateways.
    pub gateways: Vec<GatewayRow>,
    /// Groups of flows.
    pub groups: Vec<GroupRow>,
    /// Time series, by time; empty unless the scenario asks for some, and if they have gone to a
    /// [`SeriesSink`](super::SeriesSink).
    pub series: Vec<Sample>,
}

/// A run as a whole. Sums, and Jain's index, are over the flows that are not background.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// The seed of its random numbers.
    pub seed: u64,
    /// When it ended.
    pub end: Duration,
    /// Goodput of all flows together, in bit/s: what applications have read (RFC 5166, 2.1), over
    /// the time from the first flow's beginning to the last one's end.
    pub goodput: f64,
    /// Jain's fairness index of the flows' goodputs (RFC 5166, 2.3): 1/n to 1.
    pub fairness: Option<f64>,
    /// Utilisation of the busiest direction of a link with a rate.
    pub utilisation: Option<f64>,
    /// Packets dropped by queues, of all links.
    pub dropped: u64,
    /// Packets lost on links.
    pub lost: u64,
    /// What its flows have counted in the measured time.
    pub tally: Tally,
    /// Packets that have arrived at a node, on their way or at its end, since the beginning.
    pub packets: u64,
    /// A digest of every packet's arrival: two runs with the same one were the same.
    pub digest: u64,
}

/// A flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowRow {
    /// Its name.
    pub name: String,
    /// It is there for the others.
    pub background: bool,
    /// When it began, if it did.
    pub started: Option<Instant>,
    /// When nothing more was to come.
    pub finished: Option<Instant>,
    /// What it has counted in the measured time.
    pub tally: Tally,
    /// The bytes delivered over the measured time, in bit/s.
    pub goodput: f64,
    /// Connections opened since the beginning.
    pub connections: u64,
    /// Transfers begun since the beginning.
    pub begun: u64,
    /// Transfers completed since the beginning.
    pub completed: u64,
    /// The mean time that they took.
    pub mean_completion: Option<Duration>,
    /// How these times are spread; `None` of background, whose times are not kept.
    pub completions: Option<Completions>,
    /// Goodput as a share of what the slowest link on the path could carry, headers taken off.
    pub efficiency: Option<f64>,
    /// By how much the first slow start threshold that it has estimated is too large, as a share of what the
    /// path holds: what its slowest link can carry in the minimum round-trip time.
    pub ssthresh_error: Option<f64>,
}

/// How the times of completed transfers are spread. Percentiles are times that occurred: the least
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

/// A transfer: a file, a reply, a page.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferRow {
    /// The flow's name.
    pub flow: String,
    /// What it was.
    pub transfer: Transfer,
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkRow {
    /// Its name in the scenario.
    pub name: String,
    /// Where it begins.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// What has become of packets in the measured time.
    pub counters: Counters,
    /// How long the measured time was.
    pub measured: Duration,
    /// What it could have sent in the measured time, in bytes; None without a rate.
    pub capacity: Option<f64>,
    /// Mean length of its queue over the measured time, the packet being sent included: packets,
    /// and bytes.
    pub mean_queue: (f64, f64),
    /// For how much of the measured time it had which length; None without a rate.
    pub lengths: Option<Lengths>,
    /// The longest that it has been since the beginning.
    pub longest_queue: Count,
}

/// A gateway, over all its lives if it has crashed.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayRow {
    /// Its name in the scenario.
    pub name: String,
    /// What it has counted in the measured time.
    pub summary: Summary,
    /// Mean of the bytes that its buffers have held over the measured time.
    pub mean_held: f64,
    /// The most that they have held since the beginning.
    pub max_held: u64,
}

impl LinkRow {
    /// The share of its capacity that it has sent, packets that were lost on the way included.
    pub fn utilisation(&self) -> Option<f64> {
        let sent = self.counters.delivered.bytes + self.counters.lost.bytes;
        self.capacity.filter(|capacity| *capacity > 0.0).map(|capacity| sent as f64 / capacity)
    }

    /// What has arrived over the measured time, in bit/s, headers included: of the way back, the
    /// rate that acknowledgments take.
    pub fn throughput(&self) -> Option<f64> {
        let span = self.measured.as_secs_f64();
        (span > 0.0).then(|| self.counters.delivered.bytes as f64 * 8.0 / span)
    }
}

/// Jain's index: (Σx)² / (n·Σx²); None if nothing was delivered.
pub fn fairness(shares: &[f64]) -> Option<f64> {
    let (sum, squares) =
        shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

impl FlowRow {
    pub(super) fn new(
        record: &FlowRecord,
        tally: &Tally,
        measured: (Instant, Instant),
        times: Vec<Duration>,
        max: Option<f64>,
    ) -> FlowRow {
        let goodput = goodput(tally.delivered, record.life(measured));
        let min_rtt = tally.min_rtt.map(|rtt| rtt.as_secs_f64());
        let holds = max.zip(min_rtt).map(|(max, rtt)| max / 8.0 * rtt).filter(|holds| *holds > 0.0);
        let estimate = tally.ssthresh_estimate.map(|bytes| bytes as f64);
        FlowRow {
            name: record.name.clone(),
            background: record.background,
            started: record.started,
            finished: record.finished,
            tally: *tally,
            goodput,
            connections: record.connections,
            begun: record.begun,
            completed: record.completed,
            mean_completion: record.mean_completion(),
            completions: Completions::of(times),
            efficiency: max.map(|max| goodput / max),
            ssthresh_error: estimate.zip(holds).map(|(estimate, holds)| estimate / holds - 1.0),
        }
    }
}

/// `delivered` bytes over the time between two moments, in bit/s.
pub fn goodput(delivered: u64, (begin, end): (Instant, Instant)) -> f64 {
    let span = end.saturating_since(begin).as_secs_f64();
    if span > 0.0 { delivered as f64 * 8.0 / span } else { 0.0 }
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
