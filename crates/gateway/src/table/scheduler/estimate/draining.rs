//! Drains of the link, which tell a queue from the path's own round trip.
//!
//! To see a round trip without a queue, the queue is taken out and a little more. Each drain costs
//! what it takes out twice: what was not sent is not acknowledged a round trip later. If round
//! trips are longer all the same, less of what the path holds stays in flight. At last nearly
//! nothing does: another pair's window does not fill the link alone.
//!
//! Flows that hurry do not wait for that: what they send is hardly anything, and nobody waits for
//! it a quarter of a round trip.

use super::segment::SEGMENT;
use bentpipe_core::time::{Duration, Instant};

/// How much of what the path holds stays in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Depth {
    /// Nearly all: the queue is gone if it was ours, and as short as it should be.
    Queue,
    /// A part that shows a queue that was held to be the path's.
    Part,
    /// Nearly nothing.
    All,
}

impl Depth {
    /// The part that stays.
    fn kept(self) -> f64 {
        match self {
            Depth::Queue => 0.95,
            Depth::Part => 0.75,
            Depth::All => 0.1,
        }
    }

    /// By what part of that more may be in flight.
    fn tolerance(self) -> f64 {
        0.1_f64.min((1.0 - self.kept()) / 2.0)
    }

    /// What flows in a hurry may add where the path holds so many bytes: no more than passes for
    /// drained.
    fn spare(self, product: f64) -> f64 {
        SEGMENT + product * self.kept() * self.tolerance().min(SPARE)
    }

    /// The next one, if this one has not shown the path's own round trip.
    fn deeper(self) -> Option<Depth> {
        match self {
            Depth::Queue => Some(Depth::Part),
            Depth::Part => Some(Depth::All),
            Depth::All => None,
        }
    }
}

/// What leaves in one turn: hardly anything on any link.
const TURN: f64 = 2.0 * SEGMENT;

/// The part of what stays in flight that flows in a hurry may add to it at most.
const SPARE: f64 = 0.05;

/// The link is drained for so many rounds at most, and for twice what its queue takes.
const ROUNDS: u32 = 6;

/// It is when for so long, in seconds and in round trips, none was without a queue.
const AFTER: f64 = 10.0;
const AFTER_ROUNDS: f64 = 30.0;

/// And when the queue has been too long for so many rounds in a row; not sooner than so long after
/// the last time.
const LONG_ROUNDS: u32 = 4;
const APART: f64 = 2.0;
const APART_ROUNDS: f64 = 8.0;

/// A drain takes no longer than so many seconds.
const MAX: f64 = 600.0;

/// A drain that is under way.
#[derive(Debug, Clone, Copy)]
struct Drain {
    /// For so many rounds at most.
    rounds: u32,
    depth: Depth,
    /// Bytes that flows in a hurry may add to that.
    spare: f64,
    /// What round trips were longer with more than that.
    longer: f64,
    /// It is given up then: little may arrive while others fill the link.
    until: Instant,
}

/// What a drain has shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shown {
    /// What was in flight has not left.
    Nothing,
    /// The path's own round trip.
    NoQueue,
    /// Round trips that are this much longer, in seconds, though hardly anything is in flight; and
    /// by how much that has changed since the first part.
    Longer(f64, f64),
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Draining {
    drain: Option<Drain>,
    /// When the link last was drained, and when a round trip without a queue was last seen.
    last: Instant,
    clear: Instant,
}

impl Draining {
    /// None yet.
    pub(super) fn new() -> Draining {
        Draining { drain: None, last: Instant::ZERO, clear: Instant::ZERO }
    }

    /// The part of what the path holds that is in flight, while a drain is under way.
    pub(super) fn kept(&self) -> Option<f64> {
        self.drain.map(|drain| drain.depth.kept())
    }

    /// Whether nearly nothing stays: what is delivered then says nothing of the link.
    pub(super) fn is_all(&self) -> bool {
        self.drain.is_some_and(|drain| drain.depth == Depth::All)
    }

    /// Bytes that flows in a hurry may still add to that.
    pub(super) fn spare(&self) -> f64 {
        self.drain.map_or(0.0, |drain| drain.spare)
    }

    /// They have added so many.
    pub(super) fn note_added(&mut self, bytes: f64) {
        if let Some(drain) = &mut self.drain {
            drain.spare -= bytes;
        }
    }

    /// A round trip without a queue was seen.
    pub(super) fn note_clear(&mut self, now: Instant) {
        self.clear = now;
    }

    /// Whether none was seen for long, where one takes `base` seconds.
    pub(super) fn is_unseen(&self, now: Instant, base: f64) -> bool {
        seconds(now, self.clear) > AFTER.max(AFTER_ROUNDS * base)
    }

    /// Whether the queue was too `long` for so many rounds that a drain has to tell whose it is.
    pub(super) fn is_doubtful(&self, now: Instant, base: f64, long: u32, suspects: bool) -> bool {
        (suspects || long >= LONG_ROUNDS)
            && seconds(now, self.last) > APART.max(APART_ROUNDS * base)
    }

    /// Begins a drain of a queue of so many seconds, where a round takes `span` and the path holds
    /// `product` bytes.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        depth: Depth,
        queue: f64,
        span: f64,
        product: f64,
    ) {
        let rounds = ROUNDS.saturating_add((2.0 * queue.max(0.0) / span) as u32);
        let longest = 2.0 * f64::from(ROUNDS.saturating_add(rounds)) * (span + queue.max(0.0));
        let until = now + Duration::from_secs_f64(longest.min(MAX));
        let spare = depth.spare(product);
        self.drain = Some(Drain { rounds, depth, spare, longer: 0.0, until });
    }

    /// Gives up one that takes too long. Whether it did.
    pub(super) fn give_up(&mut self, now: Instant) -> bool {
        let is_late = self.drain.is_some_and(|drain| now > drain.until);
        if is_late {
            self.drain = None;
            (self.last, self.clear) = (now, now);
        }
        is_late
    }

    /// Another round of the drain that is under way, in which at most `peak` bytes were in flight
    /// and round trips were `longer`, in seconds, than they are without a queue; as long as
    /// `threshold` is a queue. The path holds `product` bytes, which become fewer while a queue
    /// that passed for the path's drains. What it has shown, if it is over.
    pub(super) fn go_on(
        &mut self,
        now: Instant,
        product: f64,
        peak: f64,
        longer: f64,
        threshold: f64,
    ) -> Option<Shown> {
        let drain = self.drain?;
        let Drain { rounds, depth, longer: before, .. } = drain;
        let drained = peak <= product * depth.kept() * (1.0 + depth.tolerance()) + TURN;
        if !drained && rounds > 0 {
            self.drain = Some(Drain { rounds: rounds - 1, ..drain });
            return None;
        }
        let deeper = depth.deeper().filter(|_| drained && longer > threshold);
        if let Some(depth) = deeper {
            let spare = depth.spare(product);
            self.drain = Some(Drain { rounds: ROUNDS, depth, spare, longer, ..drain });
            return None;
        }
        self.drain = None;
        (self.last, self.clear) = (now, now);
        Some(match (drained, longer > threshold) {
            (false, _) => Shown::Nothing,
            (true, false) => Shown::NoQueue,
            (true, true) => Shown::Longer(longer, longer - before),
        })
    }
}

/// Seconds since a moment.
pub(super) fn seconds(now: Instant, since: Instant) -> f64 {
    now.saturating_since(since).as_secs_f64()
}
