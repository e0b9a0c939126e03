//! When acknowledgments are sent, and how many.

use crate::time::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// When acknowledgments are sent. What is out of order, fills a hole, came twice or ends the
/// stream is acknowledged at once by every policy (RFC 5681, 4.2), but for what
/// [`Thinned`](AckPolicy::Thinned) says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AckPolicy {
    /// One for each segment (a super-segment counts as one).
    PerSegment,
    /// One for every two full segments, or when the timer expires (RFC 1122: below 0.5 s).
    Delayed(Duration),
    /// One for every two full segments, or at the next beat of a clock with this period: BSD's
    /// fast timer (tcp_fasttimo, 200 ms). The delay lies between nothing and a whole period.
    Heartbeat(Duration),
    /// One for every so many full segments, or when the timer expires: for return channels too
    /// narrow for more. RFC 1122 asks for every second one. With SACK so are reports of what
    /// follows a hole, from the fourth segment on: RFC 5681 would have each of a window
    /// acknowledged at once, but a sender that reads blocks learns as much from one report of many.
    Thinned {
        /// How many full segments one acknowledgment is for.
        segments: u32,
        /// The longest that it waits for them.
        delay: Duration,
    },
    /// So many for each full segment, at increasing offsets inside it: a receiver that makes a
    /// sender's window grow faster where that counts acknowledgments, not bytes (Henderson, 4.1.6).
    Division(u32),
}

impl AckPolicy {
    /// After how many full segments an acknowledgment is due; None if one is for every segment,
    /// full or not.
    pub(super) fn segments(self) -> Option<u32> {
        match self {
            AckPolicy::PerSegment | AckPolicy::Division(_) => None,
            AckPolicy::Delayed(_) | AckPolicy::Heartbeat(_) => Some(2),
            AckPolicy::Thinned { segments, .. } => Some(segments.max(1)),
        }
    }

    /// Whether one report may be of several segments behind a hole.
    pub(super) fn thins_reports(self) -> bool {
        matches!(self, AckPolicy::Thinned { .. })
    }

    /// When an acknowledgment that is owed from `now` on is sent at the latest; None for at once.
    pub(super) fn deadline(self, now: Instant) -> Option<Instant> {
        match self {
            AckPolicy::PerSegment | AckPolicy::Division(_) => None,
            AckPolicy::Delayed(delay) | AckPolicy::Thinned { delay, .. } => Some(now + delay),
            AckPolicy::Heartbeat(period) => {
                let nanos = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
                let beats = now.as_nanos() / nanos + 1;
                Some(Instant::from_nanos(beats.saturating_mul(nanos)))
            }
        }
    }
}
