//! Copa: a rate of 1 / (δ d_q), d_q being the queueing delay.
//!
//! Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI
//! 2018. That rate is the equilibrium of flows that each weigh their throughput against the queue's
//! delay by δ. The window moves towards it by v / δ segments each round trip. The velocity v
//! doubles while the direction stays the same, from the third round trip on. In equilibrium a
//! flow's queue then goes from nothing to 2.5 / δ segments and back every five round trips.
//!
//! A flow that does not see the queue nearly empty in five round trips shares it with flows that
//! fill it. It competes: 1 / δ grows by one each round trip, and a loss halves it, as NewReno's
//! window. Losses mean nothing otherwise.
//!
//! The queueing delay is RTTstanding, the minimum of half a smoothed round-trip time, above RTTmin,
//! that of ten seconds. The pacing rate is twice the window in RTTstanding.
//!
//! A queue of one segment is nearly empty only where that is a tenth of the range. On a path of few
//! segments (15 at δ = 0.5) a flow alone competes with itself, and fills the queue.
//!
//! Differences:
//!
//! - The velocity falls back to one as soon as the target says the other direction, as in mvfst. In
//!   the paper it does so at the end of the round trip. The window at most doubles in one.
//! - A timeout, of which the paper says nothing, is RFC 5681's.
//! - A window that was not used does not grow.
//! - Minima are of spans counted in whole milliseconds (RTTstanding) and tenths of a second
//!   (RTTmin).

use super::filter::WindowedMax;
use super::{AckEvent, Congestion, CongestionEvent, PacingBasis, Response};
use super::{SlowStart, SlowStartConfig};
use crate::snapshot::fraction;
use crate::time::Duration;
use crate::units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

/// How long a minimum round-trip time holds.
const MIN_RTT_AGE: Duration = Duration::from_secs(10);
/// It is kept in spans of so long.
const MIN_RTT_SPAN: Duration = Duration::from_millis(100);
/// And RTTstanding in these.
const STANDING_SPAN: Duration = Duration::from_millis(1);
/// Round trips of the greatest delay, with which a queue is compared.
const MAX_RTT_ROUNDS: u64 = 4;
/// A queue below this part of the greatest is nearly empty.
const NEARLY_EMPTY: f64 = 0.1;
/// Round trips in which it must be, or the flow competes.
const EMPTY_ROUNDS: u64 = 5;
/// Round trips in one direction from which on the velocity doubles.
const STEADY_ROUNDS: u32 = 3;
/// How much faster than the window's own rate pacing is.
const PACING_GAIN: f64 = 2.0;
/// The least window, in segments.
const MIN_WINDOW: u64 = 2;

/// Minima and maxima of round-trip times, in seconds.
#[derive(Debug, Default, Serialize, Deserialize)]
struct RoundTrips {
    /// Of negative values, whose maximum is the minimum.
    min: WindowedMax,
    standing: WindowedMax,
    max: WindowedMax,
}

impl RoundTrips {
    fn update(&mut self, ack: &AckEvent, rtt: f64) {
        let now = Duration::from_nanos(ack.now.as_nanos());
        let spans = |time: Duration, span: Duration| (time.as_nanos() / span.as_nanos()) as u64;
        self.min.update(spans(now, MIN_RTT_SPAN), -rtt, spans(MIN_RTT_AGE, MIN_RTT_SPAN));
        let half = ack.srtt.unwrap_or_default() / 2;
        self.standing.update(spans(now, STANDING_SPAN), -rtt, spans(half, STANDING_SPAN));
        self.max.update(ack.round, rtt, MAX_RTT_ROUNDS);
    }

    fn min(&self) -> f64 {
        -self.min.max()
    }

    fn standing(&self) -> f64 {
        -self.standing.max()
    }

    /// d_q.
    fn queueing(&self) -> f64 {
        (self.standing() - self.min()).max(0.0)
    }

    fn is_nearly_empty(&self) -> bool {
        self.queueing() <= NEARLY_EMPTY * (self.max.max() - self.min())
    }
}

/// Where the window goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Direction {
    Up,
    Down,
}

/// The velocity, and what it follows from.
#[derive(Debug, Serialize, Deserialize)]
struct Velocity {
    v: f64,
    direction: Direction,
    /// Round trips in this direction.
    rounds: u32,
    /// The window when this round trip began.
    began_with: Bytes,
}

impl Velocity {
    fn new(window: Bytes) -> Velocity {
        Velocity { v: 1.0, direction: Direction::Up, rounds: 0, began_with: window }
    }

    /// A round trip ends with this window; the velocity may be `max`.
    fn end_round(&mut self, window: Bytes, max: f64) {
        let direction = if window > self.began_with { Direction::Up } else { Direction::Down };
        if direction == self.direction {
            self.rounds += 1;
            if self.rounds >= STEADY_ROUNDS {
                self.v = (2.0 * self.v).min(max.max(1.0));
            }
        } else {
            self.turn(direction);
        }
        self.began_with = window;
    }

    fn turn(&mut self, direction: Direction) {
        (self.v, self.direction, self.rounds) = (1.0, direction, 0);
    }

    /// Takes the direction of an acknowledgment. A velocity of the other one would overshoot.
    fn follow(&mut self, direction: Direction) {
        if direction != self.direction && self.v > 1.0 {
            self.turn(direction);
        }
    }
}

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct Copa {
    slow_start: SlowStart,
    /// δ without competition, which is the greatest.
    usual: f64,
    /// 1 / δ now.
    #[serde(with = "fraction")]
    pub(super) inverse: f64,
    round_trips: RoundTrips,
    velocity: Velocity,
    round: u64,
    /// The last round in which the queue was nearly empty.
    empty: u64,
    /// Of a byte, still to be added or taken.
    #[serde(with = "fraction")]
    rest: f64,
}

impl Copa {
    /// At the beginning of a connection with segments of `smss` bytes.
    pub fn new(slow_start: SlowStartConfig, smss: Bytes, delta: f64) -> Copa {
        let slow_start = SlowStartConfig { initial_ssthresh: None, ..slow_start };
        let slow_start = SlowStart::new(slow_start, smss);
        Copa {
            velocity: Velocity::new(slow_start.window()),
            slow_start,
            usual: delta,
            inverse: 1.0 / delta,
            round_trips: RoundTrips::default(),
            round: 0,
            empty: 0,
            rest: 0.0,
        }
    }

    /// Whether the queue is shared with flows that fill it.
    fn competes(&self) -> bool {
        self.round - self.empty > EMPTY_ROUNDS
    }

    /// Takes the modes on: δ of the one or of the other.
    fn update_mode(&mut self, ack: &AckEvent) {
        let new_round = ack.round > self.round;
        self.round = self.round.max(ack.round);
        if self.slow_start.is_under_way() || self.round_trips.is_nearly_empty() {
            self.empty = self.round;
        }
        if !self.competes() {
            self.inverse = 1.0 / self.usual;
        } else if new_round {
            self.inverse += 1.0;
        }
        if new_round && !self.slow_start.is_under_way() {
            let window = self.slow_start.window();
            // The window at most doubles.
            let max = window.as_f64() / ack.smss.as_f64() / self.inverse;
            self.velocity.end_round(window, max);
        }
    }

    /// Whether the window is below the target: cwnd / RTTstanding ≤ 1 / (δ d_q).
    fn is_below_target(&self, smss: Bytes) -> bool {
        let window = self.slow_start.window().as_f64() * self.round_trips.queueing();
        window <= self.inverse * smss.as_f64() * self.round_trips.standing()
    }

    fn move_window(&mut self, ack: &AckEvent, up: bool) {
        let window = self.slow_start.window();
        self.velocity.follow(if up { Direction::Up } else { Direction::Down });
        // v / (δ cwnd) segments for each that arrives.
        let segments = self.velocity.v * self.inverse / window.as_f64() * ack.smss.as_f64();
        let step = segments * ack.newly.as_f64();
        let change = if up { step } else { -step } + self.rest;
        self.rest = change.fract();
        let changed = Bytes::from_f64((window.as_f64() + change.trunc()).max(0.0));
        let changed = changed.clamp(MIN_WINDOW * ack.smss, super::slow_start::LARGEST_WINDOW);
        self.slow_start.set(changed, self.slow_start.ssthresh().min(changed));
    }
}

impl Congestion for Copa {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        self.slow_start.on_ack(ack);
        if ack.newly == Bytes::ZERO {
            return Response::default();
        }
        // Behind a timeout there may be none for long, and the window grows all the same.
        if let Some(rtt) = ack.rtt {
            self.round_trips.update(ack, rtt.as_secs_f64());
        }
        self.update_mode(ack);
        let up = self.is_below_target(ack.smss);
        if self.slow_start.is_under_way() {
            if up && ack.may_grow() && ack.window_limited {
                self.slow_start.grow(ack);
            } else if !up {
                self.slow_start.end();
                self.velocity = Velocity::new(self.slow_start.window());
            }
        } else if !up || ack.window_limited {
            self.move_window(ack, up);
        }
        Response::default()
    }

    /// Losses that are no competitor's mean nothing.
    fn on_loss(&mut self, _event: &CongestionEvent) {
        if self.competes() {
            self.inverse = (self.inverse / 2.0).max(1.0 / self.usual);
        }
    }

    fn on_recovered(&mut self, _flight_size: Bytes, _smss: Bytes) {}

    fn decrease(&mut self, event: &CongestionEvent, _timeout: bool) -> Bytes {
        self.velocity = Velocity::new(self.slow_start.window());
        self.rest = 0.0;
        event.half()
    }

    fn pacing(&self) -> PacingBasis {
        let standing = self.round_trips.standing();
        if standing <= 0.0 {
            return PacingBasis::Window { gain: PACING_GAIN };
        }
        let rate = PACING_GAIN * self.window().as_f64() / standing;
        PacingBasis::Rate(Some(Rate::from_bits_per_sec((rate * 8.0) as u64)))
    }

    fn needs_pacing(&self) -> bool {
        true
    }

    fn reduces_proportionally(&self) -> bool {
        false
    }
}
