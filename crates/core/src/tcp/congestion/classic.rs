//! Slow start and multiplicative decrease (RFC 5681), around an interchangeable increase.

use super::{AckSample, BoundCount, Congestion, CongestionEvent, SlowStart, SlowStartConfig, half};
use crate::units::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How the window grows in congestion avoidance.
pub trait Increase: fmt::Debug + Serialize + DeserializeOwned + Send {
    /// By how many bytes `window` grows for this acknowledgment.
    fn increase(&mut self, window: Bytes, acked: &AckSample) -> Bytes;

    /// A loss or timeout: the new threshold, which is half of what was outstanding unless the
    /// policy says otherwise.
    fn decrease(&mut self, event: &CongestionEvent) -> Bytes {
        half(event)
    }

    /// A loss or timeout: forget what was accumulated.
    fn restart(&mut self) {}

    /// See [`Congestion::bound_count`].
    fn bound_count(&self) -> BoundCount {
        BoundCount::default()
    }
}

/// Slow start, increase `I`, and its decrease: halving as a rule.
#[derive(Debug, Serialize, Deserialize)]
pub struct Classic<I> {
    slow_start: SlowStart,
    increase: I,
}

impl<I: Increase> Classic<I> {
    /// At the beginning of a connection with segments of `smss` bytes.
    pub fn new(slow_start: SlowStartConfig, smss: Bytes, increase: I) -> Classic<I> {
        Classic { slow_start: SlowStart::new(slow_start, smss), increase }
    }
}

impl<I: Increase> Congestion for Classic<I> {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, acked: &AckSample) {
        // A window that was not used says nothing about the path (RFC 7661's argument).
        if acked.window_limited && !self.slow_start.on_ack(acked) {
            let window = self.window();
            self.slow_start.set_window(window + self.increase.increase(window, acked));
        }
    }

    fn decrease(&mut self, event: &CongestionEvent, _timeout: bool) -> Bytes {
        self.increase.restart();
        self.increase.decrease(event)
    }

    fn bound_count(&self) -> BoundCount {
        self.increase.bound_count()
    }
}
