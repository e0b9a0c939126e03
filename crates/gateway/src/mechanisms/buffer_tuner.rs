//! How much a stream may hold: it follows what the far host takes.
//!
//! Towards the far host a bandwidth-delay product is in flight, and as much again waits to replace
//! what is lost; from the near host as much is on its way as its own round trip takes. So a stream
//! gets twice what it delivers in both round trips. It gets four times as much where more than one
//! byte in a hundred is lost on either leg (Henderson, 4.3.1, counts two to three bandwidth-delay
//! products), or where the near host is the more distant one: what it sends arrives a round trip
//! after it was promised, and a single loss holds up what arrives in another. There it grows while
//! a round lasts that brings more than those before, also by what lies behind a hole.
//! A reader that stops leaves behind what was promised before: what it took, or what fills a known
//! link. What it never exceeds follows from the link (`config::stream`), or from the operator.
//! Where the link is not known, that is measured: what is delivered in the round trip as it was
//! when nothing waited in the link's queues. A sender that fills these finds its round trip longer,
//! and gets no more by that.
//!
//! As in dynamic right-sizing (Fisk and Feng, 2001) the window must not be what holds back a sender
//! that doubles its own.
//! It grows at once. It shrinks when it has delivered less for several rounds, as a loss holds up
//! what follows it, and by a quarter a round; right edges that were promised stay.

use crate::config::{StreamLimit, with_a_quarter};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};
use serde::{Deserialize, Serialize};

/// What a stream may hold in any case, memory allowing, in bytes: what a window of 64 KB, the most
/// without scaling, takes.
const MIN: Bytes = Bytes::new(64_000);

/// What a host sends at once when it begins (RFC 6928), in bytes, rounded up.
const INITIAL_WINDOW: Bytes = Bytes::new(16_000);

/// The share of bytes lost above which a stream is given more room.
const LOSSY: f64 = 0.01;

/// How long a near host waits at most until what is held for it has gone: less than any
/// application's patience with a write.
const MAX_HOLD: Duration = Duration::from_secs(10);

/// A stream from the more distant host that delivers more than before holds so many times as much:
/// a gateway may quadruple its window in a round trip, and an opening is announced when it is a
/// quarter of the window.
const BEGINNING: u64 = 6;

/// Rounds of which the best one counts.
const ROUNDS: usize = 4;

/// Bytes over which that share is taken; what is older counts half.
const LOSS_MEMORY: Bytes = Bytes::new(1 << 20);

/// What one stream may hold.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct BufferTuner {
    capacity: Bytes,
    limits: StreamLimit,
    /// What it may hold at most, as far as has been measured.
    max: Bytes,
    /// The same before it has delivered anything.
    #[serde(skip)]
    promised: Bytes,
    /// What a round may bring, as long as few have shown that.
    #[serde(skip)]
    expected: Bytes,
    /// What it may hold at most while a hole is repaired, by what its link may bring.
    #[serde(skip)]
    repairing: Bytes,
    /// When the present round began, and what had been delivered then.
    round: (Instant, Offset),
    /// Bytes delivered in the latest rounds, the newest first.
    rounds: [Bytes; ROUNDS],
    /// When something was delivered last.
    last: Instant,
    /// Bytes delivered and bytes lost of late, and all that had been retransmitted.
    delivered: Bytes,
    lost: Bytes,
    retransmitted_before: Bytes,
    hold: Hold,
}

/// Whether the near host's window may open.
///
/// Where the far host has closed its window for long, what is held goes first when it opens again,
/// and the near host waits for that, for a while. For the far one may be a peer gateway which does
/// not hear its own host, because that host's acknowledgments take another path: they reach the
/// near host, and mean something to it only when all has arrived that we have acknowledged to it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Hold {
    /// It may; if the far host closes its window, it will wait.
    Ready,
    /// It does not until then.
    Until(Instant),
    /// It may, and does not wait again before all is delivered.
    Spent,
}

/// What is known of a stream when its far host has acknowledged something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observed {
    pub(crate) now: Instant,
    /// The round trip of the leg that the stream comes from, and of the one that it feeds.
    pub(crate) round_trips: [Duration; 2],
    /// The least sum of both that was measured.
    pub(crate) min_round_trip: Duration,
    /// One past the last byte that the far host has acknowledged.
    pub(crate) delivered: Offset,
    /// All bytes that were retransmitted to it.
    pub(crate) retransmitted: Bytes,
}

impl BufferTuner {
    /// A stream that begins with `start` bytes.
    pub(crate) fn new(now: Instant, start: Bytes, limits: StreamLimit) -> BufferTuner {
        BufferTuner {
            capacity: start.max(MIN).min(limits.min),
            promised: start,
            expected: Bytes::ZERO,
            repairing: Bytes::ZERO,
            limits,
            max: limits.min,
            round: (now, Offset::FIRST),
            rounds: [Bytes::ZERO; ROUNDS],
            last: now,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            retransmitted_before: Bytes::ZERO,
            hold: Hold::Ready,
        }
    }

    /// The same stream, which may hold `promised` bytes before it has shown what it delivers.
    pub(crate) fn promising(self, promised: Bytes) -> BufferTuner {
        BufferTuner { promised, ..self }
    }

    /// The most that was delivered in one of the latest rounds, in bytes.
    fn best(&self) -> Bytes {
        self.rounds.iter().max().copied().unwrap_or(Bytes::ZERO)
    }

    /// What a round brings, or may bring as far as is known, in bytes.
    pub(crate) fn coming(&self) -> Bytes {
        self.best().max(self.expected)
    }

    /// What it may hold at most, in bytes.
    pub(crate) fn max(&self) -> Bytes {
        self.max
    }

    /// The far host's window has been closed for long: the near one's opens no further for a while.
    pub(crate) fn hold(&mut self, now: Instant) {
        if matches!(self.hold, Hold::Ready) {
            self.hold = Hold::Until(now + MAX_HOLD);
        }
    }

    /// Whether the near host's window is not to open.
    pub(crate) fn is_held(&self) -> bool {
        matches!(self.hold, Hold::Until(_))
    }

    /// Until when.
    pub(crate) fn held_until(&self) -> Option<Instant> {
        match self.hold {
            Hold::Until(until) => Some(until),
            Hold::Ready | Hold::Spent => None,
        }
    }

    /// Lets the window open again if it is time.
    pub(crate) fn end_hold(&mut self, now: Instant) -> Option<()> {
        self.held_until().filter(|until| *until <= now)?;
        self.hold = Hold::Spent;
        Some(())
    }

    /// All that there was has been delivered: the near host may be made to wait again.
    pub(crate) fn all_delivered(&mut self) {
        self.hold = Hold::Ready;
    }

    /// What the stream may hold now, in bytes.
    pub(crate) fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// The stream was empty and is not any more. If that took longer than a round trip, the time
    /// does not count.
    pub(crate) fn begin(&mut self, now: Instant, round_trip: Duration, delivered: Offset) {
        if now.saturating_since(self.last) > round_trip {
            self.round = (now, delivered);
        }
    }

    /// The stream begins in mid-life: so much was delivered before.
    pub(crate) fn begin_at(&mut self, delivered: Offset) {
        self.round.1 = delivered;
    }

    /// So many bytes may come in a round trip: twice that is promised, and a quarter more. While a
    /// retransmission that was lost is repaired, as many once more come.
    pub(crate) fn expect(&mut self, product: Bytes) {
        let round = with_a_quarter(product.count());
        self.repairing = (round * 3).min(self.limits.max);
        let bytes = (round * 2).min(self.promised).min(self.limits.max);
        self.max = self.max.max(bytes);
        self.grow(bytes);
    }

    /// A round will bring so many bytes, until some have shown what they bring.
    pub(crate) fn expect_round(&mut self, bytes: Bytes) {
        if self.rounds[ROUNDS - 1].is_zero() {
            self.expected = bytes;
        }
    }

    /// What comes from the near host misses `bytes` more.
    pub(crate) fn note_holes(&mut self, bytes: Bytes) {
        self.lost += bytes;
    }

    /// The far host has acknowledged something.
    pub(crate) fn on_delivered(&mut self, observed: &Observed) {
        let Observed { now, round_trips: [from, to], min_round_trip, delivered, retransmitted } =
            *observed;
        let round_trip = from + to;
        let unqueued = min_round_trip.as_secs_f64() / round_trip.as_secs_f64();
        self.last = now;
        let (began, delivered_then) = self.round;
        let elapsed = now.saturating_since(began);
        let bytes = delivered - delivered_then;
        if elapsed < round_trip || elapsed.is_zero() {
            if self.is_beginning(bytes) {
                self.max = self.max.max(self.measured(BEGINNING * bytes, unqueued));
                if from > to {
                    self.grow(BEGINNING * bytes);
                }
            }
            return;
        }
        let beginning = self.is_beginning(bytes);
        self.round = (now, delivered);
        self.delivered += bytes;
        self.lost += retransmitted - self.retransmitted_before;
        self.retransmitted_before = retransmitted;
        if self.delivered > LOSS_MEMORY {
            self.delivered /= 2;
            self.lost /= 2;
        }
        let per_round =
            Bytes::from_f64(bytes.as_f64() * (round_trip.as_secs_f64() / elapsed.as_secs_f64()));
        let lossy = self.lost.as_f64() > LOSSY * self.delivered.as_f64();
        self.rounds.rotate_right(1);
        self.rounds[0] = per_round;
        self.expected /= 2;
        // Where the longer round trip is that to the near host, what comes in the next one must
        // have been promised in this one, and what a loss holds up waits here for as long.
        let rounds = if lossy || from > to { 4 } else { 2 };
        let best = self.best();
        let needed = if beginning { BEGINNING } else { rounds } * best;
        self.max = self.measured(needed, unqueued);
        let wanted = (rounds * best).min(self.max);
        if wanted < self.capacity {
            let min = MIN.min(self.max);
            self.capacity = wanted.max(self.capacity - self.capacity / 4).max(min);
        } else {
            self.grow(wanted);
        }
    }

    /// So many bytes are in flight to the far host: as many may wait behind them, and what a host
    /// that begins needs. So a sender that doubles its window each round trip is not held up here,
    /// nor one whose host has `sacked` bytes behind a hole, which waits for a retransmission that
    /// was lost.
    pub(crate) fn keep_ahead(&mut self, in_flight: Bytes, sacked: Bytes) {
        self.repair(2 * in_flight + sacked + INITIAL_WINDOW, sacked);
    }

    /// `out_of_order` bytes from a distant host lie behind a hole, `held` of them have come, and so
    /// many are in flight to the far one. They are delivered when the hole is filled, a round trip
    /// later; until then arrives what the next round brings.
    pub(crate) fn bridge(&mut self, in_flight: Bytes, out_of_order: Bytes, held: Bytes) {
        if self.is_beginning(out_of_order) {
            self.grow(in_flight + out_of_order + BEGINNING * out_of_order);
        }
        self.repair(in_flight + 2 * held + held / 2, held);
    }

    /// It may hold `wanted` bytes, as so many lie behind a hole: they have come, whatever was
    /// promised at first.
    fn repair(&mut self, wanted: Bytes, behind: Bytes) {
        if !behind.is_zero() {
            self.max = self.max.max(wanted.min(self.repairing));
        }
        self.grow(wanted);
    }

    /// Whether a round that brings so many bytes brings a quarter more than those before.
    fn is_beginning(&self, bytes: Bytes) -> bool {
        let best = self.best();
        bytes > best + best / 4
    }

    /// What the link needs, where a round of which so much is no queue's brings a stream to
    /// `needed` bytes.
    fn measured(&self, needed: Bytes, unqueued: f64) -> Bytes {
        let needed = Bytes::from_f64(needed.as_f64() * unqueued.min(1.0));
        needed.clamp(self.limits.min, self.limits.max)
    }

    /// It may hold `wanted` bytes from now on, if it may not already hold more.
    fn grow(&mut self, wanted: Bytes) {
        self.capacity = self.capacity.max(wanted.min(self.max));
    }
}

#[cfg(test)]
mod tests;
