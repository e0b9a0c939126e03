//! What a sender counts.

use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};

/// Counters of one sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderStats {
    /// Segments sent, super-segments counted once.
    pub segments: u64,
    /// Bytes retransmitted, FINs not counted.
    pub retransmitted_bytes: Bytes,
    /// Segments retransmitted, whatever they are.
    pub retransmissions: u64,
    /// Of these, those that are a FIN alone.
    pub fin_retransmissions: u64,
    /// Of these, those of data to bring an acknowledgment, before anything is known to be lost (RFC
    /// 8985, 7; RFC 9002, 6.2).
    pub probes: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Of these, those with nothing but a FIN outstanding.
    pub fin_timeouts: u64,
    /// Of these, those that ended a fast recovery.
    pub recovery_timeouts: u64,
    /// Episodes of fast recovery.
    pub recoveries: u64,
    /// Reductions of the window that were undone because nothing had been lost.
    pub spurious: u64,
    /// How often the congestion window was reduced: for a loss, a timeout or an ECN mark.
    pub reductions: u64,
    /// How often in the first recovery.
    pub first_reductions: u64,
    /// How long the first recovery took: from the first fast retransmission or timeout on, until
    /// all was acknowledged that was outstanding then.
    pub first_recovery: Option<Duration>,
}

/// What a sender counts, and what it has to remember for that.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) stats: SenderStats,
    /// FINs retransmitted, alone or behind data.
    pub(super) fins: u64,
    /// The first recovery, while it lasts: its beginning, and where it ends.
    first: Option<(Instant, Offset)>,
}

impl Tally {
    /// A loss is to be recovered from, with all below `snd_nxt` outstanding.
    pub(super) fn recovers(&mut self, now: Instant, snd_nxt: Offset) {
        if self.first.is_none() && self.stats.first_recovery.is_none() {
            self.first = Some((now, snd_nxt));
        }
    }

    /// The congestion window was `before`, and is `after`.
    pub(super) fn window(&mut self, before: Bytes, after: Bytes) {
        if after < before {
            self.reduced();
        }
    }

    /// The congestion window was reduced.
    pub(super) fn reduced(&mut self) {
        self.stats.reductions += 1;
        if self.first.is_some() {
            self.stats.first_reductions += 1;
        }
    }

    /// All below `snd_una` is acknowledged.
    #[inline]
    pub(super) fn acknowledged(&mut self, now: Instant, snd_una: Offset) {
        if let Some((began, _)) = self.first.take_if(|(_, point)| snd_una >= *point) {
            self.stats.first_recovery = Some(now.saturating_since(began));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_recovery_lasts_until_all_of_its_beginning_is_acknowledged() {
        let at = Instant::from_millis;
        let mut tally = Tally::default();
        tally.window(Bytes::new(10), Bytes::new(9));
        tally.recovers(at(100), Offset::new(500));
        tally.window(Bytes::new(10), Bytes::new(5));
        tally.window(Bytes::new(5), Bytes::new(5));
        // A timeout in the midst of it belongs to it.
        tally.recovers(at(200), Offset::new(600));
        tally.window(Bytes::new(5), Bytes::new(1));
        tally.acknowledged(at(300), Offset::new(499));
        assert_eq!(tally.stats.first_recovery, None);
        tally.acknowledged(at(400), Offset::new(500));
        let SenderStats { reductions, first_reductions, first_recovery, .. } = tally.stats;
        let took = Some(Duration::from_millis(300));
        assert_eq!((reductions, first_reductions, first_recovery), (3, 2, took));
        // The next is none of its.
        tally.recovers(at(500), Offset::new(900));
        tally.window(Bytes::new(9), Bytes::new(4));
        tally.acknowledged(at(700), Offset::new(900));
        assert_eq!((tally.stats.reductions, tally.stats.first_reductions), (4, 2));
        assert_eq!(tally.stats.first_recovery, took);
    }
}
