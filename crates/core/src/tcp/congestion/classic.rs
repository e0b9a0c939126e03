//! Slow start and multiplicative decrease (RFC 5681), around an interchangeable increase.

use super::{Acked, Congested, Congestion, SlowStart, SlowStartConfig};
use std::fmt;

/// How the window grows in congestion avoidance.
pub trait Increase: fmt::Debug + Send {
    /// By how many bytes `window` grows for this acknowledgment.
    fn increase(&mut self, window: u64, acked: &Acked) -> u64;

    /// A loss or timeout: forget what was accumulated.
    fn restart(&mut self) {}
}

/// Slow start, increase `I`, halving.
#[derive(Debug)]
pub struct Classic<I> {
    slow_start: SlowStart,
    increase: I,
}

impl<I: Increase> Classic<I> {
    /// At the beginning of a connection with segments of `smss` bytes.
    pub fn new(slow_start: SlowStartConfig, smss: u64, increase: I) -> Classic<I> {
        Classic { slow_start: SlowStart::new(slow_start, smss), increase }
    }

    /// RFC 5681, equation 4: the new threshold.
    fn halve(&mut self, congested: &Congested) -> u64 {
        self.increase.restart();
        (congested.flight_size / 2).max(2 * congested.smss)
    }
}

impl<I: Increase> Congestion for Classic<I> {
    fn window(&self) -> u64 {
        self.slow_start.window()
    }

    fn ssthresh(&self) -> u64 {
        self.slow_start.ssthresh()
    }

    fn on_ack(&mut self, acked: &Acked) {
        // A window that was not used says nothing about the path (RFC 7661's argument).
        if acked.window_limited && !self.slow_start.on_ack(acked) {
            let window = self.window();
            self.slow_start.set_window(window + self.increase.increase(window, acked));
        }
    }

    fn on_loss(&mut self, congested: &Congested) {
        let ssthresh = self.halve(congested);
        self.slow_start.reduce(ssthresh, ssthresh);
    }

    fn on_recovered(&mut self, flight_size: u64, smss: u64) {
        self.slow_start.on_recovered(flight_size, smss);
    }

    fn on_timeout(&mut self, congested: &Congested, again: bool) {
        // RFC 5681, 3.1: the threshold is held when the same data times out again.
        let ssthresh = if again { self.ssthresh() } else { self.halve(congested) };
        self.slow_start.on_timeout(ssthresh, congested.smss);
    }

    fn begin_within(&mut self, window: u64) {
        self.slow_start.begin_within(window);
    }

    fn on_idle(&mut self) {
        self.slow_start.on_idle();
    }

    fn pacing_gain(&self) -> f64 {
        self.slow_start.pacing_gain()
    }
}
