//! Drains of the link, which tell a queue from the path's own round trip.
//!
//! First a part of what the path holds stays in flight. If round trips are as long as before,
//! nearly nothing does: another pair's window does not fill the link alone.

use super::SEGMENT;
use bentpipe_core::time::Instant;

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

/// A drain that is under way.
#[derive(Debug, Clone, Copy)]
struct Drain {
    /// For so many rounds at most.
    rounds: u32,
    /// The part of what the path holds that is in flight then.
    kept: f64,
}

/// What a drain has shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shown {
    /// What was in flight has not left.
    Nothing,
    /// The path's own round trip.
    NoQueue,
    /// Round trips that are this much longer, in seconds, though hardly anything is in flight.
    Longer(f64),
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

    /// A round trip without a queue was seen.
    pub(super) fn note_clear(&mut self, now: Instant) {
        self.clear = now;
    }

    /// Whether none was seen for long, where one takes `base` seconds.
    pub(super) fn is_unseen(&self, now: Instant, base: f64) -> bool {
        seconds(now, self.clear) > AFTER.max(AFTER_ROUNDS * base)
    }

    /// Whether the queue was too `long` for so many rounds that a drain has to tell whose it is.
    pub(super) fn is_doubtful(&self, now: Instant, base: f64, long: u32) -> bool {
        long >= LONG_ROUNDS && seconds(now, self.last) > APART.max(APART_ROUNDS * base)
    }

    /// Begins a drain of a queue of so many seconds, where a round takes `span`.
    pub(super) fn begin(&mut self, queue: f64, span: f64) {
        let rounds = ROUNDS.saturating_add((2.0 * queue.max(0.0) / span) as u32);
        self.drain = Some(Drain { rounds, kept: DRAINED });
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
        let Drain { rounds, kept } = self.drain?;
        let drained = peak <= product * kept * 1.1 + SEGMENT;
        if !drained && rounds > 0 {
            self.drain = Some(Drain { rounds: rounds - 1, kept });
            return None;
        }
        if drained && longer > threshold && kept > NEARLY_EMPTY {
            // Or others fill it, who would take this for the path's, too, and so on.
            self.drain = Some(Drain { rounds: ROUNDS, kept: NEARLY_EMPTY });
            return None;
        }
        self.drain = None;
        (self.last, self.clear) = (now, now);
        Some(match (drained, longer > threshold) {
            (false, _) => Shown::Nothing,
            (true, false) => Shown::NoQueue,
            (true, true) => Shown::Longer(longer),
        })
    }
}

fn seconds(now: Instant, since: Instant) -> f64 {
    now.saturating_since(since).as_secs_f64()
}
