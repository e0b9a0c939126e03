//! The progress of a connection: when payload came and was acknowledged last, and its pauses.

use bentpipe_core::time::{Duration, Instant};

/// The longest gap without anything outstanding that belongs to a transfer.
///
/// A sender whose last segments are lost repeats them within that time (RFC 6298).
pub const PAUSE: Duration = Duration::from_secs(3);

/// See the module's head. It is small, as each idle flow has one: times are in milliseconds since
/// the beginning.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    /// One more than that of the last progress; zero before any.
    last: u32,
    /// The time without pauses, and how often a hole was filled: a loss before us.
    active_and_filled: u32,
}

const _: () = assert!(size_of::<Progress>() <= 8);

/// Bits of the count of filled holes. So active times of up to four hours are told apart.
const FILLED: u32 = 8;
const MAX_FILLED: u32 = (1 << FILLED) - 1;
const LONGEST: u32 = u32::MAX >> FILLED;

impl Progress {
    /// Payload has come or was acknowledged. Until then something was `outstanding`, or all that
    /// had come was acknowledged.
    pub(crate) fn note(&mut self, now: Instant, began: Instant, outstanding: bool) {
        let millis = now.saturating_since(began).as_nanos() / 1_000_000;
        let now = u32::try_from(millis).unwrap_or(u32::MAX - 1).min(u32::MAX - 1);
        let gap = now.saturating_sub(self.last.saturating_sub(1));
        if outstanding || u64::from(gap) * 1_000_000 <= PAUSE.as_nanos() as u64 {
            self.set(self.active().saturating_add(gap), self.filled());
        }
        self.last = now + 1;
    }

    /// Payload has come that was missing before other.
    pub(crate) fn note_filled(&mut self) {
        self.set(self.active(), self.filled() + 1);
    }

    /// How often that was so, at most 255 times.
    pub(crate) fn filled(&self) -> u32 {
        self.active_and_filled & MAX_FILLED
    }

    /// The time from the beginning to the last progress, without pauses. None if there was none.
    pub(crate) fn took(&self) -> Option<Duration> {
        (self.last > 0).then(|| Duration::from_millis(self.active().into()))
    }

    fn active(&self) -> u32 {
        self.active_and_filled >> FILLED
    }

    fn set(&mut self, active: u32, filled: u32) {
        self.active_and_filled = active.min(LONGEST) << FILLED | filled.min(MAX_FILLED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_of_users_do_not_count() {
        let at = |second: u64| Instant::from_millis(1000 * second);
        let mut progress = Progress::default();
        assert_eq!(progress.took(), None);
        for (second, outstanding) in [(2, false), (4, false), (14, true), (100, false), (101, true)]
        {
            progress.note(at(second), at(1), outstanding);
        }
        assert_eq!(progress.took(), Some(Duration::from_secs(100 - 86)));
    }

    #[test]
    fn what_is_counted_has_a_limit() {
        let mut progress = Progress::default();
        progress.note(Instant::FAR_FUTURE, Instant::ZERO, true);
        (0..1000).for_each(|_| progress.note_filled());
        assert_eq!(progress.filled(), MAX_FILLED);
        assert_eq!(progress.took(), Some(Duration::from_millis(LONGEST.into())));
    }
}
