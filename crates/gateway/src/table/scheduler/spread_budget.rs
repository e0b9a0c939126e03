//! What all flows together may begin with beyond ten segments each, on a link of which nothing is
//! known.
//!
//! A flow that begins alone may have five times the usual initial window
//! ([`FirstWindow::ByRoundTrip`](crate::config::FirstWindow::ByRoundTrip)). Forty that begin at
//! once may not: the link would have to take all of it in one round trip. So there is a budget:
//! what one flow may want, refilled once a second, and faster by a sixteenth of the data that the
//! link carries.

use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;

/// What one flow may want: forty segments; and what is added each second.
const MAX: i64 = 64 << 10;
/// The part of data sent that is added.
const SHARE: i64 = 16;

/// See the module's head.
#[derive(Debug)]
pub(super) struct SpreadBudget {
    /// Less than nothing where the last segment was longer than what was left.
    bytes: i64,
    /// When time has last added to it.
    at: Instant,
}

impl SpreadBudget {
    /// At the beginning one flow has all.
    pub(super) fn new() -> SpreadBudget {
        SpreadBudget { bytes: MAX, at: Instant::ZERO }
    }

    /// Data was sent.
    pub(super) fn sent(&mut self, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(MAX);
        self.bytes = (self.bytes + bytes / SHARE).min(MAX);
    }

    /// So much of it is used.
    pub(super) fn take(&mut self, bytes: Bytes) {
        self.bytes -= i64::try_from(bytes.count()).unwrap_or(MAX);
    }

    /// Whether something is left now.
    pub(super) fn is_left(&mut self, now: Instant) -> bool {
        let added = MAX as f64 * now.saturating_since(self.at).as_secs_f64();
        // What is less than a byte is not lost.
        if added >= 1.0 {
            self.bytes = (self.bytes + added.min(MAX as f64) as i64).min(MAX);
            self.at = now;
        }
        self.bytes > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::time::Duration;

    #[test]
    fn one_flow_may_use_it_at_once_and_the_next_one_a_second_later() {
        let mut budget = SpreadBudget::new();
        let now = Instant::ZERO + Duration::from_secs(5);
        assert!(budget.is_left(now));
        budget.take(Bytes::new(60_000));
        assert!(budget.is_left(now));
        budget.take(Bytes::new(10_000));
        assert!(!budget.is_left(now));
        assert!(!budget.is_left(now + Duration::from_millis(60)), "what was too much is owed");
        assert!(budget.is_left(now + Duration::from_millis(80)));
        assert!(budget.is_left(now + Duration::from_millis(1080)));
        assert!((65_000..=MAX).contains(&budget.bytes), "{}", budget.bytes);
    }

    #[test]
    fn what_the_link_carries_refills_it() {
        let mut budget = SpreadBudget::new();
        assert!(budget.is_left(Instant::ZERO));
        budget.take(Bytes::new(64 << 10));
        budget.sent(1_500);
        assert_eq!(budget.bytes, 93);
        budget.sent(2_000_000);
        assert_eq!(budget.bytes, MAX);
    }
}
