//! The window until the link has been found, and while it is checked.
//!
//! Trains show the link's rate at once. Where they show none, a queue does, or the loss of much.
//! A window that trains have shown, or that was found before a pause, is checked as its packets
//! come back.

use super::round::Round;
use super::segment::SEGMENT;
use super::steering::MARGIN;
use super::{Estimate, MIN_WINDOW, PACKET};
use bentpipe_core::time::{Duration, Instant};

/// Or more than such a share of a round is lost: policers drop without a queue.
const START_LOSS: f64 = 0.1;

/// Packets that show it, and the round trips for which it may after a leap: a queue that overflows
/// delays the news.
const CHECKED: f64 = 64.0;
const CHECKED_FOR: f64 = 2.0;

/// A queue shows that the link is full if it is this long, in seconds, and so many bytes were in
/// flight: no chance, and not what others have.
const FOUND_QUEUE: f64 = 0.004;
const FOUND_BYTES: f64 = 30.0 * SEGMENT;

/// As long as so many times as much is delivered as in the round before, a short queue is a path's
/// whose round trips vary.
const FOUND_GROWTH: f64 = 1.25;

/// The part of what trains show that is filled at first on a carrier that others use, too.
const SHARED_PART: f64 = 0.25;

impl Estimate {
    /// The window follows what trains show.
    pub(super) fn leap(&mut self, now: Instant, base: f64) {
        let leap = self.start.as_mut().and_then(|start| start.leap(now, base));
        let Some((shown, settled)) = leap else { return };
        self.settled = Some(settled);
        if now >= settled {
            self.start = None;
            return;
        }
        // Others may use what trains have passed through.
        let part = if self.carrier.is_some() { SHARED_PART } else { 1.0 };
        self.find(now, part * shown.rate * (base + self.path.queue()));
        (self.rate, self.best, self.used) = (shown.rate, shown.perhaps, now);
        if let Some(carrier) = &mut self.carrier {
            carrier.note_capacity(shown.perhaps);
        }
    }

    /// The link is found, whose window is this. If more than that is in flight, it shows for a
    /// round trip.
    fn find(&mut self, now: Instant, window: f64) {
        self.window = window.max(MIN_WINDOW);
        let before = self.round.peak;
        if !std::mem::replace(&mut self.found, true) && before > self.window {
            self.windows.extend([(Instant::ZERO, before), (now, self.window)]);
        }
    }

    /// A round is over, and no queue has been seen yet. What was in flight in it follows from what
    /// has arrived; a queue, or the loss of much, shows what the link holds.
    pub(super) fn seek(
        &mut self,
        now: Instant,
        round: &Round,
        rtt: f64,
        rate: f64,
        queue: f64,
        in_flight: u64,
    ) {
        let grows = rate > self.rate * FOUND_GROWTH;
        (self.rate, self.best) = (rate, rate);
        let threshold = self.path.queue().max(FOUND_QUEUE);
        let long = (3.0 * threshold).max(self.path.base().unwrap_or(rtt) / 4.0);
        let stands = queue > threshold && !grows || queue > long;
        let drops = round.seen.loses_more_than(START_LOSS, 0.0, PACKET);
        if (stands || drops) && round.peak > FOUND_BYTES {
            self.start = None;
            // What was lost has had no room.
            let lossy = round.seen.loss() > MARGIN;
            let held = if lossy { rate * rtt } else { in_flight as f64 };
            self.find(now, held);
        }
    }

    /// What left by what trains have shown, or by what was found before a pause, comes back. If
    /// much of it does not, as a policer lets nothing but a short train pass, the window follows
    /// what does.
    pub(super) fn check_leap(&mut self, now: Instant, settled: Instant, base: f64) {
        // What overflows a queue comes back behind it.
        let trip = self.latest.map_or(base, |(_, rtt)| rtt.max(base));
        if now >= settled + Duration::from_secs_f64(CHECKED_FOR * trip) {
            self.settled = None;
            return;
        }
        let (seen, span) = (self.round.seen, self.round.span(now));
        let is_early = self.round.is_before(Some(settled));
        // A burst may be lost by itself, and a link that is hardly used says nothing of its rate.
        let is_used = self.round.peak >= self.window / 2.0;
        let drops = !is_early
            && is_used
            && seen.packets(PACKET) >= CHECKED
            && seen.loses_more_than(START_LOSS, 0.0, PACKET);
        // After a silence it says nothing of the rate.
        // After a moment, neither.
        if drops && (base / 64.0..base / 4.0).contains(&span) {
            self.rate = seen.delivered.as_f64() / span;
            self.best = self.rate;
            self.window = self.window.min(self.rate * base).max(MIN_WINDOW);
        }
        if drops || is_early {
            self.round = Round::beginning(now);
        }
    }
}
