//! At what rate a link is used whose losses are its own: no faster than its configured rate, and
//! slower while it shows that it carries less.
//!
//! Each round trip of all flows together is looked at. More loss than the link's usual, or a queue
//! above it, may be ours: then the rate is lowered by 15 % below what was delivered, for two round
//! trips, which is less than anything that the link can carry if it is ours alone. If that makes
//! the loss or the queue less, it was ours: the rate is what was delivered, and is raised again bit
//! by bit, as far as it is configured, and without end where a peer gateway has told the rate. If
//! not, it is the link's, or somebody else's, and usual from now on.
//!
//! Where others fill the queue it is the window that shares the link, not the rate. So less is in
//! flight next to a queue that [swings](Standing).
//!
//! A round trip in which nothing is delivered is a fade: it says nothing, nor do the losses that
//! are found when it is over.
//!
//! Of a link whose rate was not told nothing is lowered while flows find their own windows. Where
//! many short ones ask for more than it carries, none of them lives long enough for that: then the
//! same test finds the rate. Several links may lie behind a hub, so it must be most of the traffic
//! that loses.

mod base;
mod round;
mod standing;
#[cfg(test)]
mod tests;

use base::BaseRtt;
use bentpipe_core::tcp::congestion::LinkReport;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Rate};
pub(super) use round::LossyRound;
use round::Round;
use standing::Standing;
use std::ops::RangeInclusive;

/// The part of what was delivered that is sent while it is tested whose loss it is.
const TEST: f64 = 0.85;

/// The part of what was delivered at which the link is used when the loss turns out to be ours.
const OURS: f64 = 0.95;

/// Rounds of a test, after those that still show what was sent before.
const TEST_ROUNDS: u32 = 2;

/// Rounds of which the best one tells what the link delivers.
const BEST_OF: usize = 4;

/// By how much the rate is raised at least and at most: twice as much each time that it was
/// carried.
const RAISE: RangeInclusive<f64> = 0.05..=0.2;

/// The rounds until it is known what came of a raise.
const RAISE_ROUNDS: u32 = 2;

/// Rounds before a raise, at least and at most: twice as many each time that one is answered by
/// loss or by a queue.
const HOLD: RangeInclusive<u32> = 1..=64;

/// Rounds in a row in which there must be a sign: losses come in bursts.
const SIGNS: u32 = 2;

/// The same where the link's rate was not told: flows that find their own windows lose for some
/// rounds when they begin. If all together do so for longer, they do not find them.
const SIGNS_UNTOLD: u32 = 4;

/// A rate that was found and has not been used up for so long is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// Lost beyond the usual: this share in any case.
const MARGIN: f64 = 0.02;

/// A queue beyond the usual: this long, and this part of the round trip.
const QUEUE: Duration = Duration::from_millis(20);
const QUEUE_SHARE: f64 = 0.1;

/// The part of what fills the link that all flows have in flight next to others who fill its queue:
/// what CUBIC has on the mean of the window at which it loses. And the part without them:
/// acknowledgments also wait for their timers.
const NEXT_TO_OTHERS: f64 = 0.875;
const ALONE: f64 = 1.25;

/// Rounds after which a queue that was ours has drained.
const DRAIN_ROUNDS: u32 = 10;

/// Rounds over which it is seen whether the link carries half of what is sent.
const BREAKER_ROUNDS: u32 = 10;

/// What may be ours, and how much of it there was.
#[derive(Debug, Clone, Copy)]
enum Sign {
    /// The share of the bytes that were lost.
    Loss(f64),
    /// Seconds.
    Queue(f64),
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// At the ceiling, until the next raise; how many of the latest rounds had a sign.
    Steady { rounds: u32, signs: u32 },
    /// A raise is being tried.
    Raised { from: f64, rounds: u32 },
    /// The rate is lowered, to see whether there is less of what was a sign.
    /// So many rounds still show what was sent before.
    Test { skip: u32, rounds: u32, sign: Sign, delivered: f64, seen: LinkReport },
    /// It was ours: the queue drains while so much of the rate is used.
    Drain { rounds: u32, part: f64 },
}

impl State {
    const STEADY: State = State::Steady { rounds: 0, signs: 0 };
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct RateControl {
    /// What it was told to carry, in bits a second; infinite if nothing was.
    configured: f64,
    /// What it is not used beyond: that, but where a peer gateway has told it, who may be wrong.
    most: f64,
    /// What the link is held to carry, in bits a second; infinite while nothing is known.
    ceiling: f64,
    /// When it was last used up.
    used_at: Instant,
    state: State,
    /// What a round trip takes, and what is held to stand in the link's queue beyond it, in
    /// seconds.
    base: BaseRtt,
    queue: f64,
    standing: Standing,
    /// The share of packets that the link loses by itself.
    loss: f64,
    hold: u32,
    /// By what share the rate is raised next.
    raise: f64,
    /// Rounds that say nothing, after a fade.
    deaf: u32,
    round: Round,
    /// What was delivered in the latest rounds, in bits of the wire a second.
    delivered: [f64; BEST_OF],
    /// The latest rounds in a row in which much was lost, but not by most.
    strays: u32,
    /// Sent and delivered over some rounds, and how many.
    breaker: (u64, u64, u32),
    broken: bool,
}

impl RateControl {
    /// A link that is to carry `rate`, or of which nothing is known; or which is said to carry
    /// that, if it is a `hint`.
    pub(super) fn new(rate: Option<Rate>, hint: bool) -> RateControl {
        let configured = rate.map_or(f64::INFINITY, |rate| rate.bits_per_sec() as f64);
        RateControl {
            configured,
            most: if hint { f64::INFINITY } else { configured },
            ceiling: configured,
            used_at: Instant::ZERO,
            state: State::STEADY,
            base: BaseRtt::default(),
            queue: 0.0,
            standing: Standing::new(),
            loss: 0.0,
            hold: *HOLD.start(),
            raise: *RAISE.start(),
            deaf: 0,
            round: Round::first(),
            delivered: [0.0; BEST_OF],
            strays: 0,
            breaker: (0, 0, 0),
            broken: false,
        }
    }

    /// The rate at which the link is to be used now, if there is a limit.
    pub(super) fn rate(&self) -> Option<Rate> {
        let factor = match self.state {
            State::Steady { .. } | State::Raised { .. } => self.ceiling,
            State::Test { delivered, .. } => delivered * TEST,
            State::Drain { part, .. } => self.ceiling * part,
        };
        let rate = factor.min(self.most);
        rate.is_finite().then(|| Rate::from_bits_per_sec((rate as u64).max(1)))
    }

    /// Whether the link's rate was told.
    pub(super) fn is_told(&self) -> bool {
        self.configured.is_finite()
    }

    /// The bandwidth-delay product in bytes of a link that was told, as far as it is known: tests
    /// do not lower it.
    pub(super) fn product(&self) -> Option<u64> {
        let base = self.base.get().filter(|_| self.is_told());
        base.map(|base| (self.ceiling * base.as_secs_f64() / 8.0) as u64)
    }

    /// The bytes that all flows may have in flight on such a link, at most.
    pub(super) fn max_in_flight(&self) -> Option<u64> {
        let margin = self.base.get().map_or(0.0, margin);
        let others = self.queue > margin && self.standing.swings(margin);
        let part = if others { NEXT_TO_OTHERS } else { ALONE };
        self.product().map(|bytes| (bytes as f64 * part) as u64)
    }

    /// Whether the link carried less than half of what was sent for long: it is not what it is held
    /// for (RFC 8084's circuit breaker). Losses are to be believed then.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// So many bytes were sent, headers included.
    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.round.sent += bytes;
    }

    /// A flow has seen something of the link; it has last lost something in `lossy` round.
    pub(super) fn on_report(&mut self, now: Instant, report: LinkReport, lossy: &mut LossyRound) {
        self.round.take(report, lossy);
        if let Some(rtt) = report.rtt {
            self.base.on_rtt(rtt);
        }
        let Some(base) = self.base.get() else { return };
        let span = base + Duration::from_secs_f64(self.queue) + Duration::from_millis(1);
        if now.saturating_since(self.round.began) < span {
            return;
        }
        let round = self.round;
        self.round = round.next(now);
        let used = self.is_used(now, &round);
        self.base.end_round(used);
        if now.saturating_since(round.began) > span * 3 || round.seen.delivered == Bytes::ZERO {
            // Nothing came for long: a fade, or nobody had anything to send.
            self.deaf = 2;
            return;
        }
        if self.is_told() {
            self.watch_breaker(&round);
        }
        if self.deaf > 0 {
            self.deaf -= 1;
            return;
        }
        self.judge(now, base, &round);
        if !self.is_told() {
            self.reconsider(now, used, &round);
        }
    }

    /// What was found of a link that was not told counts while it is used, and while it helps:
    /// where only some flows go on losing, they have a link of their own.
    fn reconsider(&mut self, now: Instant, used: bool, round: &Round) {
        let strays = round.loses_more_than(self.loss, MARGIN) && !self.is_general(round);
        self.strays = if strays { self.strays + 1 } else { 0 };
        if used {
            self.used_at = now;
        }
        let is_idle = now.saturating_since(self.used_at) > FORGET_AFTER;
        if self.ceiling.is_finite() && (is_idle || self.strays >= SIGNS_UNTOLD) {
            self.ceiling = self.configured;
            self.state = State::STEADY;
        }
    }

    /// Whether nearly as much was sent in a round that is over as the rate allows.
    fn is_used(&self, now: Instant, round: &Round) -> bool {
        self.rate().is_some_and(|rate| round.uses(now, rate))
    }

    fn watch_breaker(&mut self, round: &Round) {
        let (sent, delivered, rounds) = &mut self.breaker;
        *sent += round.sent;
        *delivered += round.seen.delivered.count();
        *rounds += 1;
        if *rounds == BREAKER_ROUNDS {
            self.broken |= *delivered * 2 < *sent;
            self.breaker = (0, 0, 0);
        }
    }

    fn judge(&mut self, now: Instant, base: Duration, round: &Round) {
        self.delivered.rotate_right(1);
        self.delivered[0] = round.delivered(now);
        let queue = round.seen.rtt.map_or(0.0, |rtt| rtt.saturating_sub(base).as_secs_f64());
        self.standing.note(queue);
        let queues = queue - self.queue > margin(base);
        let used = self.is_used(now, round);
        let sign = match self.is_lossy(round) {
            true => Some(Sign::Loss(round.seen.loss())),
            false => Some(Sign::Queue(queue)).filter(|_| queues && used),
        };
        self.state = match (self.state, sign) {
            (State::Steady { rounds, signs }, Some(sign)) => match signs + 1 {
                signs if signs >= self.signs_needed() => self.test(sign, queue, base),
                signs => State::Steady { rounds, signs },
            },
            (State::Steady { rounds, .. }, None) => {
                self.learn(round, queue);
                let raises = self.ceiling < self.most && rounds >= self.hold && used;
                let rounds = rounds + 1;
                if raises { self.raise() } else { State::Steady { rounds, signs: 0 } }
            }
            (State::Raised { from, .. }, Some(_)) => self.take_back(from),
            (State::Raised { from, rounds }, None) if rounds + 1 >= RAISE_ROUNDS => {
                if used && !self.is_carried(from) {
                    return self.state = self.take_back(from);
                }
                self.hold = *HOLD.start();
                self.raise = (self.raise * 2.0).min(*RAISE.end());
                State::STEADY
            }
            (State::Raised { from, rounds }, None) => State::Raised { from, rounds: rounds + 1 },
            (State::Test { skip, rounds, sign, delivered, seen }, _) => match skip.checked_sub(1) {
                Some(skip) => State::Test { skip, rounds, sign, delivered, seen },
                None => {
                    let (rounds, seen) = (rounds + 1, seen.and(round.seen));
                    if rounds < TEST_ROUNDS {
                        State::Test { skip, rounds, sign, delivered, seen }
                    } else if self.was_ours(sign, seen, queue, base) {
                        self.used_at = now;
                        self.ceiling = (delivered * OURS).min(self.most);
                        if queues { State::Drain { rounds: 0, part: TEST } } else { State::STEADY }
                    } else {
                        State::STEADY
                    }
                }
            },
            (State::Drain { rounds, .. }, _)
                if rounds > 0 && (!queues || rounds >= DRAIN_ROUNDS) =>
            {
                State::STEADY
            }
            (State::Drain { rounds, part }, _) => State::Drain { rounds: rounds + 1, part },
        };
    }

    /// So many rounds in a row with a sign begin a test.
    fn signs_needed(&self) -> u32 {
        if self.ceiling.is_finite() { SIGNS } else { SIGNS_UNTOLD }
    }

    fn raise(&mut self) -> State {
        let from = self.ceiling;
        self.ceiling = (from * (1.0 + self.raise)).min(self.most);
        State::Raised { from, rounds: 0 }
    }

    /// Whether the last round delivered more than was sent before the rate was raised.
    fn is_carried(&self, from: f64) -> bool {
        self.delivered[0] > (from * 3.0 + self.ceiling) / 4.0 * (1.0 - self.loss)
    }

    /// The link does not carry what the rate was raised to. As much less is sent as was too much.
    fn take_back(&mut self, from: f64) -> State {
        let part = (from / self.ceiling).max(TEST);
        self.ceiling = from;
        self.hold = (self.hold * 2).min(*HOLD.end());
        self.raise = *RAISE.start();
        State::Drain { rounds: 0, part }
    }

    /// Whether more was lost than the link's own losses and chance explain.
    fn is_lossy(&self, round: &Round) -> bool {
        // What follows a raise is suspect.
        let margin = if matches!(self.state, State::Raised { .. }) { 0.0 } else { MARGIN };
        self.is_general(round) && round.loses_more_than(self.loss, margin)
    }

    /// Whether what was lost is of one link: the flows that have lost something make up most of the
    /// traffic.
    fn is_general(&self, round: &Round) -> bool {
        self.is_told() || round.is_of_losers()
    }

    fn test(&self, sign: Sign, queue: f64, base: Duration) -> State {
        let best = self.delivered.iter().fold(0.0, |best: f64, one| best.max(*one));
        let delivered = self.ceiling.min(best);
        let skip = 1 + (queue / base.as_secs_f64().max(0.001)).ceil() as u32;
        State::Test { skip, rounds: 0, sign, delivered, seen: LinkReport::default() }
    }

    /// Whether the test has made less of what was its `sign`. If not, that is usual from now on.
    fn was_ours(&mut self, sign: Sign, seen: LinkReport, queue: f64, base: Duration) -> bool {
        match sign {
            Sign::Loss(before) => {
                let after = seen.loss();
                let ours = after - self.loss < (before - self.loss) / 2.0;
                if !ours {
                    self.loss = after.max(self.loss);
                }
                ours
            }
            Sign::Queue(before) => {
                // A round of it drains 15 % of a round trip.
                let drained = (base.as_secs_f64() * (1.0 - TEST)).min(before - self.queue);
                let ours = queue < before - drained / 2.0;
                if !ours {
                    self.queue = queue.max(self.queue);
                }
                ours
            }
        }
    }

    /// What a round without anything unusual says of the link's own losses and queue.
    fn learn(&mut self, round: &Round, queue: f64) {
        let weight = (round.packets() / 1_000.0).min(0.25);
        if self.is_general(round) || round.seen.loss() < self.loss {
            self.loss += (round.seen.loss() - self.loss) * weight;
        }
        self.queue = if queue < self.queue { queue } else { self.queue };
    }
}

/// The queue beyond the usual that may be ours, in seconds, where a round trip takes `base`.
fn margin(base: Duration) -> f64 {
    QUEUE.as_secs_f64().max(base.as_secs_f64() * QUEUE_SHARE)
}
