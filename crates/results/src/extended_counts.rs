//! Counts that only a TCP of our own gives, beyond those of a kernel's sockets.
//!
//! RFC 4898 has extended statistics in the same way.

use std::ops::Add;

/// The counts of a TCP of our own, over all connections of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtendedCounts {
    /// Segments of data that the sources retransmitted to bring an acknowledgment (tail loss
    /// probes).
    pub probes: u64,
    /// FINs that they retransmitted without data.
    pub fin_retransmissions: u64,
    /// Segments that came to the sinks though all their data had come before.
    pub needless_retransmissions: u64,
    /// Expiries of the sources' retransmission timers with nothing but a FIN outstanding.
    pub fin_timeouts: u64,
    /// Expiries of their retransmission timers in the midst of fast recovery.
    pub recovery_timeouts: u64,
    /// Acknowledgments in congestion avoidance by Constant-Rate or Increase-by-K.
    pub avoidance_acks: u64,
    /// Those for which the bound of one segment held the increase.
    pub bound_acks: u64,
    /// Reductions of their congestion windows.
    pub reductions: u64,
    /// Their episodes of fast recovery by causes and by responses.
    pub causes: LossCauses,
}

impl ExtendedCounts {
    /// Nothing yet.
    pub const ZERO: ExtendedCounts = ExtendedCounts {
        probes: 0,
        fin_retransmissions: 0,
        needless_retransmissions: 0,
        fin_timeouts: 0,
        recovery_timeouts: 0,
        avoidance_acks: 0,
        bound_acks: 0,
        reductions: 0,
        causes: LossCauses::ZERO,
    };

    /// The share of acknowledgments in congestion avoidance whose increase the bound held.
    ///
    /// The bound is one segment. Congestion controls that have no such bound have none.
    pub fn bound_share(&self) -> Option<f64> {
        (self.avoidance_acks > 0).then(|| self.bound_acks as f64 / self.avoidance_acks as f64)
    }

    /// Each count of `self` and of `other` by `by`.
    pub(crate) fn each(&self, other: &Self, by: impl Fn(u64, u64) -> u64) -> ExtendedCounts {
        ExtendedCounts {
            probes: by(self.probes, other.probes),
            fin_retransmissions: by(self.fin_retransmissions, other.fin_retransmissions),
            needless_retransmissions: by(
                self.needless_retransmissions,
                other.needless_retransmissions,
            ),
            fin_timeouts: by(self.fin_timeouts, other.fin_timeouts),
            recovery_timeouts: by(self.recovery_timeouts, other.recovery_timeouts),
            avoidance_acks: by(self.avoidance_acks, other.avoidance_acks),
            bound_acks: by(self.bound_acks, other.bound_acks),
            reductions: by(self.reductions, other.reductions),
            causes: self.causes.each(other.causes, by),
        }
    }
}

/// Episodes of fast recovery by their losses, and by whether the window was reduced.
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

impl LossCauses {
    /// None yet.
    pub const ZERO: LossCauses = LossCauses {
        corruption: 0,
        congestion: 0,
        corruption_answered: 0,
        congestion_unanswered: 0,
    };

    fn each(self, other: LossCauses, by: impl Fn(u64, u64) -> u64) -> LossCauses {
        LossCauses {
            corruption: by(self.corruption, other.corruption),
            congestion: by(self.congestion, other.congestion),
            corruption_answered: by(self.corruption_answered, other.corruption_answered),
            congestion_unanswered: by(self.congestion_unanswered, other.congestion_unanswered),
        }
    }
}

impl Add for LossCauses {
    type Output = LossCauses;
    fn add(self, other: LossCauses) -> LossCauses {
        self.each(other, |a, b| a + b)
    }
}
