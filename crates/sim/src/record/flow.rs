//! What a flow has done.

use crate::host::LossCauses;
use crate::stream::Stream;
use bentpipe_core::tcp::buffer::Pattern;
use bentpipe_core::tcp::connection::Connection;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Bytes;

/// Which of a run's flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(pub usize);

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

/// A flow of a scenario, one of its `count`.
#[derive(Debug, Clone)]
pub struct FlowRecord {
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
    pub(super) past: Tally,
}

impl FlowRecord {
    pub(super) fn new(name: String, background: bool) -> FlowRecord {
        FlowRecord {
            name,
            background,
            started: None,
            finished: None,
            begun: 0,
            completed: 0,
            took: Duration::ZERO,
            connections: 0,
            past: Tally::default(),
        }
    }
}

impl FlowRecord {
    /// The mean time that its transfers have taken.
    pub fn mean_completion(&self) -> Option<Duration> {
        let count = u128::from(self.completed);
        let mean = (count > 0).then(|| self.took.as_nanos() / count)?;
        Some(Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// The part of the measured time in which it lived.
    pub(crate) fn life(&self, (from, to): (Instant, Instant)) -> (Instant, Instant) {
        let begin = self.started.map_or(from, |started| started.max(from));
        (begin, self.finished.map_or(to, |finished| finished.min(to)))
    }
}

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

/// Counts of a flow, over all its connections.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    /// Bytes read by the applications at the sinks.
    pub delivered: u64,
    /// UDP datagrams, or pings, sent.
    pub datagrams: u64,
    /// How many of them have arrived, or were answered, in the same time: the rest was lost, or is
    /// on its way.
    pub arrived: u64,
    /// Segments sent by the sources.
    pub segments: u64,
    /// Segments of data that they retransmitted, probes not counted.
    pub retransmissions: u64,
    /// Segments of data that they retransmitted to bring an acknowledgment (tail loss probes).
    pub probes: u64,
    /// FINs that they retransmitted without data.
    pub fin_retransmissions: u64,
    /// Bytes of data that they retransmitted, probes included.
    pub retransmitted_bytes: u64,
    /// Segments that came to the sinks though all their data had come before.
    pub needless_retransmissions: u64,
    /// Expiries of their retransmission timers with data outstanding.
    pub timeouts: u64,
    /// Expiries of their retransmission timers with nothing but a FIN outstanding.
    pub fin_timeouts: u64,
    /// Expiries of their retransmission timers in the midst of fast recovery.
    pub recovery_timeouts: u64,
    /// Acknowledgments in congestion avoidance by Constant-Rate or Increase-by-K.
    pub avoidance_acks: u64,
    /// Those for which the bound of one segment held the increase.
    pub bound_acks: u64,
    /// Their episodes of fast recovery.
    pub recoveries: u64,
    /// Reductions of their congestion windows.
    pub reductions: u64,
    /// What the losses were that their episodes of fast recovery have mended, and what was made of them.
    pub causes: LossCauses,
    /// How long the first recovery took of the first source that had one, and how often its window
    /// was reduced in it.
    pub first_recovery: Option<(Duration, u64)>,
    /// The minimum round-trip time that a source measured.
    pub min_rtt: Option<Duration>,
    /// The smoothed round-trip time of the source that was counted last.
    pub srtt: Option<Duration>,
    /// The first slow start threshold that a source has estimated, in bytes.
    pub ssthresh_estimate: Option<u64>,
}

impl Tally {
    pub(super) fn add(&mut self, role: Role, stream: &Stream, connection: &Connection<Pattern>) {
        if role == Role::Sink {
            self.delivered += stream.read();
            let tcb = connection.last_tcb();
            self.needless_retransmissions += tcb.map_or(0, |tcb| tcb.receiver.needless_segments());
            return;
        }
        let Some(tcb) = connection.last_tcb() else { return };
        let stats = tcb.sender.stats();
        self.segments += stats.segments;
        let apart = stats.probes + stats.fin_retransmissions;
        self.retransmissions += stats.retransmissions - apart;
        self.probes += stats.probes;
        self.fin_retransmissions += stats.fin_retransmissions;
        self.retransmitted_bytes += stats.retransmitted_bytes.count();
        self.timeouts += stats.timeouts - stats.fin_timeouts;
        self.fin_timeouts += stats.fin_timeouts;
        self.recovery_timeouts += stats.recovery_timeouts;
        let bound = tcb.sender.bound_count();
        self.avoidance_acks += bound.acks;
        self.bound_acks += bound.bound;
        self.recoveries += stats.recoveries;
        self.reductions += stats.reductions;
        self.causes = self.causes + stream.causes;
        let first = stats.first_recovery.map(|time| (time, stats.first_reductions));
        self.first_recovery = self.first_recovery.or(first);
        let min = tcb.sender.rtt().min_rtt();
        self.min_rtt = [self.min_rtt, min].into_iter().flatten().min();
        self.srtt = tcb.sender.rtt().srtt().or(self.srtt);
        let estimate = tcb.sender.ssthresh_estimate().map(Bytes::count);
        self.ssthresh_estimate = self.ssthresh_estimate.or(estimate);
    }

    /// The share of acknowledgments in congestion avoidance for which the bound of one segment held the
    /// increase; none for congestion controls that have no such bound.
    pub fn bound_share(&self) -> Option<f64> {
        (self.avoidance_acks > 0).then(|| self.bound_acks as f64 / self.avoidance_acks as f64)
    }

    /// Of several flows together. There is no smoothed round-trip time of several, no first recovery and no
    /// first threshold.
    pub fn total<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Tally {
        tallies.fold(Tally::default(), |sum, tally| Tally {
            delivered: sum.delivered + tally.delivered,
            datagrams: sum.datagrams + tally.datagrams,
            arrived: sum.arrived + tally.arrived,
            segments: sum.segments + tally.segments,
            retransmissions: sum.retransmissions + tally.retransmissions,
            retransmitted_bytes: sum.retransmitted_bytes + tally.retransmitted_bytes,
            timeouts: sum.timeouts + tally.timeouts,
            probes: sum.probes + tally.probes,
            fin_retransmissions: sum.fin_retransmissions + tally.fin_retransmissions,
            needless_retransmissions: sum.needless_retransmissions + tally.needless_retransmissions,
            fin_timeouts: sum.fin_timeouts + tally.fin_timeouts,
            recovery_timeouts: sum.recovery_timeouts + tally.recovery_timeouts,
            avoidance_acks: sum.avoidance_acks + tally.avoidance_acks,
            bound_acks: sum.bound_acks + tally.bound_acks,
            recoveries: sum.recoveries + tally.recoveries,
            reductions: sum.reductions + tally.reductions,
            causes: sum.causes + tally.causes,
            first_recovery: None,
            min_rtt: [sum.min_rtt, tally.min_rtt].into_iter().flatten().min(),
            srtt: None,
            ssthresh_estimate: None,
        })
    }

    /// What has been counted since `earlier`.
    pub(super) fn since(&self, earlier: &Tally) -> Tally {
        Tally {
            delivered: self.delivered - earlier.delivered,
            datagrams: self.datagrams - earlier.datagrams,
            arrived: self.arrived - earlier.arrived,
            segments: self.segments - earlier.segments,
            retransmissions: self.retransmissions - earlier.retransmissions,
            retransmitted_bytes: self.retransmitted_bytes - earlier.retransmitted_bytes,
            timeouts: self.timeouts - earlier.timeouts,
            probes: self.probes - earlier.probes,
            fin_retransmissions: self.fin_retransmissions - earlier.fin_retransmissions,
            needless_retransmissions: self.needless_retransmissions
                - earlier.needless_retransmissions,
            fin_timeouts: self.fin_timeouts - earlier.fin_timeouts,
            recovery_timeouts: self.recovery_timeouts - earlier.recovery_timeouts,
            avoidance_acks: self.avoidance_acks - earlier.avoidance_acks,
            bound_acks: self.bound_acks - earlier.bound_acks,
            recoveries: self.recoveries - earlier.recoveries,
            reductions: self.reductions - earlier.reductions,
            causes: self.causes - earlier.causes,
            ..*self
        }
    }
}
