//! Delivery rate samples (draft-ietf-ccwg-bbr, section 4.1): how fast the path delivered what lay
//! between a segment's leaving and its acknowledgment.
//!
//! The sampler keeps the connection's counters, each segment in flight a copy of them as they stood
//! when it left ([`Departure`]), and an acknowledgment subtracts the one from the other. A sample
//! is no faster than the segments had left, so that acknowledgments which come all at once do not
//! raise it. Names in comments are the draft's.

use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset, Rate};
use serde::{Deserialize, Serialize};

/// What had happened when a segment last left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// P.delivered: bytes delivered by then.
    pub delivered: Bytes,
    /// P.delivered_time.
    delivered_at: Instant,
    /// P.first_send_time.
    first_sent_at: Instant,
    /// P.lost: bytes marked lost by then.
    lost: Bytes,
    /// P.tx_in_flight: bytes in flight, this segment included.
    in_flight: Bytes,
    /// P.is_app_limited.
    app_limited: bool,
}

/// What an acknowledgment says of the path (RS of the draft).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSample {
    /// RS.delivered: bytes delivered over the interval.
    pub delivered: Bytes,
    /// RS.interval: the longer one of sending them and of acknowledging them.
    pub interval: Duration,
    /// RS.prior_delivered: bytes delivered when the newest segment among them left.
    pub prior_delivered: Bytes,
    /// RS.lost: bytes marked lost since then.
    pub lost: Bytes,
    /// RS.tx_in_flight: bytes in flight when it left, itself included.
    pub in_flight: Bytes,
    /// RS.is_app_limited: the sender had no more to send.
    pub app_limited: bool,
    /// When it left.
    pub sent_at: Instant,
}

impl RateSample {
    /// RS.delivery_rate; none over no time.
    pub fn rate(&self) -> Option<Rate> {
        let seconds = self.interval.as_secs_f64();
        let bits = self.delivered.as_f64() * 8.0;
        (seconds > 0.0).then(|| Rate::from_bits_per_sec((bits / seconds) as u64))
    }
}

/// What a loss says of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossSample {
    /// Bytes of the lost segment, or super-segment.
    pub bytes: Bytes,
    /// Bytes in flight when it left, itself included (P.tx_in_flight).
    pub in_flight: Bytes,
    /// Bytes marked lost since it left, itself included.
    pub lost: Bytes,
    /// The sender had no more to send when it left.
    pub app_limited: bool,
}

/// The newest segment that an acknowledgment reports.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newest {
    departure: Departure,
    sent_at: Instant,
    end: Offset,
}

/// The connection's counters (C of the draft).
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct DeliveryRate {
    /// C.delivered.
    delivered: Bytes,
    /// C.lost.
    lost: Bytes,
    /// C.delivered_time.
    delivered_at: Instant,
    /// C.first_send_time.
    first_sent_at: Instant,
    /// C.app_limited: until so much has been delivered, samples are the application's.
    app_limited: Option<Bytes>,
}

impl DeliveryRate {
    /// Bytes delivered so far, cumulatively or selectively.
    pub fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// Bytes marked lost so far, each time that they were.
    pub fn lost(&self) -> Bytes {
        self.lost
    }

    /// Nothing waits to be sent, and `in_flight` bytes are on their way (4.1.2.4).
    pub fn set_app_limited(&mut self, in_flight: Bytes) {
        self.app_limited = Some((self.delivered + in_flight).max(Bytes::ONE));
    }

    /// A segment leaves, and with it `in_flight` bytes are on their way; `alone` if nothing was
    /// before.
    pub(super) fn departure(&mut self, now: Instant, in_flight: Bytes, alone: bool) -> Departure {
        if alone {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        Departure {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            in_flight,
            app_limited: self.app_limited.is_some(),
        }
    }

    /// Whether what leaves now counts as the application's.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited.is_some()
    }

    /// `bytes` of a segment that left at `departure` are marked lost.
    pub(super) fn note_lost(&mut self, departure: Departure, bytes: Bytes) -> LossSample {
        self.lost += bytes;
        LossSample {
            bytes,
            in_flight: departure.in_flight,
            lost: self.lost - departure.lost,
            app_limited: departure.app_limited,
        }
    }

    /// `bytes` that left at `sent_at` and end at `end` are newly reported. `newest` is the latest
    /// of this acknowledgment.
    pub(super) fn note_delivered(
        &mut self,
        (sent_at, departure): (Instant, Departure),
        bytes: Bytes,
        end: Offset,
        newest: &mut Option<Newest>,
    ) {
        self.delivered += bytes;
        if newest.is_none_or(|newest| (sent_at, end) > (newest.sent_at, newest.end)) {
            *newest = Some(Newest { departure, sent_at, end });
        }
    }

    /// The acknowledgment is over: its sample, if it reports anything.
    pub(super) fn sample(&mut self, now: Instant, newest: Option<Newest>) -> Option<RateSample> {
        let Newest { departure, sent_at, .. } = newest?;
        self.delivered_at = now;
        self.first_sent_at = sent_at;
        self.app_limited.take_if(|until| self.delivered > *until);
        let sending = sent_at.saturating_since(departure.first_sent_at);
        let acknowledging = now.saturating_since(departure.delivered_at);
        Some(RateSample {
            delivered: self.delivered - departure.delivered,
            interval: sending.max(acknowledging),
            prior_delivered: departure.delivered,
            lost: self.lost - departure.lost,
            in_flight: departure.in_flight,
            app_limited: departure.app_limited,
            sent_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::tcp::ledger::{Delivered, Ledger};
    use crate::time::{Duration, Instant};
    use crate::units::{Bytes, Offset, Rate};

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// `n` segments of 1000 bytes from SND.NXT, `apart` milliseconds.
    fn send(ledger: &mut Ledger, from: u64, n: u64, apart: u64) {
        for i in 0..n {
            let nxt = ledger.snd_nxt();
            ledger.sent(at(from + i * apart), nxt..nxt + Bytes::new(1000));
        }
    }

    fn rate(delivered: &Delivered) -> Option<u64> {
        delivered.sample?.rate().map(Rate::bits_per_sec)
    }

    #[test]
    fn a_steady_flow_measures_what_arrives() {
        // A segment each 10 ms, acknowledged 100 ms later: 100 kB/s.
        let mut ledger = Ledger::new(Offset::SYN);
        let mut last = None;
        for i in 0..40u64 {
            if i >= 10 {
                last = Some(ledger.acknowledge(at(i * 10), Offset::new((i - 9) * 1000), []));
            }
            send(&mut ledger, i * 10, 1, 0);
        }
        assert_eq!(rate(&last.unwrap()), Some(800_000));
    }

    #[test]
    fn acknowledgments_that_come_at_once_do_not_raise_it() {
        // Ten segments over 90 ms; the path holds all acknowledgments until 200 ms.
        let mut ledger = Ledger::new(Offset::SYN);
        send(&mut ledger, 0, 10, 10);
        let mut last = None;
        for i in 1..=10 {
            last = Some(ledger.acknowledge(at(200), Offset::new(i * 1000), []));
        }
        let sample = last.unwrap().sample.unwrap();
        assert_eq!(
            (sample.delivered, sample.interval),
            (Bytes::new(10_000), Duration::from_millis(200))
        );
        // What left in a burst is no faster than it is acknowledged, ...
        send(&mut ledger, 300, 10, 0);
        let burst = ledger.acknowledge(at(400), Offset::new(20_000), []);
        assert_eq!(rate(&burst), Some(800_000));
        // ... and what left slowly no faster than it left.
        send(&mut ledger, 500, 11, 100);
        let slow = ledger.acknowledge(at(1600), Offset::new(31_000), []);
        let sample = slow.sample.unwrap();
        assert_eq!(sample.interval, Duration::from_millis(1100));
    }

    #[test]
    fn selective_reports_and_losses_count() {
        let mut ledger = Ledger::new(Offset::SYN);
        send(&mut ledger, 0, 10, 1);
        let first = ledger.acknowledge(at(100), Offset::new(1000), Some(Offset::span(5000, 8000)));
        assert_eq!(first.sample.unwrap().delivered, Bytes::new(4000));
        assert_eq!(first.sample.unwrap().prior_delivered, Bytes::ZERO);
        ledger.mark_lost(Offset::span(1000, 5000));
        let second =
            ledger.acknowledge(at(110), Offset::new(1000), Some(Offset::span(5000, 10_000)));
        let sample = second.sample.unwrap();
        assert_eq!(
            (sample.delivered, sample.lost, sample.in_flight),
            (Bytes::new(6000), Bytes::new(4000), Bytes::new(10_000))
        );
        // A retransmission is a departure of its own.
        ledger.resent(at(111), Offset::span(1000, 2000));
        let third = ledger.acknowledge(at(211), Offset::new(2000), []);
        let sample = third.sample.unwrap();
        assert_eq!(
            (sample.delivered, sample.prior_delivered, sample.lost),
            (Bytes::new(1000), Bytes::new(6000), Bytes::ZERO)
        );
        assert_eq!(sample.sent_at, at(111));
        assert_eq!(ledger.acknowledge(at(212), Offset::new(2000), []).sample, None, "nothing new");
    }

    #[test]
    fn what_the_application_limits_is_marked_until_it_has_arrived() {
        let mut ledger = Ledger::new(Offset::SYN);
        send(&mut ledger, 0, 2, 0);
        ledger.set_app_limited();
        assert!(!ledger.acknowledge(at(100), Offset::new(1000), []).sample.unwrap().app_limited);
        send(&mut ledger, 101, 2, 0);
        ledger.acknowledge(at(110), Offset::new(2000), []);
        assert!(ledger.acknowledge(at(201), Offset::new(3000), []).sample.unwrap().app_limited);
        send(&mut ledger, 202, 1, 0);
        ledger.acknowledge(at(203), Offset::new(4000), []);
        assert!(!ledger.acknowledge(at(302), Offset::new(5000), []).sample.unwrap().app_limited);
    }
}
