//! Input queue management: a stream with a backlog discards a segment now and then, so that its
//! sender slows down before the window makes it.
//!
//! bharadwaj-2001, 3.2, discards one as soon as a backlog begins to build; bharadwaj-1999, 3.1, has
//! a queue management similar to RED, which here is RED (Floyd and Jacobson 1993, gentle) over the
//! bytes that have arrived and not been sent on. Either discards only what is in order, never while
//! something waits behind a hole, and never two in one window, so that no sender loses more than
//! its fast retransmission can repair. What was acknowledged is never touched: a discarded segment
//! is one that the network lost.
//!
//! The papers give no thresholds. Both begin at a quarter of the room that is left beside what is
//! in flight, and RED's upper one is half of it.
//!
//! A discard alone shortens no queue: a sender that is 2 ms away repairs the loss in as much time
//! and still fills whatever window it is offered. (One in a window shortened the queue of a 384
//! kbit/s link by less than 1 %, one in two segments by 4 %.) So the window also follows, as in
//! bharadwaj-1999: it stops opening where the backlog reaches the threshold, RED's upper one there.

use crate::config::Discard;
use bentpipe_core::link::{QueueLimit, RedConfig};
use bentpipe_core::units::{Bytes, Offset, Probability};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// Nothing is discarded while so many segments wait, or fewer (as in RED).
const MIN_SEGMENTS: u64 = 2;

/// Weight of the newest sample in the mean: a queue of some tens of segments follows its senders
/// within as many arrivals.
const WEIGHT: f64 = 1.0 / 32.0;

/// What one stream's discards go by.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Aqm {
    mode: Discard,
    /// Nothing that begins below is discarded: the right edge as it stood at the last discard.
    not_before: Offset,
    /// The hole that a discard leaves has not shown yet.
    leaves_hole: bool,
    /// The mean backlog in segments, and the arrivals since the last discard.
    average: f64,
    count: f64,
    rng: Pcg64Mcg,
}

/// A stream at the moment when a segment arrives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backlog {
    /// Bytes that have not been sent on.
    pub(crate) bytes: Bytes,
    /// The most that this may be.
    pub(crate) room: Bytes,
    /// A full segment, in bytes.
    pub(crate) segment: Bytes,
}

/// A segment in order, with nothing behind a hole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offered {
    /// Its first byte.
    pub(crate) start: Offset,
    /// Its length in bytes.
    pub(crate) len: Bytes,
    /// The right edge of the window.
    pub(crate) edge: Offset,
    /// What the stream may hold.
    pub(crate) capacity: Bytes,
}

impl Backlog {
    /// Below this, in bytes, nothing is discarded.
    fn threshold(&self) -> Bytes {
        (self.room / 4).max(MIN_SEGMENTS * self.segment)
    }
}

impl Aqm {
    /// For a stream, if there is anything to do. Runs repeat: the same `seed` meets the same
    /// chance.
    pub(crate) fn new(mode: Discard, seed: u64) -> Option<Box<Aqm>> {
        (mode != Discard::Off).then(|| Box::new(Aqm::fresh(mode, seed)))
    }

    /// How many bytes at the beginning of a segment are discarded: none, or one wire segment.
    pub(crate) fn discards(&mut self, offered: Offered, backlog: Backlog) -> usize {
        let Offered { start, len, edge, capacity } = offered;
        if !self.strikes(start, backlog) {
            return 0;
        }
        self.not_before = edge.max(start + capacity);
        self.leaves_hole = true;
        // Of a super-segment only the first: two in one window would be too many.
        len.min(backlog.segment).as_len()
    }

    /// How far the window may open, whose stream may hold up to `limit` and has been sent on up to
    /// `snd_nxt`: where the backlog is to stay short, only as long as it is.
    pub(crate) fn edge(&self, limit: Offset, snd_nxt: Offset, backlog: Backlog) -> Offset {
        let max = match self.mode {
            Discard::Off => return limit,
            Discard::Single => backlog.threshold(),
            Discard::RandomEarly => 2 * backlog.threshold(),
        };
        limit.min(snd_nxt + max)
    }

    /// Of `holes` that have come up in what arrives, those that the network has made.
    pub(crate) fn network_holes(&mut self, holes: usize) -> usize {
        if holes > 0 && self.leaves_hole {
            self.leaves_hole = false;
            return holes - 1;
        }
        holes
    }

    fn fresh(mode: Discard, seed: u64) -> Aqm {
        Aqm {
            mode,
            not_before: Offset::SYN,
            leaves_hole: false,
            average: 0.0,
            count: 0.0,
            rng: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Whether the next segment, whose bytes begin at `start`, goes to waste.
    fn strikes(&mut self, start: Offset, backlog: Backlog) -> bool {
        let strikes = match self.mode {
            Discard::Off => false,
            Discard::Single => backlog.bytes > backlog.threshold(),
            Discard::RandomEarly => self.strikes_at_random(backlog),
        };
        strikes && start >= self.not_before
    }

    fn strikes_at_random(&mut self, backlog: Backlog) -> bool {
        let threshold = backlog.threshold();
        let segments = |bytes: Bytes| bytes.as_f64() / backlog.segment.as_f64();
        self.average += WEIGHT * (segments(backlog.bytes) - self.average);
        let red = RedConfig {
            limit: QueueLimit::Unlimited,
            min_threshold: segments(threshold),
            max_threshold: 2.0 * segments(threshold),
            weight: WEIGHT,
            max_p: Probability::new(0.1).unwrap_or_default(),
            mean_packet: backlog.segment,
            gentle: true,
            ..RedConfig::default()
        };
        let probability = red.probability(self.average);
        if probability <= 0.0 {
            self.count = 0.0;
            return false;
        }
        self.count += 1.0;
        let strikes = self.rng.random::<f64>() < red.spread(probability, self.count);
        if strikes {
            self.count = 0.0;
        }
        strikes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(segments: u64) -> Backlog {
        Backlog {
            bytes: Bytes::new(1000 * segments),
            room: Bytes::new(80_000),
            segment: Bytes::new(1000),
        }
    }

    #[test]
    fn a_single_discard_waits_for_a_quarter_of_the_room_and_for_its_window() {
        let mut single = Aqm::fresh(Discard::Single, 1);
        assert!(!single.strikes(Offset::FIRST, backlog(20)));
        assert!(single.strikes(Offset::FIRST, backlog(21)));
        single.not_before = Offset::new(50_000);
        assert!(!single.strikes(Offset::new(49_999), backlog(60)));
        assert!(single.strikes(Offset::new(50_000), backlog(60)));
        let small =
            Backlog { bytes: Bytes::new(1900), room: Bytes::new(2000), segment: Bytes::new(1000) };
        assert!(!single.strikes(Offset::new(60_000), small), "two segments are no backlog");
    }

    #[test]
    fn early_discards_follow_the_mean_and_not_a_burst() {
        let mut early = Aqm::fresh(Discard::RandomEarly, 1);
        let struck = |early: &mut Aqm, segments, arrivals: u32| {
            (0..arrivals).filter(|_| early.strikes(Offset::FIRST, backlog(segments))).count()
        };
        // A burst beyond the upper threshold, from a queue that was empty.
        assert_eq!(struck(&mut early, 50, 8), 0);
        assert_eq!(struck(&mut early, 0, 500), 0);
        // Half-way between the thresholds, one in 1.5 / (max_p / 2).
        assert_eq!(struck(&mut early, 19, 1_000), 0);
        struck(&mut early, 30, 500);
        let halfway = struck(&mut early, 30, 3_000);
        assert!((80..=120).contains(&halfway), "{halfway}");
        struck(&mut early, 79, 500);
        assert_eq!(struck(&mut early, 79, 1_000), 500, "every second where p is nearly one");
    }
}
