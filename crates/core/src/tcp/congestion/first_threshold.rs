//! The first slow start threshold from what acknowledgments tell of the path: its rate times its
//! round-trip time, so that slow start ends before it overflows the bottleneck's queue (Hoe,
//! "Improving the Start-up Behavior of a Congestion Control Scheme for TCP", SIGCOMM 1996).
//!
//! - `packet-pair` is Hoe's: the rate is that of the first three acknowledgments that come closely
//!   together (Keshav, SIGCOMM 1991, has two packets for it). Packets of others between these three
//!   make it too small.
//! - `ack-rate` takes all acknowledgments of the first round trip that reports 16 segments: what
//!   others send in between is then a part of what they send always.
//!
//! The estimate is made once, and not after a loss.

use super::AckEvent;
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// How the first threshold is estimated.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum ThresholdEstimate {
    /// It is not.
    #[default]
    Off,
    /// By the first three acknowledgments that come closely together.
    PacketPair,
    /// By the acknowledgments of a round trip.
    AckRate,
}

/// Three acknowledgments come closely together if that takes no more than this part of a round
/// trip.
const CLOSE: u32 = 4;

/// Segments that the acknowledgments of a round trip must report.
const LONG: u64 = 16;

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FirstThreshold {
    by: ThresholdEstimate,
    estimate: Option<Bytes>,
    over: bool,
    /// When the last acknowledgments came, or the first and the last of the round, and how much had
    /// been delivered then.
    acks: Vec<(Instant, Bytes)>,
    /// The round ends when so much is delivered.
    round_end: Bytes,
}

impl FirstThreshold {
    pub(super) fn new(by: ThresholdEstimate) -> Option<FirstThreshold> {
        let (acks, round_end) = (Vec::new(), Bytes::ZERO);
        let first = FirstThreshold { by, estimate: None, over: false, acks, round_end };
        (by != ThresholdEstimate::Off).then_some(first)
    }

    /// The estimate, if it was made.
    pub(super) fn estimate(&self) -> Option<Bytes> {
        self.estimate
    }

    /// There is no estimate from now on, or it is made.
    pub(super) fn stop(&mut self) {
        self.over = true;
        self.acks = Vec::new();
    }

    /// An acknowledgment has come: the estimate, in the moment in which it is made.
    pub(super) fn on_ack(&mut self, ack: &AckEvent) -> Option<Bytes> {
        let AckEvent { now, delivered, newly, min_rtt, smss, .. } = *ack;
        let rtt = min_rtt.filter(|_| !self.over && newly > Bytes::ZERO)?;
        let rate = match self.by {
            ThresholdEstimate::Off => None,
            ThresholdEstimate::PacketPair => self.pair(now, delivered, rtt),
            ThresholdEstimate::AckRate => self.round((now, delivered), ack.in_flight, smss),
        };
        self.estimate = Some(Bytes::from_f64(rate? * rtt.as_secs_f64()));
        self.stop();
        self.estimate
    }

    /// Bytes a second by the last three acknowledgments.
    fn pair(&mut self, now: Instant, delivered: Bytes, rtt: Duration) -> Option<f64> {
        self.acks.push((now, delivered));
        if self.acks.len() < 3 {
            return None;
        }
        let first = self.acks.remove(0);
        let span = now.saturating_since(first.0);
        (!span.is_zero() && span <= rtt / CLOSE)
            .then(|| (delivered - first.1).as_f64() / span.as_secs_f64())
    }

    /// Bytes a second of the round that is over, if `ack` begins another.
    fn round(&mut self, ack: (Instant, Bytes), in_flight: Bytes, smss: Bytes) -> Option<f64> {
        if let [_, last] = &mut self.acks[..]
            && ack.1 <= self.round_end
        {
            *last = ack;
            return None;
        }
        let ended = std::mem::replace(&mut self.acks, vec![ack, ack]);
        self.round_end = ack.1 + in_flight;
        let [first, last] = ended[..] else { return None };
        let (bytes, span) = (last.1 - first.1, last.0.saturating_since(first.0));
        (bytes >= LONG * smss && !span.is_zero()).then(|| bytes.as_f64() / span.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{SMSS, ack_event};
    use super::*;

    /// Acknowledgments of a segment each at these moments, in milliseconds, with `in_flight`
    /// segments behind each: the first estimate.
    fn estimated(by: ThresholdEstimate, at: &[(u64, u64)]) -> Option<Bytes> {
        let mut first = FirstThreshold::new(by).unwrap();
        let mut made = None;
        for (number, (millis, in_flight)) in (1..).zip(at) {
            let acked = AckEvent {
                newly: SMSS,
                delivered: number * SMSS,
                in_flight: *in_flight * SMSS,
                min_rtt: Some(Duration::from_millis(500)),
                ..ack_event(Instant::from_millis(*millis))
            };
            made = made.or(first.on_ack(&acked));
        }
        assert_eq!(made, first.estimate());
        made
    }

    #[test]
    fn three_acknowledgments_close_together_are_a_pair_and_one() {
        let by = ThresholdEstimate::PacketPair;
        assert_eq!(estimated(by, &[(500, 2), (1000, 3), (1005, 4)]), None, "not close");
        // 200 segments a second, over half a second.
        let close = [(500, 2), (1000, 3), (1005, 4), (1010, 5), (1011, 6)];
        assert_eq!(estimated(by, &close), Some(100 * SMSS));
    }

    #[test]
    fn a_round_of_sixteen_segments_gives_a_rate() {
        let by = ThresholdEstimate::AckRate;
        let round = |count: u64, start: u64| (0..count).map(move |i| (start + 5 * i, count - 1));
        let few: Vec<_> = round(10, 500).chain(round(1, 1000)).collect();
        assert_eq!(estimated(by, &few), None);
        let enough: Vec<_> = round(10, 500).chain(round(20, 1000)).chain(round(1, 1500)).collect();
        assert_eq!(estimated(by, &enough), Some(100 * SMSS));
    }

    #[test]
    fn there_is_no_estimate_after_a_loss() {
        let mut first = FirstThreshold::new(ThresholdEstimate::PacketPair).unwrap();
        first.stop();
        for millis in 500..600 {
            assert_eq!(first.on_ack(&ack_event(Instant::from_millis(millis))), None);
        }
    }
}
