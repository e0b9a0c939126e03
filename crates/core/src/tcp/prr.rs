//! Proportional rate reduction (RFC 9937): how much may be sent during fast recovery.
//!
//! While more is in flight than the slow start threshold, each acknowledgment lets go the share
//! ssthresh / RecoverFS of what it reports, so that the window shrinks evenly over a round trip.
//! When losses have taken more than that, it grows back like slow start, but only while
//! retransmissions arrive and no new loss shows (SafeACK). Names are the RFC's.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What one acknowledgment of an episode says.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// DeliveredData: bytes newly acknowledged, cumulatively or selectively.
    pub delivered: Bytes,
    /// Bytes in flight after it.
    pub in_flight: Bytes,
    /// The slow start threshold that congestion control has chosen, in bytes.
    pub ssthresh: Bytes,
    /// SafeACK: it acknowledges data cumulatively and shows no further loss.
    pub safe: bool,
    /// Sender maximum segment size, in bytes.
    pub smss: Bytes,
}

/// One episode of fast recovery.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Prr {
    /// RecoverFS.
    recover_fs: Bytes,
    /// prr_delivered.
    delivered: Bytes,
    /// prr_out.
    out: Bytes,
    /// What is left of SndCnt.
    allowance: Bytes,
    /// Whether duplicate acknowledgments stand for no more than RecoverFS in all.
    bounded: bool,
}

impl Prr {
    /// Fast recovery begins; `recover_fs` is what was outstanding before and not yet reported by
    /// SACK, what the first acknowledgment reports included (6.1).
    pub fn new(recover_fs: Bytes) -> Prr {
        Prr {
            recover_fs: recover_fs.max(Bytes::ONE),
            delivered: Bytes::ZERO,
            out: Bytes::ZERO,
            allowance: Bytes::ZERO,
            bounded: true,
        }
    }

    /// The same without 6.2's bound, as Linux has it: a long episode without SACK goes on sending
    /// new data.
    #[must_use]
    pub fn unbounded(self) -> Prr {
        Prr { bounded: false, ..self }
    }

    /// Whether it has 6.2's bound.
    pub fn is_bounded(&self) -> bool {
        self.bounded
    }

    /// Bytes that may be sent now.
    pub fn allowance(&self) -> Bytes {
        self.allowance
    }

    /// What more may count as delivered where duplicate acknowledgments stand for data: no more
    /// than was outstanding, however many a peer makes up (6.2).
    pub fn deliverable(&self) -> Bytes {
        self.recover_fs.saturating_sub(self.delivered)
    }

    /// Takes an acknowledgment (6.2); also the first, and whatever else begins the episode.
    pub fn on_ack(&mut self, progress: Progress) {
        let Progress { delivered, in_flight, ssthresh, safe, smss } = progress;
        if delivered == Bytes::ZERO && self.out > Bytes::ZERO {
            // Nothing new: nothing may follow. What is left of SndCnt stays.
            return;
        }
        self.delivered += delivered;
        let send = if in_flight > ssthresh {
            self.delivered.scaled_up(ssthresh, self.recover_fs).saturating_sub(self.out)
        } else {
            let min = self.delivered.saturating_sub(self.out).max(delivered);
            (min + if safe { smss } else { Bytes::ZERO }).min(ssthresh - in_flight)
        };
        // The first retransmission leaves in any case.
        self.allowance = if self.out == Bytes::ZERO { send.max(smss) } else { send };
    }

    /// `bytes` were sent during the episode.
    pub fn on_sent(&mut self, bytes: Bytes) {
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
        Progress {
            delivered: Bytes::new(delivered),
            in_flight: Bytes::new(in_flight),
            ssthresh: Bytes::new(10),
            safe,
            smss: Bytes::ONE,
        }
    }

    #[test]
    fn one_loss_of_twenty_halves_evenly() {
        // RFC 9937 halves like this where RFC 6675 is silent for half a round trip.
        let mut prr = Prr::new(Bytes::new(20));
        let mut in_flight = 19;
        let mut sent = Vec::new();
        for _ in 0..19 {
            in_flight -= 1;
            prr.on_ack(progress(1, in_flight, false));
            let now = prr.allowance();
            prr.on_sent(now);
            in_flight += now.count();
            sent.push(now.count());
        }
        let alternating: Vec<u64> = (0..16).map(|ack| 1 - ack % 2).collect();
        assert_eq!(sent[..16], alternating);
        assert_eq!(in_flight, 10, "ssthresh");
    }

    #[test]
    fn many_losses_are_repaired_no_faster_than_acknowledgments_come() {
        // Fifteen of twenty are lost: four are in flight when the first acknowledgment comes.
        let mut prr = Prr::new(Bytes::new(20));
        prr.on_ack(progress(1, 4, false));
        assert_eq!(prr.allowance(), Bytes::ONE, "PRR-CRB: packet conservation");
        prr.on_sent(Bytes::ONE);
        prr.on_ack(progress(1, 4, false));
        assert_eq!(prr.allowance(), Bytes::ONE);
        prr.on_sent(Bytes::ONE);
        // A retransmission has filled the first hole: PRR-SSRB, one more.
        prr.on_ack(progress(1, 4, true));
        assert_eq!(prr.allowance(), Bytes::new(2));
        prr.on_sent(Bytes::new(2));
        // Never beyond ssthresh.
        prr.on_ack(progress(9, 8, true));
        assert_eq!(prr.allowance(), Bytes::new(2));
    }

    #[test]
    fn the_formulas_in_bytes() {
        // 6.2, by hand: ssthresh 7300 of RecoverFS 14600, segments of 1460.
        let at = |delivered, in_flight, safe| Progress {
            delivered,
            in_flight,
            ssthresh: Bytes::new(7300),
            safe,
            smss: Bytes::new(1460),
        };
        let mut prr = Prr::new(Bytes::new(14_600));
        prr.on_ack(at(Bytes::new(1460), Bytes::new(13_140), false));
        assert_eq!(
            prr.allowance(),
            Bytes::new(1460),
            "DIV_ROUND_UP gives 730, and the first is forced"
        );
        prr.on_sent(Bytes::new(1460));
        prr.on_ack(at(Bytes::new(1460), Bytes::new(13_140), false));
        assert_eq!(prr.allowance(), Bytes::ZERO, "2920 / 2 - 1460");
        prr.on_ack(at(Bytes::ONE, Bytes::new(13_139), true));
        assert_eq!(
            prr.allowance(),
            Bytes::ONE,
            "2921 / 2 rounded up; SafeACK does not matter above"
        );
        prr.on_ack(at(Bytes::new(1000), Bytes::new(7300), false));
        assert_eq!(prr.allowance(), Bytes::ZERO, "at ssthresh nothing is to be caught up");
        prr.on_ack(at(Bytes::new(1000), Bytes::new(4000), false));
        assert_eq!(
            prr.allowance(),
            Bytes::new(3300),
            "ssthresh - inflight is less than 4921 - 1460"
        );
        prr.on_sent(Bytes::new(3300));
        prr.on_ack(at(Bytes::new(500), Bytes::new(2000), false));
        assert_eq!(prr.allowance(), Bytes::new(661), "PRR-CRB: 5421 - 4760 exceeds DeliveredData");
        prr.on_sent(Bytes::new(661));
        prr.on_ack(at(Bytes::new(100), Bytes::new(2000), true));
        assert_eq!(
            prr.allowance(),
            Bytes::new(100 + 1460),
            "PRR-SSRB: DeliveredData, and one segment"
        );
    }

    #[test]
    fn an_acknowledgment_of_nothing_sends_nothing() {
        let mut prr = Prr::new(Bytes::new(20));
        prr.on_ack(progress(0, 15, false));
        assert_eq!(prr.allowance(), Bytes::ONE, "a timer found the loss");
        prr.on_sent(Bytes::ONE);
        prr.on_ack(progress(0, 3, false));
        assert_eq!(prr.allowance(), Bytes::ZERO);
    }

    proptest! {
        #[test]
        fn ends_near_the_threshold(
            flight in 4u64..200, share in 0.1f64..1.0, acks in proptest::collection::vec(1u64..4, 1..200),
        ) {
            let ssthresh = ((flight as f64 * share) as u64).max(2);
            let mut prr = Prr::new(Bytes::new(flight));
            let (mut left, mut in_flight) = (flight - 1, flight - 1);
            for ack in acks {
                let delivered = ack.min(left);
                if delivered == 0 { break }
                left -= delivered;
                in_flight -= delivered;
                prr.on_ack(Progress { delivered: Bytes::new(delivered), in_flight: Bytes::new(in_flight), ssthresh: Bytes::new(ssthresh), safe: false, smss: Bytes::ONE });
                let now = prr.allowance();
                prr.on_sent(now);
                in_flight += now.count();
            }
            // One segment is always sent first; beyond that never more than both bounds allow.
            if left == 0 { prop_assert!(in_flight.abs_diff(ssthresh) <= 1, "{in_flight} {ssthresh}"); }
        }
    }
}
