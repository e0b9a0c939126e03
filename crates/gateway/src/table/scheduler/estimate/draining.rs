//! Drains of the link, which tell a queue from the path's own round trip.
//!
//! First a part of what the path holds stays in flight. If round trips are as long as before,
//! nearly nothing does: another pair's window does not fill the link alone.
//!
//! Flows that hurry do not wait for that: what they send is hardly anything, and nobody waits for
//! it a quarter of a round trip.

use super::segment::SEGMENT;
use bentpipe_core::time::{Duration, Instant};

/// The part of what the path holds that is in flight at first, and then.
const DRAINED: f64 = 0.75;
const NEARLY_EMPTY: f64 = 0.1;

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

/// The part of what stays in flight that flows in a hurry may add to it: half of what more passes
/// for drained.
const SPARE: f64 = 0.05;

/// A drain takes no longer than so many seconds.
const MAX: f64 = 600.0;

/// A drain that is under way.
#[derive(Debug, Clone, Copy)]
struct Drain {
    /// For so many rounds at most.
    rounds: u32,
    /// The part of what the path holds that is in flight then.
    kept: f64,
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
        self.drain.map(|drain| drain.kept)
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
    /// `product` bytes; `deeply`, if a part of it would tell nothing.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        queue: f64,
        span: f64,
        product: f64,
        deeply: bool,
    ) {
        let rounds = ROUNDS.saturating_add((2.0 * queue.max(0.0) / span) as u32);
        let longest = 2.0 * f64::from(ROUNDS.saturating_add(rounds)) * (span + queue.max(0.0));
        let until = now + Duration::from_secs_f64(longest.min(MAX));
        let kept = if deeply { NEARLY_EMPTY } else { DRAINED };
        let spare = spare(product * kept);
        self.drain = Some(Drain { rounds, kept, spare, longer: 0.0, until });
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
    /// `threshold` is a queue. What it has shown, if it is over.
    pub(super) fn go_on(
        &mut self,
        now: Instant,
        product: f64,
        peak: f64,
        longer: f64,
        threshold: f64,
    ) -> Option<Shown> {
        let drain = self.drain?;
        let Drain { rounds, kept, longer: before, .. } = drain;
        let drained = peak <= product * kept * 1.1 + SEGMENT;
        if !drained && rounds > 0 {
            self.drain = Some(Drain { rounds: rounds - 1, ..drain });
            return None;
        }
        if drained && longer > threshold && kept > NEARLY_EMPTY {
            // Or others fill it, who would take this for the path's, too, and so on.
            let (kept, spare) = (NEARLY_EMPTY, spare(product * NEARLY_EMPTY));
            self.drain = Some(Drain { rounds: ROUNDS, kept, spare, longer, ..drain });
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

/// What may be added to so many bytes that stay in flight.
fn spare(kept: f64) -> f64 {
    SEGMENT + kept * SPARE
}

/// Seconds since a moment.
pub(super) fn seconds(now: Instant, since: Instant) -> f64 {
    now.saturating_since(since).as_secs_f64()
}
