//! Vegas (Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet",
//! 1995): as many segments in the bottleneck's queue as the connection is to hold there.
//!
//! Once each round trip the window divided by the minimum round-trip time (the expected rate) is
//! compared with the window divided by this round's (the actual rate). Their difference times the
//! minimum round-trip time is what waits in the queue. Below α segments the window grows by one,
//! above β it shrinks by one. Slow start doubles every other round trip and ends above γ.
//!
//! The round's time is the mean of its samples, as in ns-2's Vegas. A loss halves the window as
//! Reno's does, unless [`Band::decrease`] says otherwise: the paper's takes a quarter where the
//! finer retransmission timer found the loss, and ns-2's does so for all first losses. That timer
//! itself is recovery's business, and not part of this.

use super::{AckEvent, Congestion, CongestionEvent, Response, SlowStart, SlowStartConfig};
use crate::time::Duration;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// The segments that are to wait in the bottleneck's queue, and what a loss takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Below so many the window grows.
    pub alpha: f64,
    /// Above so many the window shrinks.
    pub beta: f64,
    /// Above so many slow start ends.
    pub gamma: f64,
    /// The part of the window that a loss takes; a timeout takes half of it.
    pub decrease: f64,
}

impl Band {
    /// The paper's Vegas-1,3, with its γ, and RFC 5681's decrease.
    pub const ONE_THREE: Band = Band { alpha: 1.0, beta: 3.0, gamma: 1.0, decrease: 0.5 };
}

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct Vegas {
    slow_start: SlowStart,
    band: Band,
    round: Option<u64>,
    /// The sum and number of this round's samples.
    samples: (Duration, u32),
    /// Slow start grows in this round.
    growing: bool,
}

impl Vegas {
    /// At the beginning of a connection with segments of `smss` bytes.
    pub fn new(slow_start: SlowStartConfig, smss: Bytes, band: Band) -> Vegas {
        Vegas {
            slow_start: SlowStart::new(slow_start, smss),
            band,
            round: None,
            samples: (Duration::ZERO, 0),
            growing: true,
        }
    }

    /// A round has ended with a mean round-trip time of `rtt`, the least ever being `base_rtt`.
    fn adjust(&mut self, base_rtt: Duration, rtt: Duration, smss: Bytes) {
        let window = self.window();
        let waiting = 1.0 - base_rtt.as_secs_f64() / rtt.as_secs_f64();
        let diff = window.as_f64() / smss.as_f64() * waiting;
        if self.slow_start.is_under_way() {
            if diff > self.band.gamma {
                self.slow_start.end();
            }
            return;
        }
        if diff < self.band.alpha {
            self.slow_start.set_window(window + smss);
        } else if diff > self.band.beta {
            // The threshold goes along: to shrink is no reason for slow start.
            let window = window.saturating_sub(smss).max(2 * smss);
            self.slow_start.set(window, self.ssthresh().min(window));
        }
    }

    fn begin_round(&mut self, round: Option<u64>) {
        self.round = round;
        self.samples = (Duration::ZERO, 0);
    }
}

impl Congestion for Vegas {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        self.slow_start.on_ack(ack);
        if !ack.may_grow() {
            return Response::default();
        }
        if let Some(rtt) = ack.rtt {
            self.samples = (self.samples.0 + rtt, self.samples.1 + 1);
        }
        if self.round.is_none() {
            self.round = Some(ack.round);
        }
        if self.round != Some(ack.round) {
            let (sum, count) = self.samples;
            let mean = sum.checked_div(count).filter(|mean| !mean.is_zero());
            if let (Some(base_rtt), Some(mean), true) = (ack.min_rtt, mean, ack.window_limited) {
                self.adjust(base_rtt, mean, ack.smss);
            }
            self.growing = !self.growing;
            self.begin_round(Some(ack.round));
        }
        if self.growing && ack.window_limited && self.slow_start.is_under_way() {
            self.slow_start.grow(ack);
        }
        Response::default()
    }

    fn decrease(&mut self, event: &CongestionEvent, timeout: bool) -> Bytes {
        self.begin_round(None);
        self.growing = true;
        if timeout {
            return event.half();
        }
        let left = event.flight_size.as_f64() * (1.0 - self.band.decrease);
        Bytes::from_f64(left).max(2 * event.smss)
    }

    fn on_idle(&mut self) {
        self.slow_start.on_idle();
        self.begin_round(None);
    }
}
