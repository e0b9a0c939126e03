//! The timestamps option of a synchronised connection (RFC 7323).

use crate::time::{Duration, Instant};

/// Where the timestamps option's TSval comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampClock {
    /// Milliseconds of our own clock, from this number on.
    Own(u32),
    /// The newest TSval of the host for which we stand; set by
    /// [`Tcb::relay_timestamp`](super::Tcb::relay_timestamp).
    Relayed(u32),
}

impl TimestampClock {
    /// TSval at `now`.
    pub fn value(self, now: Instant) -> u32 {
        match self {
            TimestampClock::Own(base) => base.wrapping_add((now.as_nanos() / 1_000_000) as u32),
            TimestampClock::Relayed(value) => value,
        }
    }
}

/// Timestamps of a connection that has agreed on them (RFC 7323).
#[derive(Debug, Clone, Copy)]
pub struct TimestampState {
    /// Our TSval.
    pub clock: TimestampClock,
    /// TS.Recent.
    pub recent: u32,
    /// When TS.Recent was taken.
    pub recent_at: Instant,
}

impl TimestampState {
    /// PAWS does not trust a TS.Recent that is older than 24 days (RFC 7323, 5.5).
    const OUTDATED: Duration = Duration::from_secs(24 * 24 * 3600);

    pub(super) fn is_old(&self, value: u32, now: Instant) -> bool {
        (value.wrapping_sub(self.recent) as i32) < 0
            && now.saturating_since(self.recent_at) < Self::OUTDATED
    }
}
