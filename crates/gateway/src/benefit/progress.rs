//! The progress of a connection: when payload came and was acknowledged last, and its pauses.

use bentpipe_core::time::{Duration, Instant};

/// The longest gap without anything outstanding that is the transfer's own and not its users': a
/// sender whose last segments are lost repeats them within that time (RFC 6298).
pub const PAUSE: Duration = Duration::from_secs(3);

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    last: Option<Instant>,
    paused: Duration,
    /// Holes that have been filled: a loss before us.
    filled: u32,
}

impl Progress {
    /// Payload has come or was acknowledged. Until then something was `outstanding`, or all that
    /// had come was acknowledged.
    pub(crate) fn note(&mut self, now: Instant, began: Instant, outstanding: bool) {
        let gap = now.saturating_since(self.last.unwrap_or(began));
        if !outstanding && gap > PAUSE {
            self.paused = self.paused.saturating_add(gap);
        }
        self.last = Some(now);
    }

    /// Payload has come that was missing before other.
    pub(crate) fn note_filled(&mut self) {
        self.filled = self.filled.saturating_add(1);
    }

    /// How often that was so.
    pub(crate) fn filled(&self) -> u32 {
        self.filled
    }

    /// The time from the beginning to the last progress, without pauses. None if there was none.
    pub(crate) fn took(&self, began: Instant) -> Option<Duration> {
        Some(self.last?.saturating_since(began).saturating_sub(self.paused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_of_users_do_not_count() {
        let at = Instant::from_secs;
        let mut progress = Progress::default();
        assert_eq!(progress.took(at(1)), None);
        for (second, outstanding) in [(2, false), (4, false), (14, true), (100, false), (101, true)] {
            progress.note(at(second), at(1), outstanding);
        }
        assert_eq!(progress.took(at(1)), Some(Duration::from_secs(100 - 86)));
    }
}
