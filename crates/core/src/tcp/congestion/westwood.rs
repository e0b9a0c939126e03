//! Westwood+ (Mascolo et al., "TCP Westwood: bandwidth estimation for enhanced transport over
//! wireless links", MobiCom 2001; Grieco and Mascolo, "Performance evaluation and comparison of
//! Westwood+, New Reno, and Vegas TCP congestion control", ACM CCR 34(2), 2004), with the filter of
//! Linux' `tcp_westwood.c`.
//!
//! After a loss the threshold is what the path carries in the minimum round-trip time: the
//! bandwidth that acknowledgments have shown, and not half of what was in flight, so that a loss by
//! the link itself, of which no queue tells, costs little. The window grows as the standard's.

use super::{AckEvent, Congestion, CongestionEvent, Departed, Increase, Response};
use super::{SlowStart, SlowStartConfig, Standard};
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// A sample spans a round trip, and no less than this.
const MIN_SPAN: Duration = Duration::from_millis(50);

/// What acknowledgments have shown of the path.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Estimate {
    /// The sample that is being built.
    began: Option<Instant>,
    bytes: Bytes,
    /// Bytes a second, filtered once and twice.
    once: f64,
    twice: f64,
    min_rtt: Option<Duration>,
}

impl Estimate {
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        let began = *self.began.get_or_insert(ack.now);
        let span = ack.now.saturating_since(began);
        let round_trip = ack.srtt.unwrap_or_default().max(MIN_SPAN);
        if span > round_trip {
            self.filter(self.bytes.as_f64() / span.as_secs_f64());
            (self.began, self.bytes) = (Some(ack.now), Bytes::ZERO);
        }
        self.bytes += ack.newly;
    }

    fn filter(&mut self, sample: f64) {
        if self.twice == 0.0 {
            (self.once, self.twice) = (sample, sample);
            return;
        }
        self.once = (7.0 * self.once + sample) / 8.0;
        self.twice = (7.0 * self.twice + self.once) / 8.0;
    }

    /// What the path holds, if it is known.
    fn product(&self) -> Option<Bytes> {
        let min_rtt = self.min_rtt.filter(|_| self.twice > 0.0)?;
        Some(Bytes::from_f64(self.twice * min_rtt.as_secs_f64()))
    }
}

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct Westwood {
    slow_start: SlowStart,
    increase: Standard,
    estimate: Estimate,
}

impl Westwood {
    /// At the beginning of a connection with segments of `smss` bytes.
    pub fn new(slow_start: SlowStartConfig, smss: Bytes) -> Westwood {
        let slow_start = SlowStart::new(slow_start, smss);
        Westwood { slow_start, increase: Standard::default(), estimate: Estimate::default() }
    }
}

impl Congestion for Westwood {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        self.slow_start.on_ack(ack);
        if ack.reports() {
            self.estimate.on_ack(ack);
        }
        if ack.may_grow() && ack.window_limited && !self.slow_start.grow(ack) {
            let window = self.window();
            self.slow_start.set_window(window + self.increase.increase(window, ack).bytes);
        }
        Response::default()
    }

    fn on_sent(&mut self, departed: &Departed) {
        // A silence of our own says nothing about the path.
        if departed.in_flight == Bytes::ZERO {
            (self.estimate.began, self.estimate.bytes) = (Some(departed.now), Bytes::ZERO);
        }
    }

    fn decrease(&mut self, event: &CongestionEvent, timeout: bool) -> Bytes {
        self.increase.restart();
        let product = self.estimate.product();
        if timeout {
            // The path may be another one.
            self.estimate.min_rtt = None;
        }
        product.map_or_else(|| event.half(), |product| product.max(2 * event.smss))
    }
}
