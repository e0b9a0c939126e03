//! What the acknowledgments of a round trip say of the path's rate while the window is small.
//!
//! Slow start sends a window at once, and its acknowledgments come as a train, spaced by the
//! slowest link. A train that is short beside the round-trip time shows room for much more than
//! twice the window (Ha and Rhee, "Hybrid Slow Start", 2008, take its length for the moment to
//! stop), so that the window may grow faster (Arghavani and others, "SUSS: Improving TCP
//! Performance by Speeding Up Slow-Start", SIGCOMM 2024).

use super::AckEvent;
use super::filter::WindowedMax;
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Acknowledgments behind the first before the train counts, and segments that they report.
const MIN_ACKS: u32 = 3;
const MIN_SEGMENTS: u64 = 4;

/// Segments that a train reports before its rate can be the fastest one though it is not over.
const LONG: u64 = 16;

/// The largest growth of a window in a round trip.
const MAX_GROWTH: u64 = 4;

/// This part of a window may be lost in two rounds; a queue that overflows in slow start loses
/// half.
const TOLERATED: u64 = 10;

/// The fastest train of so many rounds counts: one with pauses is slower than the path.
const ROUNDS: u64 = 10;

/// The trains of this round and of those before.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct AckTrain {
    /// None before a round begins, and when nothing is in flight any more.
    train: Option<Train>,
    /// Rounds so far, and their rates in bytes a second.
    round: u64,
    rates: WindowedMax,
    /// The greatest of them, and of this round's so far if that is long, in whole bytes.
    fastest: u64,
}

/// The acknowledgments of this round so far.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Train {
    /// The window when the round began.
    window: Bytes,
    /// When the first and the last of them came.
    first: Instant,
    last: Instant,
    /// Bytes that all have reported, and those behind the first; and how many these are.
    reported: Bytes,
    bytes: Bytes,
    acks: u32,
    /// Bytes lost in this round, and in the one before.
    lost: [Bytes; 2],
}

impl Train {
    /// Its rate in bytes a second, unless it says too little.
    fn rate(&self, smss: Bytes) -> Option<f64> {
        let counts = self.acks >= MIN_ACKS && self.bytes >= MIN_SEGMENTS * smss;
        let length = self.last.saturating_since(self.first).as_secs_f64();
        counts.then(|| self.bytes.as_f64() / length.max(1e-9))
    }

    /// Whether more was lost than one segment, or a link's own losses would account for.
    fn is_lossy(&self, smss: Bytes) -> bool {
        self.lost.iter().copied().sum::<Bytes>() > smss.max(self.window / TOLERATED)
    }
}

impl AckTrain {
    /// A round begins with this acknowledgment, when the window is `window`.
    pub(super) fn begin(&mut self, ack: &AckEvent, window: Bytes) {
        let AckEvent { now, newly, lost, smss, .. } = *ack;
        let lost_before = self.train.map_or(Bytes::ZERO, |train| train.lost[0]);
        self.end(smss);
        self.round += 1;
        let lost = [lost, lost_before];
        let (first, last, reported) = (now, now, newly);
        self.train =
            Some(Train { window, first, last, reported, bytes: Bytes::ZERO, acks: 0, lost });
    }

    /// Another acknowledgment of the round. It is `in_train` unless the sender itself has spread
    /// what it reports: then what came before it stands for all of the window.
    pub(super) fn on_ack(&mut self, ack: &AckEvent, in_train: bool) {
        let AckEvent { now, newly, lost, smss, .. } = *ack;
        if let Some(train) = &mut self.train {
            train.lost[0] += lost;
            if newly > Bytes::ZERO && in_train {
                train.last = now;
                train.bytes += newly;
                train.reported += newly;
                train.acks += 1;
            } else if newly > Bytes::ZERO {
                train.reported = train.window;
            }
        }
        let long = self.train.is_some_and(|train| train.bytes >= LONG * smss);
        let rate = self.rate(smss).filter(|_| long).unwrap_or(0.0);
        self.fastest = rate.max(self.rates.max()) as u64;
    }

    /// Nothing is in flight any more: what is acknowledged next is of another train.
    pub(super) fn end(&mut self, smss: Bytes) {
        if let Some(rate) = self.rate(smss) {
            self.rates.update(self.round, rate, ROUNDS);
        }
        self.train = None;
    }

    /// The rate of this round's train in bytes a second, unless it says too little.
    fn rate(&self, smss: Bytes) -> Option<f64> {
        self.train.and_then(|train| train.rate(smss))
    }

    /// The rate of the fastest train, in bytes a second.
    pub(super) fn fastest(&self) -> Option<f64> {
        (self.fastest > 0).then_some(self.fastest as f64)
    }

    /// The window that slow start may have where a round trip takes `rtt`: more by three times what
    /// the round has reported, but no more than what this train's rate brings in a round trip, and
    /// half of that until the train has a quarter of it. None where the train says too little, or
    /// where much was lost of late: many flows may begin at once, each with a train as fast as the
    /// link.
    pub(super) fn window(&self, rtt: Duration, smss: Bytes) -> Option<Bytes> {
        let train = self.train.filter(|train| !train.is_lossy(smss))?;
        let product = Bytes::from_f64(train.rate(smss)? * rtt.as_secs_f64());
        let carries = if train.bytes >= product / 4 { product } else { product / 2 };
        let grown = train.window + (MAX_GROWTH - 1) * train.reported;
        Some(grown.min(carries))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{SMSS, ack_event};
    use super::*;

    const RTT: Duration = Duration::from_millis(500);

    /// Another round: `count` segments are acknowledged, one each `gap` microseconds, of which
    /// `lost` are found lost with the first.
    fn round(train: &mut AckTrain, start: u64, count: u64, gap: u64, lost: u64, window: u64) {
        for i in 0..count {
            let now = Instant::from_millis(start) + Duration::from_micros(i * gap);
            let lost = if i == 0 { lost * SMSS } else { Bytes::ZERO };
            let ack = AckEvent { lost, ..ack_event(now) };
            if i == 0 {
                train.begin(&ack, Bytes::new(window));
            } else {
                train.on_ack(&ack, true);
            }
        }
    }

    fn near(rate: f64, expected: f64) {
        assert!((rate / expected - 1.0).abs() < 1e-4, "{rate}");
    }

    #[test]
    fn a_short_train_quadruples_the_window() {
        let mut train = AckTrain::default();
        // 1 MB/s.
        round(&mut train, 500, 4, 1000, 0, (10 * SMSS).count());
        assert_eq!(train.window(RTT, SMSS), None, "too few");
        round(&mut train, 500, 10, 1000, 0, (10 * SMSS).count());
        assert_eq!(train.window(RTT, SMSS), Some(40 * SMSS));
        assert_eq!(train.fastest(), None, "it is short, and not over");
        round(&mut train, 1000, 100, 1000, 0, (100 * SMSS).count());
        assert_eq!(train.window(RTT, SMSS), Some(250 * SMSS), "half of what the path holds");
        round(&mut train, 1500, 200, 1000, 0, (200 * SMSS).count());
        assert_eq!(
            train.window(RTT, SMSS),
            Some(500 * SMSS),
            "all of it: so long a train is believed"
        );
        near(train.fastest().unwrap(), 1e6);
    }

    #[test]
    fn more_than_one_loss_in_two_rounds_speaks_against_it() {
        let mut train = AckTrain::default();
        round(&mut train, 500, 10, 1000, 1, (10 * SMSS).count());
        assert!(train.window(RTT, SMSS).is_some());
        round(&mut train, 1000, 10, 1000, 1, (10 * SMSS).count());
        assert_eq!(train.window(RTT, SMSS), None);
        round(&mut train, 1500, 10, 1000, 0, (10 * SMSS).count());
        assert!(train.window(RTT, SMSS).is_some());
    }

    #[test]
    fn a_larger_window_may_lose_a_tenth() {
        let mut train = AckTrain::default();
        round(&mut train, 500, 60, 1000, 4, (60 * SMSS).count());
        round(&mut train, 1000, 60, 1000, 2, (60 * SMSS).count());
        assert!(train.window(RTT, SMSS).is_some());
        round(&mut train, 1500, 60, 1000, 5, (60 * SMSS).count());
        assert_eq!(train.window(RTT, SMSS), None);
    }

    #[test]
    fn a_train_with_pauses_does_not_hide_what_faster_ones_showed() {
        let mut train = AckTrain::default();
        round(&mut train, 500, 10, 1000, 0, (10 * SMSS).count());
        round(&mut train, 1000, 10, 40_000, 0, (40 * SMSS).count());
        near(train.fastest().unwrap(), 1e6);
        assert_eq!(train.window(RTT, SMSS), Some(Bytes::new(12_500)));
        for number in 0..=ROUNDS {
            round(&mut train, 2000 + 500 * number, 10, 40_000, 0, (40 * SMSS).count());
        }
        near(train.fastest().unwrap(), 25_000.0);
    }
}
