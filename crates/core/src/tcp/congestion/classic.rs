//! Slow start and multiplicative decrease (RFC 5681), around an interchangeable increase.

use super::{AckEvent, Congestion, CongestionEvent, Response, SlowStart, SlowStartConfig};
use crate::units::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// By how much a window grows for an acknowledgment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Increment {
    /// Whole bytes.
    pub bytes: Bytes,
    /// See [`Response::bound`].
    pub bound: Option<bool>,
}

impl From<Bytes> for Increment {
    fn from(bytes: Bytes) -> Increment {
        Increment { bytes, bound: None }
    }
}

/// How the window grows in congestion avoidance.
pub trait Increase: fmt::Debug + Serialize + DeserializeOwned + Send {
    /// By how much `window` grows for this acknowledgment.
    fn increase(&mut self, window: Bytes, ack: &AckEvent) -> Increment;

    /// A loss or timeout: the new threshold, which is half of what was outstanding unless the
    /// policy says otherwise.
    fn decrease(&mut self, event: &CongestionEvent) -> Bytes {
        event.half()
    }

    /// A loss or timeout: forget what was accumulated.
    fn restart(&mut self) {}
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

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        self.slow_start.on_ack(ack);
        // A window that was not used says nothing about the path (RFC 7661's argument).
        if !ack.may_grow() || !ack.window_limited || self.slow_start.grow(ack) {
            return Response::default();
        }
        let window = self.window();
        let Increment { bytes, bound } = self.increase.increase(window, ack);
        self.slow_start.set_window(window + bytes);
        Response { bound, ..Response::default() }
    }

    fn decrease(&mut self, event: &CongestionEvent, _timeout: bool) -> Bytes {
        self.increase.restart();
        self.increase.decrease(event)
    }
}
