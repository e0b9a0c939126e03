//! The results of a run, as rows.
//!
//! Rates and shares are over the measured part of the run: from the end of the warm-up, or a
//! flow's beginning if that is later, to the end of the run, or of the flow if that is earlier.

use crate::{Completions, GroupRow, Sample, Tally, TransferRow};
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
    /// [`SeriesSink`](crate::SeriesSink).
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

/// Which of a run's flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(pub usize);

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

/// `delivered` bytes over the time between two moments, in bit/s.
pub fn goodput(delivered: u64, (begin, end): (Instant, Instant)) -> f64 {
    let span = end.saturating_since(begin).as_secs_f64();
    if span > 0.0 { delivered as f64 * 8.0 / span } else { 0.0 }
}
