//! Flows of others that keep the link's queue full.
//!
//! A window that keeps the queue short leaves the link to them. There are two signs:
//!
//! - A drained link still has the long queue that it had. It grows while hardly anything of ours is
//!   in it, or has overflowed of late. A longer path's round trip stays as it is.
//! - The window is lowered, and the queue stays: only less is delivered. Where it has overflowed of
//!   late, too, or rivals were there lately, that is enough. Else a drain is to tell.
//!
//! Against them the window is [what the flows would have by themselves](CubicWindow). They still
//! take turns to fill it. Now and then the link is drained to see whether the rivals are gone.

use super::cubic_window::CubicWindow;
use super::draining::seconds;
use bentpipe_core::time::{Duration, Instant};

/// The shortest queue that is held to be rivals', in seconds and in queues that are to stand: where
/// the window was lowered, and where it was not. One that other pairs of gateways keep is shorter.
const QUEUE: f64 = 0.01;
const QUEUES: f64 = 4.0;
const FULL_QUEUE: f64 = 0.02;
const FULL_QUEUES: f64 = 8.0;

/// The round of a long queue whose window and rate later ones are compared with, and the first that
/// is.
const YIELD_FROM: u32 = 3;
const YIELD_TO: u32 = 7;
const MAX_YIELDED: u32 = 12;

/// How long it has been long by then.
const YIELDING: Duration = Duration::from_secs(1);

/// The part by which the window must have come down since then.
const YIELD: f64 = 0.2;

/// The same round where rivals were found lately, and have gone.
const AGAIN_TO: u32 = 5;

/// For so many seconds a round trip may be the minimum.
const BASE_KEPT: f64 = 120.0;

/// How the best rate fades in a second.
const FADING: f64 = 0.99;

/// Something was lost so long ago at most, in seconds and in round trips: the queue is filled as
/// far as it goes.
const OVERFLOW: f64 = 5.0;
const OVERFLOW_ROUNDS: f64 = 20.0;

/// From a contest's begin to the first look, in seconds and in round trips, and from one look to
/// the next at most: twice as long each time that rivals are there.
const LOOK: f64 = 30.0;
const LOOK_ROUNDS: f64 = 60.0;
const MAX_LOOK: f64 = 960.0;

/// So many times what the path holds at the best rate of late are in flight at most: no queue is
/// filled that is much longer.
const MOST: f64 = 3.0;

/// What a round has shown. Bytes, seconds, and bytes a second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// The queue above the round trip without one, and the one that is to stand.
    pub(super) queue: f64,
    pub(super) target: f64,
    /// The round trip without a queue.
    pub(super) base: f64,
    pub(super) window: f64,
    pub(super) rate: f64,
    /// Something was lost.
    pub(super) lossy: bool,
}

impl Seen {
    /// Whether the queue is longer than a few pairs keep it.
    fn is_long(&self) -> bool {
        self.queue > QUEUE.max(QUEUES * self.target)
    }

    /// Whether it is longer than many do.
    fn is_full(&self) -> bool {
        self.queue > FULL_QUEUE.max(FULL_QUEUES * self.target)
    }
}

/// The queue has been long since then, for so many rounds.
#[derive(Debug, Clone, Copy, Default)]
struct Long {
    since: Instant,
    rounds: u32,
    window: f64,
    rate: f64,
}

/// Rivals are there.
#[derive(Debug, Clone, Copy)]
struct Contest {
    /// The queue of the drained link.
    drained: Option<f64>,
    /// When to look next.
    look: Instant,
    /// The round trip without their queue.
    base: f64,
    window: CubicWindow,
}

/// See the module's head. Times are in seconds.
#[derive(Debug)]
pub(super) struct Rivals {
    long: Long,
    /// When something was last lost next to a long queue.
    lossy: Option<Instant>,
    contest: Option<Contest>,
    /// From the next look to the one after it.
    apart: f64,
    /// When a contest was last over.
    over: Instant,
    /// The best rate of late, and when it was so.
    best: (Instant, f64),
    /// The minimum round trip without a queue of late, and when it was so.
    base: (Instant, f64),
}

impl Rivals {
    /// None.
    pub(super) fn new() -> Rivals {
        Rivals {
            long: Long::default(),
            lossy: None,
            contest: None,
            apart: 0.0,
            over: Instant::ZERO,
            best: (Instant::ZERO, 0.0),
            base: (Instant::ZERO, f64::INFINITY),
        }
    }

    /// Whether there are any.
    pub(super) fn are_there(&self) -> bool {
        self.contest.is_some()
    }

    /// The rate at which they take turns.
    pub(super) fn rate(&self) -> Option<f64> {
        self.contest.map(|contest| contest.window.rate())
    }

    /// Another round against them, in which so much was lost beyond the usual, of `flows`. The
    /// window of all flows then, if there are rivals.
    pub(super) fn contend(
        &mut self,
        now: Instant,
        rtt: f64,
        lost: f64,
        flows: usize,
    ) -> Option<f64> {
        let Contest { window, base, .. } = self.contest.as_mut()?;
        window.follow(now, rtt, lost, flows);
        window.bytes = window.bytes.min(MOST * self.best.1 * *base);
        Some(window.bytes)
    }

    /// The round trip without their queue: it is forgotten elsewhere.
    pub(super) fn base(&self) -> Option<f64> {
        self.contest.map(|contest| contest.base)
    }

    /// Whether to look now if they are still there.
    pub(super) fn is_to_look(&self, now: Instant) -> bool {
        self.contest.is_some_and(|contest| now >= contest.look)
    }

    /// A round has brought so many bytes a second.
    pub(super) fn note_rate(&mut self, now: Instant, rate: f64) {
        let (at, best) = self.best;
        let faded = best * FADING.powf(seconds(now, at));
        self.best = (now, faded.max(rate));
    }

    /// Another round without rivals, in which the link was not drained. They may have come. Whether
    /// a drain is to tell.
    pub(super) fn on_round(&mut self, now: Instant, seen: Seen) -> bool {
        self.note_rate(now, seen.rate);
        let seen = self.above_minimum(now, seen);
        if seen.lossy && seen.is_long() {
            self.lossy = Some(now);
        }
        let Seen { window, rate, .. } = seen;
        let long = &mut self.long;
        if seen.is_long() {
            long.rounds = (long.rounds + 1).min(MAX_YIELDED);
        } else {
            long.rounds = long.rounds.saturating_sub(1);
        }
        if long.rounds <= YIELD_FROM {
            *long = Long { since: now, window, rate, ..*long };
        }
        let Long { since, rounds, window: before, rate: rate_before } = *long;
        let cut = 1.0 - window / before;
        let yields = cut > YIELD && rate < rate_before * (1.0 - cut / 2.0);
        let lasts = now.saturating_since(since) >= YIELDING;
        let again = self.is_again(now, seen.base);
        let shown = if again { rounds >= AGAIN_TO } else { rounds >= YIELD_TO && lasts };
        let suspected = shown && yields;
        if suspected && (again || self.overflows(now, seen.base)) {
            self.begin(now, seen, None);
        }
        suspected && self.contest.is_none()
    }

    /// A drained link still has a queue, which has changed by so much since more was in flight.
    /// Whether rivals fill it; if not, the path is longer.
    pub(super) fn on_longer(&mut self, now: Instant, seen: Seen, change: f64) -> bool {
        let seen = self.above_minimum(now, seen);
        let Some(contest) = &mut self.contest else {
            // A gap, as of a hand-over, is followed by a queue, too.
            let grows = self.long.rounds > YIELD_FROM && change > seen.target;
            if grows && seen.is_full() || seen.is_long() && self.overflows(now, seen.base) {
                self.begin(now, seen, Some(seen.queue));
            }
            return self.contest.is_some();
        };
        let before = contest.drained.replace(seen.queue);
        let stays = before.is_some_and(|before| (seen.queue - before).abs() < seen.target);
        if stays || !seen.is_long() {
            self.base = (now, seen.base + seen.queue);
            self.end(now);
            return false;
        }
        self.apart = (self.apart * 2.0).min(MAX_LOOK);
        contest.look = now + Duration::from_secs_f64(self.apart);
        true
    }

    /// A queue that grows slowly passes for a path that becomes longer. So it is seen above the
    /// minimum of a while.
    fn above_minimum(&mut self, now: Instant, seen: Seen) -> Seen {
        let (at, base) = self.base;
        if seen.base <= base || seconds(now, at) > BASE_KEPT {
            self.base = (now, seen.base);
        }
        let base = self.base.1;
        Seen { queue: seen.queue + seen.base - base, base, ..seen }
    }

    /// They are gone.
    pub(super) fn end(&mut self, now: Instant) {
        if self.contest.take().is_some() {
            self.over = now;
        }
    }

    /// Whether the queue has overflowed of late.
    fn overflows(&self, now: Instant, base: f64) -> bool {
        let span = OVERFLOW.max(OVERFLOW_ROUNDS * base);
        self.lossy.is_some_and(|at| seconds(now, at) < span)
    }

    /// Whether rivals that come now are those that were there.
    fn is_again(&self, now: Instant, base: f64) -> bool {
        self.apart > 0.0 && seconds(now, self.over) < first_look(base).max(self.apart)
    }

    fn begin(&mut self, now: Instant, seen: Seen, drained: Option<f64>) {
        let first = first_look(seen.base);
        let again = self.is_again(now, seen.base);
        self.apart = if again { (self.apart * 2.0).clamp(first, MAX_LOOK) } else { first };
        let look = now + Duration::from_secs_f64(self.apart);
        let window = CubicWindow::new(
            now,
            self.best.1 * (seen.base + seen.queue / 2.0),
            seen.base + seen.queue,
        );
        self.contest = Some(Contest { drained, look, base: seen.base, window });
        self.long = Long::default();
    }
}

/// From the begin of a contest to the first look.
fn first_look(base: f64) -> f64 {
    LOOK.max(LOOK_ROUNDS * base).min(MAX_LOOK)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of a base round trip of so many seconds, each with the window, rate and queue that
    /// follow from its number.
    fn rounds(base: f64, lossy: bool, seen: impl Fn(u32) -> [f64; 3]) -> (Rivals, Instant, bool) {
        let (mut rivals, mut now, mut suspects) =
            (Rivals::new(), Instant::from_millis(5_000), false);
        for number in 0..12 {
            now += Duration::from_secs_f64(base);
            let [window, rate, queue] = seen(number);
            let target = (0.05 * base).min(0.015);
            suspects |= rivals.on_round(now, Seen { queue, target, base, window, rate, lossy });
        }
        (rivals, now, suspects)
    }

    /// The window is lowered by a twentieth of what it was each time, and so is the rate.
    fn yielding(number: u32) -> [f64; 3] {
        let part = 1.0 - 0.05 * f64::from(number);
        [500e3 * part, 1e6 * part, 0.4]
    }

    #[test]
    fn a_queue_that_stays_while_the_window_is_lowered_is_somebody_elses() {
        let (rivals, _, suspects) = rounds(0.5, true, yielding);
        assert!(rivals.are_there() && !suspects, "it overflows");
        let (rivals, _, suspects) = rounds(0.5, false, yielding);
        assert!(!rivals.are_there() && suspects, "a drain is to tell");
        let of_ours = |number| [yielding(number)[0], 1e6, 0.4 - 0.03 * f64::from(number)];
        let (rivals, _, suspects) = rounds(0.5, true, of_ours);
        assert!(!rivals.are_there() && !suspects, "as much is delivered");
    }

    #[test]
    fn rivals_are_looked_for_seldom_however_long_a_round_trip_is() {
        for base in [0.15, 0.5, 40.0] {
            let (mut rivals, mut now, _) = rounds(base, true, |number| {
                let [window, rate, _] = yielding(number);
                [window, rate, 2.0 * base]
            });
            assert!(rivals.are_there(), "{base} s");
            let mut looks = 0;
            let end = now + Duration::from_secs(4_000);
            while now < end {
                now += Duration::from_secs(1);
                if rivals.is_to_look(now) {
                    looks += 1;
                    let queue = 2.0 * base + 0.1 * f64::from(looks) * base;
                    let target = 0.005 * base;
                    let seen = Seen { queue, target, base, window: 1e5, rate: 1e5, lossy: false };
                    assert!(rivals.on_longer(now, seen, 0.0), "{base} s");
                }
            }
            assert!((4..=8).contains(&looks), "{base} s: {looks}");
        }
    }

    #[test]
    fn a_queue_that_never_moves_is_the_path() {
        let (mut rivals, now, _) = rounds(0.5, true, yielding);
        let seen =
            Seen { queue: 0.3, target: 0.015, base: 0.5, window: 1e5, rate: 1e5, lossy: false };
        assert!(rivals.on_longer(now, seen, 0.0), "seen for the first time");
        assert!(!rivals.on_longer(now, seen, 0.0) && !rivals.are_there());
    }
}
