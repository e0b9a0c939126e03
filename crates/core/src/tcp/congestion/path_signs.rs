//! What a path tells of congestion besides its losses: whether a queue stands on it, what share of
//! a round trip's packets it loses, and how much it delivers.
//!
//! A path's own round-trip time may vary: access that is shared out on demand, hand-overs. What a
//! round trip takes beyond what was in flight at the rate that the path has shown is no queue of
//! ours. The longest such round is usual for the path, within bounds: a queue that others keep full
//! looks the same.

use super::filter::WindowedMax;
use super::{AckEvent, LinkReport};
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// The greatest delivery rate of so many rounds counts, as in BBR.
const BANDWIDTH_ROUNDS: u64 = 10;

/// The least round-trip time of this long, and up to twice as long, is what the path takes without
/// a queue. Routes over moving satellites change, and queues that stand longer are not ours alone.
const BASE_SPAN: Duration = Duration::from_secs(30);

// A queue: the thresholds at which HyStart++ takes a rise of round-trip times for one (RFC 9406,
// 4.3).
const MIN_QUEUE: Duration = Duration::from_millis(4);
const MAX_QUEUE: Duration = Duration::from_millis(16);
const QUEUE_DIVISOR: u32 = 8;
/// Samples of a round trip before its least one counts.
const SAMPLES: u32 = 8;
/// And when it is over: a lone segment's acknowledgment is often delayed.
const MIN_SAMPLES: u32 = 2;

/// A path's own round trip is longer than its least by this part at most, or by so much if that is
/// more.
const JITTER_DIVISOR: u32 = 4;
const MIN_JITTER: Duration = Duration::from_millis(20);

/// A path is held to take at least so long: of a shorter round trip most is what both ends'
/// machines take for their other connections.
const MIN_BASE: Duration = Duration::from_millis(8);

/// A round trip's least time, and the most that was in flight when what it reports left.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Least {
    rtt: Option<Duration>,
    in_flight: Bytes,
}

/// See the module's head.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct PathSigns {
    rounds: u64,
    /// The round is over when what leaves now is delivered: so many bytes are then.
    next_round: Bytes,
    /// What has happened in this round.
    round: LinkReport,
    /// Of this round, and how many round-trip times there were; and of the last one.
    least: Least,
    samples: u32,
    last: Least,
    /// The least of this span and of the one before; and when it began.
    base: [Option<Duration>; 2],
    base_since: Instant,
    /// The longest round of each span that no queue of ours explains.
    usual: [Option<Duration>; 2],
    /// Bytes a second.
    bandwidth: WindowedMax,
}

impl PathSigns {
    /// An acknowledgment. The round trip that it ends, if it does.
    pub(super) fn on_ack(&mut self, ack: &AckEvent) -> Option<LinkReport> {
        self.round.delivered += ack.newly;
        self.round.lost += ack.lost;
        if let Some(rtt) = ack.rtt {
            self.on_rtt(ack.now, rtt);
        }
        let sample = ack.sample?;
        self.least.in_flight = self.least.in_flight.max(sample.in_flight);
        let least = ack.min_rtt.unwrap_or_default();
        if let Some(rate) = sample.rate().filter(|_| sample.interval >= least) {
            let rate = (rate.bits_per_sec() / 8) as f64;
            if !sample.app_limited || rate >= self.bandwidth.max() {
                self.bandwidth.update(self.rounds, rate, BANDWIDTH_ROUNDS);
            }
        }
        if sample.prior_delivered < self.next_round {
            return None;
        }
        self.next_round = ack.delivered;
        self.rounds += 1;
        let mut least = std::mem::take(&mut self.least);
        least.rtt = least.rtt.filter(|_| self.samples >= MIN_SAMPLES);
        self.samples = 0;
        // The rate that the path has shown may be known better now than when the last round ended.
        let before = std::mem::replace(&mut self.last, least);
        self.learn(before);
        self.learn(least);
        Some(std::mem::take(&mut self.round))
    }

    fn on_rtt(&mut self, now: Instant, rtt: Duration) {
        if now.saturating_since(self.base_since) > BASE_SPAN {
            self.base = [None, self.base[0]];
            self.usual = [None, self.usual[0]];
            self.base_since = now;
        }
        self.base[0] = Some(self.base[0].map_or(rtt, |least| least.min(rtt)));
        self.least.rtt = Some(self.least.rtt.map_or(rtt, |least| least.min(rtt)));
        self.samples += 1;
    }

    /// Keeps what of this round is no queue of ours.
    fn learn(&mut self, least: Least) {
        let (Some(own), Some(base)) = (self.unexplained(least), self.base()) else { return };
        if own >= base + threshold(base) {
            self.usual[0] = Some(self.usual[0].map_or(own, |most| most.max(own)));
        }
    }

    /// What of a round is left without the queue that what was in flight may have made.
    fn unexplained(&self, least: Least) -> Option<Duration> {
        let (rtt, base) = (least.rtt?, self.base()?);
        let bandwidth = self.bandwidth.max();
        let carried = (bandwidth > 0.0).then(|| least.in_flight.as_f64() / bandwidth)?;
        let queue = Duration::from_secs_f64(carried).saturating_sub(base);
        Some(rtt.saturating_sub(queue))
    }

    /// What a round trip takes without a queue, if one was measured.
    pub(super) fn base(&self) -> Option<Duration> {
        self.base.into_iter().flatten().min()
    }

    /// What a round trip takes by itself when the path is slow.
    fn usual(&self) -> Option<Duration> {
        let most = self.usual.into_iter().flatten().max();
        Some(bounded(most.unwrap_or_default(), self.base()?))
    }

    /// The least round-trip time of this round, or of the last one while there are few.
    pub(super) fn latest(&self) -> Option<Duration> {
        if self.samples >= SAMPLES { self.least.rtt } else { self.last.rtt }
    }

    /// Whether a queue stands on the path: even the least round-trip time of a round is above what
    /// the path takes, and above what of it is no queue of ours.
    pub(super) fn queues(&self) -> bool {
        let rtt = self.latest();
        let in_flight = self.least.in_flight.max(self.last.in_flight);
        let own = self.unexplained(Least { rtt, in_flight }).unwrap_or_default();
        self.is_queue(rtt) && self.is_beyond(rtt, own)
    }

    /// Whether the first samples of this round rule a queue out.
    pub(super) fn is_clear(&self) -> bool {
        self.least.rtt.is_some() && !self.is_queue(self.least.rtt)
    }

    /// Nothing is known of a queue any more.
    pub(super) fn forget_queue(&mut self) {
        (self.least, self.last, self.samples) = (Least::default(), Least::default(), 0);
    }

    /// Whether one stood throughout the last round.
    pub(super) fn queued(&self) -> bool {
        self.is_queue(self.last.rtt)
    }

    /// Whether a round with this least round-trip time shows a queue, as far as is known by now.
    pub(super) fn is_queue(&self, rtt: Option<Duration>) -> bool {
        self.usual().is_some_and(|usual| self.is_beyond(rtt, usual))
    }

    /// Whether a queue lies between `rtt` and `own`, which is the path's within bounds.
    fn is_beyond(&self, rtt: Option<Duration>, own: Duration) -> bool {
        let (Some(rtt), Some(base)) = (rtt, self.base()) else { return false };
        rtt >= bounded(own, base).max(MIN_BASE) + threshold(base)
    }

    /// What a round trip over an empty path takes, or what it may take.
    pub(super) fn held_base(&self) -> Option<Duration> {
        Some(self.base()?.max(MIN_BASE))
    }

    /// What the path holds without a queue of ours, in bytes, if that is known.
    pub(super) fn product(&self) -> Option<Bytes> {
        let bytes = self.bandwidth.max() * self.usual()?.max(MIN_BASE).as_secs_f64();
        (bytes > 0.0).then_some(Bytes::from_f64(bytes))
    }
}

/// By how much a queue makes a round trip longer that takes `base` without one.
fn threshold(base: Duration) -> Duration {
    (base / QUEUE_DIVISOR).clamp(MIN_QUEUE, MAX_QUEUE)
}

/// `own` as far as it may be a path's whose least round trip is `base`.
fn bounded(own: Duration, base: Duration) -> Duration {
    own.clamp(base, base + (base / JITTER_DIVISOR).max(MIN_JITTER))
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack_event;
    use super::*;
    use crate::tcp::delivery_rate::RateSample;

    /// A round of `count` segments of 1000 bytes, a millisecond apart, of which every tenth has a
    /// round-trip time of `least` milliseconds and the others one of 60 more.
    fn round(
        signs: &mut PathSigns,
        delivered: &mut u64,
        count: u64,
        least: u64,
    ) -> Option<LinkReport> {
        let prior_delivered = *delivered;
        let mut over = None;
        for i in 0..count {
            *delivered += 1000;
            let rtt = Duration::from_millis(if i % 10 == 0 { least } else { least + 60 });
            let sample = RateSample {
                delivered: Bytes::new(1000 * count),
                interval: Duration::from_millis(200),
                prior_delivered: Bytes::new(prior_delivered),
                lost: Bytes::ZERO,
                in_flight: Bytes::new(1000 * count),
                app_limited: false,
                sent_at: Instant::ZERO,
            };
            over = over.or(signs.on_ack(&AckEvent {
                delivered: Bytes::new(*delivered),
                lost: if i == 3 { Bytes::new(1000) } else { Bytes::ZERO },
                sample: Some(sample),
                rtt: Some(rtt),
                ..ack_event(Instant::from_millis(*delivered / 1000))
            }));
        }
        over
    }

    #[test]
    fn a_queue_is_what_even_the_min_round_trip_time_of_a_round_shows() {
        let (mut signs, mut delivered) = (PathSigns::default(), 0);
        assert_eq!((signs.queues(), signs.product()), (false, None));
        for _ in 0..3 {
            round(&mut signs, &mut delivered, 40, 100);
            assert!(!signs.queues(), "jitter is no queue");
        }
        // 40 KB in 200 ms, of which 100.
        assert_eq!(signs.product(), Some(Bytes::new(20_000)));
        // An eighth of 100 ms is.
        round(&mut signs, &mut delivered, 40, 111);
        assert!(!signs.queues());
        round(&mut signs, &mut delivered, 40, 113);
        assert!(signs.queues() && !signs.queued(), "in this round");
        round(&mut signs, &mut delivered, 40, 113);
        assert!(signs.queued());
        signs.forget_queue();
        assert!(!signs.queues() && !signs.queued());
        // What lasts is the path's own, in the end.
        for _ in 0..2000 {
            round(&mut signs, &mut delivered, 40, 113);
        }
        assert!(!signs.queues());
    }

    #[test]
    fn a_longer_round_with_little_in_flight_is_the_paths_own() {
        let (mut signs, mut delivered) = (PathSigns::default(), 0);
        let mut rounds = |signs: &mut PathSigns, count, least| {
            round(signs, &mut delivered, count, least);
            round(signs, &mut delivered, count, least);
        };
        rounds(&mut signs, 40, 100);
        rounds(&mut signs, 40, 118);
        assert!(signs.queued(), "what is in flight explains a queue of up to 100 ms");
        rounds(&mut signs, 20, 118);
        assert!(!signs.queued(), "half of it explains none");
        rounds(&mut signs, 40, 128);
        assert!(!signs.queued() && !signs.queues());
        rounds(&mut signs, 40, 132);
        assert!(signs.queued() && signs.queues(), "an eighth more than usual");
        // A quarter of what the path takes at least, and no more, may be its own.
        rounds(&mut signs, 20, 180);
        assert!(signs.queued());
        rounds(&mut signs, 40, 136);
        assert!(!signs.queued());
        assert_eq!(signs.product(), Some(Bytes::new(25_000)));
    }

    #[test]
    fn the_delayed_acknowledgment_of_a_lone_segment_is_no_queue() {
        let (mut signs, mut delivered) = (PathSigns::default(), 0);
        round(&mut signs, &mut delivered, 40, 100);
        for _ in 0..5 {
            round(&mut signs, &mut delivered, 1, 140);
            assert!(!signs.queued());
        }
        round(&mut signs, &mut delivered, 2, 140);
        round(&mut signs, &mut delivered, 2, 140);
        assert!(signs.queued(), "but two are");
    }

    #[test]
    fn a_round_tells_what_was_lost_in_it() {
        let (mut signs, mut delivered) = (PathSigns::default(), 0);
        round(&mut signs, &mut delivered, 40, 100);
        // Its first acknowledgment ends the round before.
        let seen = round(&mut signs, &mut delivered, 50, 100).unwrap();
        assert_eq!(
            seen,
            LinkReport {
                delivered: Bytes::new(40_000),
                lost: Bytes::new(1000),
                ..LinkReport::default()
            }
        );
        assert!((seen.loss() - 1.0 / 41.0).abs() < 1e-9);
    }

    #[test]
    fn chance_explains_little_of_much() {
        let round = |lost: u64| LinkReport {
            delivered: Bytes::new(1000 * (400 - lost)),
            lost: Bytes::new(1000 * lost),
            ..LinkReport::default()
        };
        assert!(
            !round(3).loses_more_than(0.0, 0.0, Bytes::new(1000))
                && round(4).loses_more_than(0.0, 0.0, Bytes::new(1000))
        );
        assert!(!round(11).loses_more_than(0.0, 0.02, Bytes::new(1000)));
        assert!(round(12).loses_more_than(0.0, 0.02, Bytes::new(1000)));
        // Of a twentieth, 20 are expected, and 33 are three standard deviations more.
        assert!(!round(33).loses_more_than(0.05, 0.0, Bytes::new(1000)));
        assert!(round(35).loses_more_than(0.05, 0.0, Bytes::new(1000)));
        assert!(!LinkReport::default().loses_more_than(0.0, 0.0, Bytes::new(1000)));
    }
}
