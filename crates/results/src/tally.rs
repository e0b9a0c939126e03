//! Counts of a flow, and of several flows together.

use bentpipe_core::time::Duration;
use std::ops::{Add, Sub};

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
    #[must_use]
    pub fn since(&self, earlier: &Tally) -> Tally {
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

/// Episodes of fast recovery by what was lost in them, and by whether the window was reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossCauses {
    /// Links have lost or damaged every copy of all that was retransmitted.
    pub corruption: u64,
    /// A queue has dropped something, or nothing was lost at all.
    pub congestion: u64,
    /// Of those by corruption: the window was reduced.
    pub corruption_answered: u64,
    /// Of those by congestion: it was not.
    pub congestion_unanswered: u64,
}

impl Add for LossCauses {
    type Output = LossCauses;
    fn add(self, other: LossCauses) -> LossCauses {
        LossCauses {
            corruption: self.corruption + other.corruption,
            congestion: self.congestion + other.congestion,
            corruption_answered: self.corruption_answered + other.corruption_answered,
            congestion_unanswered: self.congestion_unanswered + other.congestion_unanswered,
        }
    }
}

impl Sub for LossCauses {
    type Output = LossCauses;
    fn sub(self, earlier: LossCauses) -> LossCauses {
        LossCauses {
            corruption: self.corruption - earlier.corruption,
            congestion: self.congestion - earlier.congestion,
            corruption_answered: self.corruption_answered - earlier.corruption_answered,
            congestion_unanswered: self.congestion_unanswered - earlier.congestion_unanswered,
        }
    }
}
