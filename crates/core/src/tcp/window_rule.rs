//! By which rule a congestion window has changed.
//!
//! It is told from the sender's state before and after: what was counted meanwhile, and where the
//! window stood.

use super::observation::{Observation, Phase};
use strum::VariantArray;

/// By which rule cwnd or ssthresh has changed.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    VariantArray,
    strum::IntoStaticStr,
    strum::Display,
)]
#[strum(serialize_all = "kebab-case")]
pub enum WindowRule {
    /// The last reduction was needless, and is undone (RFC 4015; RFC 2883).
    Undo,
    /// The retransmission timer has expired (RFC 5681, 3.1).
    Timeout,
    /// A loss was found, and fast recovery begins (RFC 5681, 3.2); or Tahoe's slow start.
    RecoveryEntered,
    /// A further acknowledgment within fast recovery: a partial one, or a retransmission that was
    /// lost again.
    Recovery,
    /// Fast recovery is over.
    RecoveryLeft,
    /// New data was acknowledged below ssthresh (RFC 5681, 3.1).
    SlowStart,
    /// New data was acknowledged from ssthresh on, by the congestion control's own function.
    CongestionAvoidance,
    /// A sign of congestion without a loss: an ECN mark (RFC 3168, 6.1.2), or what the congestion
    /// control reads from delays and rates.
    CongestionSign,
    /// Nothing was sent for longer than a retransmission timeout (RFC 5681, 4.1).
    Idle,
    /// Anything else that the congestion control does by itself: a threshold that it estimates, the
    /// window of a probing phase.
    Control,
}

impl WindowRule {
    /// Every rule.
    pub const ALL: &[WindowRule] = WindowRule::VARIANTS;

    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// By which rule `after` has come from `before`, if cwnd or ssthresh is another one.
    pub fn between(before: &Observation, after: &Observation) -> Option<WindowRule> {
        if (before.cwnd, before.ssthresh) == (after.cwnd, after.ssthresh) {
            return None;
        }
        let (was, is) = (before.signs, after.signs);
        Some(if is.undone > was.undone {
            WindowRule::Undo
        } else if is.timeouts > was.timeouts {
            WindowRule::Timeout
        } else if is.recoveries > was.recoveries {
            WindowRule::RecoveryEntered
        } else if before.phase == Phase::Recovery && after.phase == Phase::Recovery {
            WindowRule::Recovery
        } else if before.phase == Phase::Recovery {
            WindowRule::RecoveryLeft
        } else if is.reductions > was.reductions {
            WindowRule::CongestionSign
        } else if after.cwnd > before.cwnd && after.snd_una > before.snd_una {
            match before.ssthresh.is_none_or(|ssthresh| before.cwnd < ssthresh) {
                true => WindowRule::SlowStart,
                false => WindowRule::CongestionAvoidance,
            }
        } else if after.cwnd < before.cwnd && before.snd_una == before.snd_nxt {
            WindowRule::Idle
        } else {
            WindowRule::Control
        })
    }
}

#[cfg(test)]
mod tests;
