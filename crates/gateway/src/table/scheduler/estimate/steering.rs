//! The next window, from what a round has shown.

use super::round::Round;
use super::{Estimate, MIN_WINDOW, PACKET, RAISE_ROUNDS};

/// A queue is too long that is so many times its target.
const LONG: f64 = 1.5;

/// The part of what lacks in the queue that is put in at once.
const FILL: f64 = 0.5;

/// The parts of the window by which it is raised, at first and at most.
pub(super) const MIN_RAISE: f64 = 0.05;
const MAX_RAISE: f64 = 1.0;

/// The part of the best rate of late below which the link is known to have carried more; and how
/// that fades in a second.
const LESS: f64 = 0.8;
pub(super) const FADING: f64 = 0.99;

/// Lost beyond the usual: this share in any case; in so many rounds, as losses come in bursts.
pub(super) const MARGIN: f64 = 0.02;
const SIGNS: u32 = 2;

/// The most that a link is held to lose by itself.
const MAX_LOSS: f64 = 0.15;

/// The most that the window comes down by in a round for what was lost, and what it is lowered by
/// besides.
const MAX_CUT: f64 = 0.7;
const CUT: f64 = 0.05;

/// Rounds before a raise after a loss that was ours, at first and at most: twice as many each time.
pub(super) const LOSS_HOLD: u32 = 4;
const MAX_LOSS_HOLD: u32 = 32;

/// The part by which the window must have come down for what is delivered to tell whose losses they
/// are, and the rounds for which it may.
const TELLING: f64 = 0.1;
const TELLING_ROUNDS: u32 = 8;

/// The window has been lowered, and what it was before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lowered {
    window: f64,
    /// What was delivered, in bytes a second.
    rate: f64,
    rounds: u32,
}

impl Estimate {
    /// The window follows from what the round has shown, for which it was `before`.
    pub(super) fn steer(&mut self, round: &Round, before: f64, queue: f64) {
        if self.probes.is_under_way() {
            self.window = self.probes.go_on(self.window, self.rate, queue);
            return;
        }
        let factor = self.carrier.map(|carrier| carrier.factor(self.rate));
        let target = match factor {
            Some(factor) => self.path.min_queue() * factor,
            None => self.path.queue(),
        };
        // What is found lost was sent a round ago: before the latest change.
        let settled = before <= self.window * (1.0 + CUT / 2.0);
        let lossy = settled && round.seen.loses_more_than(self.loss, MARGIN, PACKET);
        self.hold = self.hold.saturating_sub(1);
        self.loss_hold = self.loss_hold.saturating_sub(1);
        let varies = factor.is_none() && self.path.varies();
        let probes = self.probes.is_due() && round.full && varies;
        // What the latest change has drained does not show yet.
        let queue = queue - (before - self.window).max(0.0) / self.rate;
        let links_own = match factor {
            Some(_) => queue <= target && self.is_lowered(before).is_some(),
            None => self.is_missed(before),
        };
        if let Some(lowered) = &mut self.lowered {
            lowered.rounds += 1;
        }
        self.lowered = self.lowered.filter(|lowered| lowered.rounds <= TELLING_ROUNDS);
        self.long = if queue > target * LONG { self.long + 1 } else { 0 };
        self.lossy = if lossy { self.lossy + 1 } else { 0 };
        if links_own && lossy {
            // The losses are the link's.
            self.loss = self.loss.max(round.seen.loss().min(MAX_LOSS));
            self.window = self.lowered.take().map_or(self.window, |lowered| lowered.window);
            self.hold = RAISE_ROUNDS;
        } else if queue > target || self.lossy >= SIGNS {
            let excess = (round.seen.loss() - self.loss).clamp(0.0, MAX_CUT);
            let kept = if lossy { (1.0 - excess) * (1.0 - CUT) } else { 1.0 };
            let lowered = self.window * kept - self.rate * (queue - target).max(0.0);
            // The link carries this much even now.
            let carried = self.product() * kept;
            self.lower(lowered.max(carried.min(self.window)));
            if lossy {
                self.lossy = 0;
                self.loss_hold = self.next_loss_hold;
                self.next_loss_hold = (self.next_loss_hold * 2).min(MAX_LOSS_HOLD);
            }
        } else if !lossy && probes {
            self.window = self.probes.begin(self.window, self.rate, self.base());
        } else if !lossy {
            let weight = (round.seen.packets(PACKET) / 1_000.0).min(0.25);
            self.loss += (round.seen.loss() - self.loss).min(0.0) * weight;
            if round.full {
                self.fill(queue, target, factor.unwrap_or(1.0));
            }
        }
    }

    /// Whether, since the window was lowered, as much less is delivered: then it was no queue that
    /// has become shorter.
    pub(super) fn is_missed(&self, before: f64) -> bool {
        self.is_lowered(before)
            .is_some_and(|(lowered, cut)| self.rate < lowered.rate * (1.0 - cut / 2.0))
    }

    /// What there was before the window was lowered, and by which part that shows in a round for
    /// which it was `before`.
    fn is_lowered(&self, before: f64) -> Option<(Lowered, f64)> {
        let lowered = self.lowered.filter(|lowered| lowered.rounds >= 2)?;
        let cut = 1.0 - before / lowered.window;
        (cut > TELLING).then_some((lowered, cut))
    }

    /// Whether the window was lowered by so much that what is delivered will tell whose the losses
    /// were.
    pub(super) fn is_telling(&self) -> bool {
        self.lowered.is_some_and(|lowered| self.window < lowered.window * (1.0 - TELLING))
    }

    fn lower(&mut self, window: f64) {
        let lowered = Lowered { window: self.window, rate: self.rate, rounds: 0 };
        self.lowered.get_or_insert(lowered);
        if std::mem::take(&mut self.remembers) {
            self.best = self.rate;
        }
        self.window = window.max(MIN_WINDOW);
        self.raise = MIN_RAISE;
    }

    /// The link may carry more than the window lets it.
    fn fill(&mut self, queue: f64, target: f64, factor: f64) {
        if queue >= target / 2.0 {
            self.window += FILL * self.rate * factor * (target - queue);
            self.raise = MIN_RAISE;
        } else if self.hold == 0 {
            let known = self.best * self.base();
            if self.window < LESS * known {
                self.window = (self.window * 2.0).min(known);
                self.remembers = true;
                self.hold = 1;
            } else if self.loss_hold == 0 {
                self.remembers = false;
                self.window *= 1.0 + self.raise;
                self.raise = (self.raise * 2.0).min(MAX_RAISE);
                self.hold = RAISE_ROUNDS;
            }
        }
    }
}
