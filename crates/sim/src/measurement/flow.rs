//! The meter of a flow.

use crate::stream::Stream;
use bentpipe_core::tcp::buffer::Pattern;
use bentpipe_core::tcp::connection::Connection;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Bytes;
use bentpipe_results::{Completions, ExtendedCounts, FlowCounts, FlowId, FlowRow, goodput, life};

/// Which of a run's transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransferId(pub(super) FlowId, pub(super) usize);

/// What an end of a connection counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The end that data come from: its segments and retransmissions count.
    Source,
    /// The end that data go to: what its application reads counts.
    Sink,
}

/// The meter of a flow of a scenario: of one of its `count`.
#[derive(Debug, Clone)]
pub struct FlowMeter {
    /// Its name in the scenario.
    pub name: String,
    /// It is there for the others.
    pub background: bool,
    /// When its first transfer began.
    pub started: Option<Instant>,
    /// When nothing more was to come.
    pub finished: Option<Instant>,
    /// Transfers begun.
    pub begun: u64,
    /// Transfers completed.
    pub completed: u64,
    /// How long those took, together.
    pub(super) took: Duration,
    /// Connections opened.
    pub connections: u64,
    /// Of connections that are gone.
    pub(super) past: FlowCounts,
}

impl FlowMeter {
    pub(super) fn new(name: String, background: bool) -> FlowMeter {
        FlowMeter {
            name,
            background,
            started: None,
            finished: None,
            begun: 0,
            completed: 0,
            took: Duration::ZERO,
            connections: 0,
            past: FlowCounts::ZERO,
        }
    }
}

impl FlowMeter {
    /// The mean time that its transfers have taken.
    pub fn mean_completion(&self) -> Option<Duration> {
        let count = u128::from(self.completed);
        let mean = (count > 0).then(|| self.took.as_nanos() / count)?;
        Some(Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// Its row over the measured time, in which it has counted `counts`. `times` are those of its
    /// completed transfers; `max` is what its path could carry, in bit/s.
    pub(super) fn row(
        &self,
        counts: &FlowCounts,
        measured: (Instant, Instant),
        times: Vec<Duration>,
        max: Option<f64>,
    ) -> FlowRow {
        let goodput = goodput(counts.delivered, life(self.started, self.finished, measured));
        let min_rtt = counts.min_rtt.map(|rtt| rtt.as_secs_f64());
        let holds = max.zip(min_rtt).map(|(max, rtt)| max / 8.0 * rtt).filter(|holds| *holds > 0.0);
        let estimate = counts.ssthresh_estimate.map(|bytes| bytes as f64);
        FlowRow {
            name: self.name.clone(),
            background: self.background,
            started: self.started,
            finished: self.finished,
            counts: *counts,
            goodput,
            connections: self.connections,
            begun: self.begun,
            completed: self.completed,
            mean_completion: self.mean_completion(),
            completions: Completions::of(times),
            efficiency: max.map(|max| goodput / max),
            ssthresh_error: estimate.zip(holds).map(|(estimate, holds)| estimate / holds - 1.0),
        }
    }
}

/// Adds the counts of a connection's end.
pub(super) fn count(
    counts: &mut FlowCounts,
    role: Role,
    stream: &Stream,
    connection: &Connection<Pattern>,
) {
    let extended = counts.extended.get_or_insert(ExtendedCounts::ZERO);
    if role == Role::Sink {
        counts.delivered += stream.read();
        let tcb = connection.last_tcb();
        extended.needless_retransmissions += tcb.map_or(0, |tcb| tcb.receiver.needless_segments());
        return;
    }
    let Some(tcb) = connection.last_tcb() else { return };
    let stats = tcb.sender.stats();
    counts.segments += stats.segments;
    let apart = stats.probes + stats.fin_retransmissions;
    counts.retransmissions += stats.retransmissions - apart;
    counts.retransmitted_bytes += stats.retransmitted_bytes.count();
    *counts.timeouts.get_or_insert(0) += stats.timeouts - stats.fin_timeouts;
    counts.recoveries += stats.recoveries;
    let min = tcb.sender.rtt().min_rtt();
    counts.min_rtt = [counts.min_rtt, min].into_iter().flatten().min();
    counts.srtt = tcb.sender.rtt().srtt().or(counts.srtt);
    let first = stats.first_recovery.map(|time| (time, stats.first_reductions));
    counts.first_recovery = counts.first_recovery.or(first);
    let estimate = tcb.sender.ssthresh_estimate().map(Bytes::count);
    counts.ssthresh_estimate = counts.ssthresh_estimate.or(estimate);
    extended.probes += stats.probes;
    extended.fin_retransmissions += stats.fin_retransmissions;
    extended.fin_timeouts += stats.fin_timeouts;
    extended.recovery_timeouts += stats.recovery_timeouts;
    let bound = tcb.sender.bound_count();
    extended.avoidance_acks += bound.acks;
    extended.bound_acks += bound.bound;
    extended.reductions += stats.reductions;
    extended.causes = extended.causes + stream.causes;
}
