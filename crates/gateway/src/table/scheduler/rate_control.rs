//! At what rate a link is used whose losses are its own: no faster than its configured rate, and slower
//! while it shows that it carries less.
//!
//! Each round trip of all flows together is looked at. More loss than the link's usual, or a queue
//! above it, may be ours: then the rate is lowered by 15 % below what was delivered, for two round
//! trips, which is less than anything that the link can carry if it is ours alone. If that makes the loss or
//! the queue less, it was ours: the rate is what was delivered, and is raised again bit by bit, as
//! far as it is configured. If not, it is the link's, or somebody else's, and usual from now on.
//!
//! A round trip in which nothing is delivered is a fade: it says nothing, nor do the losses that are
//! found when it is over.

mod base;
#[cfg(test)]
mod tests;

use base::BaseRtt;
use bentpipe_core::tcp::congestion::LinkReport;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Rate};
use std::ops::RangeInclusive;

/// The part of what was delivered that is sent while it is tested whose loss it is.
const TEST: f64 = 0.85;

/// The part of what was delivered at which the link is used when the loss turns out to be ours.
const OURS: f64 = 0.95;

/// Rounds of a test, after those that still show what was sent before.
const TEST_ROUNDS: u32 = 2;

/// Rounds of which the best one tells what the link delivers.
const BEST_OF: usize = 4;

/// By how much the rate is raised at least and at most: twice as much each time that it was carried.
const RAISE: RangeInclusive<f64> = 0.05..=0.2;

/// The rounds until it is known what came of a raise.
const RAISE_ROUNDS: u32 = 2;

/// Rounds before a raise, at least and at most: twice as many each time that one is answered by loss or
/// by a queue.
const HOLD: RangeInclusive<u32> = 1..=64;

/// Rounds in a row in which there must be a sign: losses come in bursts.
const SIGNS: u32 = 2;

/// Lost beyond the usual: this share in any case.
const MARGIN: f64 = 0.02;

/// A queue beyond the usual: this long, and this part of the round trip.
const QUEUE: Duration = Duration::from_millis(20);
const QUEUE_SHARE: f64 = 0.1;

/// The share of what the rate allows that must have been sent for a queue to be ours.
const USED: f64 = 0.7;

/// Rounds after which a queue that was ours has drained.
const DRAIN_ROUNDS: u32 = 10;

/// What headers make of a byte of payload.
const WIRE: f64 = 1_500.0 / 1_448.0;

/// Bytes of a packet, to tell how many were lost.
const PACKET: Bytes = Bytes::new(1_500);

/// Rounds over which it is seen whether the link carries half of what is sent.
const BREAKER_ROUNDS: u32 = 10;

/// What has happened in a round trip.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    began: Instant,
    /// Bytes of payload.
    seen: LinkReport,
    /// Bytes sent, headers included.
    sent: u64,
}

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
    /// It was ours: the queue drains.
    Drain { rounds: u32 },
}

impl State {
    const STEADY: State = State::Steady { rounds: 0, signs: 0 };
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct RateControl {
    configured: f64,
    /// What the link is held to carry, in bits a second.
    ceiling: f64,
    state: State,
    /// What a round trip takes, and what is held to stand in the link's queue beyond it, in seconds.
    base: BaseRtt,
    queue: f64,
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
    /// Sent and delivered over some rounds, and how many.
    breaker: (u64, u64, u32),
    broken: bool,
}

impl RateControl {
    /// A link that is to carry `rate`.
    pub(super) fn new(rate: Rate) -> RateControl {
        let configured = rate.bits_per_sec() as f64;
        RateControl {
            configured,
            ceiling: configured,
            state: State::STEADY,
            base: BaseRtt::default(),
            queue: 0.0,
            loss: 0.0,
            hold: *HOLD.start(),
            raise: *RAISE.start(),
            deaf: 0,
            round: Round::default(),
            delivered: [0.0; BEST_OF],
            breaker: (0, 0, 0),
            broken: false,
        }
    }

    /// The rate at which the link is to be used now.
    pub(super) fn rate(&self) -> Rate {
        let factor = match self.state {
            State::Steady { .. } | State::Raised { .. } => self.ceiling,
            State::Test { delivered, .. } => delivered * TEST,
            State::Drain { .. } => self.ceiling * TEST,
        };
        Rate::from_bits_per_sec((factor.min(self.configured) as u64).max(1))
    }

    /// The bandwidth-delay product in bytes, as far as it is known: tests do not lower it.
    pub(super) fn product(&self) -> Option<u64> {
        self.base.get().map(|base| (self.ceiling * base.as_secs_f64() / 8.0) as u64)
    }

    /// Whether the link carried less than half of what was sent for long: it is not what it is held for
    /// (RFC 8084's circuit breaker). Losses are to be believed then.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// So many bytes were sent, headers included.
    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.round.sent += bytes;
    }

    /// A flow has seen something of the link.
    pub(super) fn on_report(&mut self, now: Instant, report: LinkReport) {
        self.round.seen = self.round.seen.and(report);
        if let Some(rtt) = report.rtt {
            self.base.on_rtt(rtt);
        }
        let Some(base) = self.base.get() else { return };
        let span = base + Duration::from_secs_f64(self.queue) + Duration::from_millis(1);
        if now.saturating_since(self.round.began) < span {
            return;
        }
        let round = std::mem::replace(&mut self.round, Round { began: now, ..Round::default() });
        self.base.end_round(self.is_used(now, &round));
        if now.saturating_since(round.began) > span * 3 || round.seen.delivered == Bytes::ZERO {
            // Nothing came for long: a fade, or nobody had anything to send.
            self.deaf = 2;
            return;
        }
        self.watch_breaker(&round);
        if self.deaf > 0 {
            self.deaf -= 1;
            return;
        }
        self.judge(now, base, &round);
    }

    /// Whether nearly as much was sent in a round that is over as the rate allows.
    fn is_used(&self, now: Instant, round: &Round) -> bool {
        let span = now.saturating_since(round.began).as_secs_f64();
        round.sent as f64 * 8.0 >= USED * self.rate().bits_per_sec() as f64 * span
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
        let span = now.saturating_since(round.began).as_secs_f64();
        self.delivered.rotate_right(1);
        self.delivered[0] = round.seen.delivered.as_f64() * WIRE * 8.0 / span;
        let queue = round.seen.rtt.map_or(0.0, |rtt| rtt.saturating_sub(base).as_secs_f64());
        let margin = QUEUE.as_secs_f64().max(base.as_secs_f64() * QUEUE_SHARE);
        let queues = queue - self.queue > margin;
        let used = self.is_used(now, round);
        let sign = match self.is_lossy(round) {
            true => Some(Sign::Loss(round.seen.loss())),
            false => Some(Sign::Queue(queue)).filter(|_| queues && used),
        };
        self.state = match (self.state, sign) {
            (State::Steady { rounds, signs }, Some(sign)) => match signs + 1 {
                SIGNS => self.test(sign, queue, base),
                signs => State::Steady { rounds, signs },
            },
            (State::Steady { rounds, .. }, None) => {
                self.learn(round, queue);
                let raises = self.ceiling < self.configured && rounds >= self.hold && used;
                let rounds = rounds + 1;
                if raises { self.raise() } else { State::Steady { rounds, signs: 0 } }
            }
            (State::Raised { from, .. }, Some(_)) => {
                self.ceiling = from;
                self.hold = (self.hold * 2).min(*HOLD.end());
                self.raise = *RAISE.start();
                State::Drain { rounds: 0 }
            }
            (State::Raised { rounds, .. }, None) if rounds + 1 >= RAISE_ROUNDS => {
                // It carries that.
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
                        self.ceiling = (delivered * OURS).min(self.configured);
                        if queues { State::Drain { rounds: 0 } } else { State::STEADY }
                    } else {
                        State::STEADY
                    }
                }
            },
            (State::Drain { rounds }, _) if rounds > 0 && (!queues || rounds >= DRAIN_ROUNDS) => {
                State::STEADY
            }
            (State::Drain { rounds }, _) => State::Drain { rounds: rounds + 1 },
        };
    }

    fn raise(&mut self) -> State {
        let from = self.ceiling;
        self.ceiling = (from * (1.0 + self.raise)).min(self.configured);
        State::Raised { from, rounds: 0 }
    }

    /// Whether more was lost than the link's own losses and chance explain.
    fn is_lossy(&self, round: &Round) -> bool {
        // What follows a raise is suspect.
        let margin = if matches!(self.state, State::Raised { .. }) { 0.0 } else { MARGIN };
        round.seen.loses_more_than(self.loss, margin, PACKET)
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
        let weight = (round.seen.packets(PACKET) / 1_000.0).min(0.25);
        self.loss += (round.seen.loss() - self.loss) * weight;
        self.queue = if queue < self.queue { queue } else { self.queue };
    }
}
