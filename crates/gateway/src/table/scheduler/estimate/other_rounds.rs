//! Rounds in which the link is drained, or others fill it.

use super::draining::{Depth, Shown};
use super::round::Round;
use super::steering::MARGIN;
use super::{Estimate, MIN_WINDOW, PACKET, RAISE_ROUNDS};
use bentpipe_core::time::Instant;

/// The most that the window is after a drain: so many times what the link holds, as acknowledgments
/// also wait for their timers.
const HELD: f64 = 1.25;

impl Estimate {
    /// Another round in which flows of others fill the queue.
    pub(super) fn contend(&mut self, now: Instant, round: &Round, rtt: f64, queue: f64) {
        self.rivals.note_rate(now, self.rate);
        let lossy = round.seen.loses_more_than(self.loss, MARGIN, PACKET);
        let lost = if lossy { round.seen.lost.as_f64() } else { 0.0 };
        let window = self.rivals.contend(now, rtt, lost, self.flows);
        self.window = window.unwrap_or(0.0).max(MIN_WINDOW);
        if self.rivals.is_to_look(now) {
            self.drain(now, Depth::Part, queue, round.span(now));
        }
    }

    /// Begins to drain the link, whose queue is of so many seconds, where a round takes `span`.
    pub(super) fn drain(&mut self, now: Instant, depth: Depth, queue: f64, span: f64) {
        self.draining.begin(now, depth, queue, span, self.held());
    }

    /// Another round in which the link is being drained.
    pub(super) fn go_on_draining(&mut self, now: Instant, round: &Round, longer: f64) {
        let (held, threshold) = (self.held(), self.path.queue_left());
        let shown = self.draining.go_on(now, held, round.peak, longer, threshold);
        let Some(shown) = shown else { return };
        let was_contested = self.rivals.are_there();
        if shown == Shown::NoQueue {
            self.rivals.end(now);
        }
        if let Shown::Longer(longer, change) = shown
            && (self.carrier.is_some()
                || !self.rivals.on_longer(now, self.seen(round, longer), change))
        {
            // What is left is no queue of ours: the path is longer, and holds more.
            self.path.lengthen(now, longer);
            self.window += self.rate * longer;
            if let Some(carrier) = &mut self.carrier {
                carrier.doubt();
            }
        }
        if was_contested {
            self.window = (self.best * (self.base() + self.path.queue())).max(MIN_WINDOW);
        } else if shown != Shown::Nothing {
            // What it was lowered to before the queue was gone may be much more than the link
            // holds.
            let holds = self.rate * (self.base() + self.path.queue());
            self.window = self.window.min(holds * HELD).max(MIN_WINDOW);
        }
        self.lowered = None;
        (self.long, self.hold) = (0, RAISE_ROUNDS);
    }
}
