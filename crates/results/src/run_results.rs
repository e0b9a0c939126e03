//! The results of a run, as rows.
//!
//! Rates and shares are over the measured part of the run. It begins with the end of the warm-up,
//! or a flow's beginning if that is later. It ends with the run, or with the flow if that is
//! earlier.

use crate::{FlowCounts, FlowRow, GatewayRow, GroupRow, LinkRow, Sample, TransferRow, goodput};
use bentpipe_core::time::{Duration, Instant};

/// All results of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResults {
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
    /// Time series, by time.
    ///
    /// Empty unless the scenario asks for some, and if they have gone to a
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
    /// Goodput of all flows together, in bit/s (RFC 5166, 2.1).
    ///
    /// Bytes that applications have read, over the time from the first flow's beginning to the last
    /// one's end.
    pub goodput: f64,
    /// Jain's fairness index of the flows' goodputs (RFC 5166, 2.3): 1/n to 1.
    pub fairness: Option<f64>,
    /// Utilisation of the busiest direction of a link with a rate.
    pub utilisation: Option<f64>,
    /// Packets dropped by queues, of all links.
    pub dropped: u64,
    /// Packets lost on links.
    pub lost: u64,
    /// The counts of its flows in the measured time.
    pub counts: FlowCounts,
    /// Packets that have arrived at nodes since the beginning; absent on real hosts.
    ///
    /// They count at nodes on their way, too.
    pub packets: Option<u64>,
    /// A digest of every packet's arrival; absent on real hosts.
    ///
    /// Two runs with the same one were the same.
    pub digest: Option<u64>,
}

impl RunRow {
    /// Sums up a run of this seed by its flows and links. Counts of simulators alone are absent.
    pub fn of(
        seed: u64,
        measured: (Instant, Instant),
        flows: &[FlowRow],
        links: &[LinkRow],
    ) -> RunRow {
        let foreground = || flows.iter().filter(|flow| !flow.background);
        let goodputs: Vec<f64> = foreground().map(|flow| flow.goodput).collect();
        let counts = FlowCounts::total(foreground().map(|flow| &flow.counts));
        let begun = foreground().filter(|flow| flow.started.is_some());
        let lives = begun.map(|flow| flow.life(measured));
        let life = lives.reduce(|(a, b), (c, d)| (a.min(c), b.max(d))).unwrap_or(measured);
        RunRow {
            seed,
            end: measured.1.saturating_since(Instant::ZERO),
            goodput: goodput(counts.delivered, life),
            fairness: fairness(&goodputs),
            utilisation: links.iter().filter_map(LinkRow::utilisation).reduce(f64::max),
            dropped: links.iter().map(|link| link.counters.dropped.packets).sum(),
            lost: links.iter().map(|link| link.counters.lost.packets).sum(),
            counts,
            packets: None,
            digest: None,
        }
    }
}

/// Jain's index: (Σx)² / (n·Σx²); None if nothing was delivered.
pub fn fairness(shares: &[f64]) -> Option<f64> {
    let (sum, squares) =
        shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}
