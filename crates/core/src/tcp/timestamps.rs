//! Timestamps (RFC 7323): whose they are, which are old, and what ours say of a moment.

use crate::time::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// Where the timestamps option's TSval comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimestampClock {
    /// Milliseconds of our own clock, from this number on.
    Own(u32),
    /// The newest TSval of the host for which we stand; set by
    /// [`Tcb::relay_timestamp`](super::tcb::Tcb::relay_timestamp).
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
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
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

/// The tick of our own clock that `at` falls in: all that TSval says of it.
pub(super) fn tick(at: Instant) -> Instant {
    Instant::from_millis(at.as_nanos() / 1_000_000)
}

/// The tick that was `age` before `now`'s; none before the beginning of time.
pub(super) fn before(now: Instant, age: Duration) -> Option<Instant> {
    let nanos = u128::from(tick(now).as_nanos()).checked_sub(age.as_nanos())?;
    u64::try_from(nanos).ok().map(Instant::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_tells_when_its_segment_left() {
        let clock = TimestampClock::Own(u32::MAX - 5);
        let (sent, now) = (Instant::from_nanos(3_900_000), Instant::from_nanos(104_100_000));
        let age = clock.value(now).wrapping_sub(clock.value(sent));
        let age = Duration::from_millis(age.into());
        assert_eq!(before(now, age), Some(tick(sent)));
        assert_eq!(tick(sent), Instant::from_millis(3));
        assert_eq!(before(sent, Duration::from_millis(4)), None);
    }
}
