//! Proportional rate reduction (RFC 9937): how much may be sent during fast recovery.
//!
//! While more is in flight than the slow start threshold, each acknowledgment lets go the share
//! ssthresh / RecoverFS of what it reports, so that the window shrinks evenly over a round trip.
//! When losses have taken more than that, it grows back like slow start, but only while
//! retransmissions arrive and no new loss shows (SafeACK). Names are the RFC's.

use serde::{Deserialize, Serialize};

/// What one acknowledgment of an episode says.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// DeliveredData: bytes newly acknowledged, cumulatively or selectively.
    pub delivered: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// The slow start threshold that congestion control has chosen, in bytes.
    pub ssthresh: u64,
    /// SafeACK: it acknowledges data cumulatively and shows no further loss.
    pub safe: bool,
    /// Sender maximum segment size, in bytes.
    pub smss: u64,
}

/// One episode of fast recovery.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Prr {
    /// RecoverFS.
    recover_fs: u64,
    /// prr_delivered.
    delivered: u64,
    /// prr_out.
    out: u64,
    /// What is left of SndCnt.
    allowance: u64,
}

impl Prr {
    /// Fast recovery begins; `recover_fs` is what was outstanding before and not yet reported by
    /// SACK, what the first acknowledgment reports included (6.1).
    pub fn new(recover_fs: u64) -> Prr {
        Prr { recover_fs: recover_fs.max(1), delivered: 0, out: 0, allowance: 0 }
    }

    /// Bytes that may be sent now.
    pub fn allowance(&self) -> u64 {
        self.allowance
    }

    /// What more may count as delivered where duplicate acknowledgments stand for data: no more
    /// than was outstanding, however many a peer makes up (6.2).
    pub fn deliverable(&self) -> u64 {
        self.recover_fs.saturating_sub(self.delivered)
    }

    /// Takes an acknowledgment (6.2); also the first, and whatever else begins the episode.
    pub fn on_ack(&mut self, progress: Progress) {
        let Progress { delivered, in_flight, ssthresh, safe, smss } = progress;
        if delivered == 0 && self.out > 0 {
            // Nothing new: nothing may follow. What is left of SndCnt stays.
            return;
        }
        self.delivered += delivered;
        let send = if in_flight > ssthresh {
            let share = u128::from(self.delivered) * u128::from(ssthresh);
            let share = share.div_ceil(u128::from(self.recover_fs));
            u64::try_from(share).unwrap_or(u64::MAX).saturating_sub(self.out)
        } else {
            let min = self.delivered.saturating_sub(self.out).max(delivered);
            (min + if safe { smss } else { 0 }).min(ssthresh - in_flight)
        };
        // The first retransmission leaves in any case.
        self.allowance = if self.out == 0 { send.max(smss) } else { send };
    }

    /// `bytes` were sent during the episode.
    pub fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
        self.allowance = self.allowance.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One segment is one byte here.
    fn progress(delivered: u64, in_flight: u64, safe: bool) -> Progress {
        Progress { delivered, in_flight, ssthresh: 10, safe, smss: 1 }
    }

    #[test]
    fn one_loss_of_twenty_halves_evenly() {
        // RFC 9937 halves like this where RFC 6675 is silent for half a round trip.
        let mut prr = Prr::new(20);
        let mut in_flight = 19;
        let mut sent = Vec::new();
        for _ in 0..19 {
            in_flight -= 1;
            prr.on_ack(progress(1, in_flight, false));
            let now = prr.allowance();
            prr.on_sent(now);
            in_flight += now;
            sent.push(now);
        }
        let alternating: Vec<u64> = (0..16).map(|ack| 1 - ack % 2).collect();
        assert_eq!(sent[..16], alternating);
        assert_eq!(in_flight, 10, "ssthresh");
    }

    #[test]
    fn many_losses_are_repaired_no_faster_than_acknowledgments_come() {
        // Fifteen of twenty are lost: four are in flight when the first acknowledgment comes.
        let mut prr = Prr::new(20);
        prr.on_ack(progress(1, 4, false));
        assert_eq!(prr.allowance(), 1, "PRR-CRB: packet conservation");
        prr.on_sent(1);
        prr.on_ack(progress(1, 4, false));
        assert_eq!(prr.allowance(), 1);
        prr.on_sent(1);
        // A retransmission has filled the first hole: PRR-SSRB, one more.
        prr.on_ack(progress(1, 4, true));
        assert_eq!(prr.allowance(), 2);
        prr.on_sent(2);
        // Never beyond ssthresh.
        prr.on_ack(progress(9, 8, true));
        assert_eq!(prr.allowance(), 2);
    }

    #[test]
    fn the_formulas_in_bytes() {
        // 6.2, by hand: ssthresh 7300 of RecoverFS 14600, segments of 1460.
        let at = |delivered, in_flight, safe| Progress {
            delivered,
            in_flight,
            ssthresh: 7300,
            safe,
            smss: 1460,
        };
        let mut prr = Prr::new(14_600);
        prr.on_ack(at(1460, 13_140, false));
        assert_eq!(prr.allowance(), 1460, "DIV_ROUND_UP gives 730, and the first is forced");
        prr.on_sent(1460);
        prr.on_ack(at(1460, 13_140, false));
        assert_eq!(prr.allowance(), 0, "2920 / 2 - 1460");
        prr.on_ack(at(1, 13_139, true));
        assert_eq!(prr.allowance(), 1, "2921 / 2 rounded up; SafeACK does not matter above");
        prr.on_ack(at(1000, 7300, false));
        assert_eq!(prr.allowance(), 0, "at ssthresh nothing is to be caught up");
        prr.on_ack(at(1000, 4000, false));
        assert_eq!(prr.allowance(), 3300, "ssthresh - inflight is less than 4921 - 1460");
        prr.on_sent(3300);
        prr.on_ack(at(500, 2000, false));
        assert_eq!(prr.allowance(), 661, "PRR-CRB: 5421 - 4760 exceeds DeliveredData");
        prr.on_sent(661);
        prr.on_ack(at(100, 2000, true));
        assert_eq!(prr.allowance(), 100 + 1460, "PRR-SSRB: DeliveredData, and one segment");
    }

    #[test]
    fn an_acknowledgment_of_nothing_sends_nothing() {
        let mut prr = Prr::new(20);
        prr.on_ack(progress(0, 15, false));
        assert_eq!(prr.allowance(), 1, "a timer found the loss");
        prr.on_sent(1);
        prr.on_ack(progress(0, 3, false));
        assert_eq!(prr.allowance(), 0);
    }

    proptest! {
        #[test]
        fn ends_near_the_threshold(
            flight in 4u64..200, share in 0.1f64..1.0, acks in proptest::collection::vec(1u64..4, 1..200),
        ) {
            let ssthresh = ((flight as f64 * share) as u64).max(2);
            let mut prr = Prr::new(flight);
            let (mut left, mut in_flight) = (flight - 1, flight - 1);
            for ack in acks {
                let delivered = ack.min(left);
                if delivered == 0 { break }
                left -= delivered;
                in_flight -= delivered;
                prr.on_ack(Progress { delivered, in_flight, ssthresh, safe: false, smss: 1 });
                let now = prr.allowance();
                prr.on_sent(now);
                in_flight += now;
            }
            // One segment is always sent first; beyond that never more than both bounds allow.
            if left == 0 { prop_assert!(in_flight.abs_diff(ssthresh) <= 1, "{in_flight} {ssthresh}"); }
        }
    }
}
