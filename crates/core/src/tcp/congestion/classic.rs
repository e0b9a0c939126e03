//! Slow start and multiplicative decrease (RFC 5681), around an interchangeable increase.

use super::{Acked, Congested, Congestion};
use std::fmt;

/// How the window grows in congestion avoidance.
pub trait Increase: fmt::Debug + Send {
    /// By how many bytes `window` grows for this acknowledgment.
    fn increase(&mut self, window: u64, acked: &Acked) -> u64;

    /// A loss or timeout: forget what was accumulated.
    fn restart(&mut self) {}
}

/// Parameters of slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowStart {
    /// The initial window in bytes (RFC 6928 allows ten segments).
    pub initial_window: u64,
    /// The initial slow start threshold; without one slow start goes on until a loss.
    pub initial_ssthresh: Option<u64>,
    /// The most that one acknowledgment may add, in segments: 1 is RFC 5681 to the letter,
    /// 2 is RFC 3465's L; None counts all bytes, as receivers that merge segments need.
    pub byte_limit: Option<u32>,
}

/// Slow start, increase `I`, halving.
#[derive(Debug)]
pub struct Classic<I> {
    slow_start: SlowStart,
    window: u64,
    ssthresh: u64,
    increase: I,
}

impl<I: Increase> Classic<I> {
    /// At the beginning of a connection with segments of `smss` bytes.
    pub fn new(slow_start: SlowStart, smss: u64, increase: I) -> Classic<I> {
        Classic {
            slow_start,
            window: slow_start.initial_window.max(smss),
            ssthresh: slow_start.initial_ssthresh.unwrap_or(u64::MAX).max(2 * smss),
            increase,
        }
    }

    /// RFC 5681, equation 4.
    fn halve(&mut self, congested: &Congested) {
        self.ssthresh = (congested.flight_size / 2).max(2 * congested.smss);
        self.increase.restart();
    }
}

impl<I: Increase> Congestion for Classic<I> {
    fn window(&self) -> u64 {
        self.window
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn on_ack(&mut self, acked: &Acked) {
        // A window that was not used says nothing about the path (RFC 7661's argument).
        if !acked.window_limited {
            return;
        }
        if self.window < self.ssthresh {
            let limit = self.slow_start.byte_limit.map_or(u64::MAX, |l| u64::from(l) * acked.smss);
            let grown = self.window + acked.bytes.min(limit);
            self.window = grown.min(self.ssthresh.max(self.window + acked.smss));
        } else {
            self.window += self.increase.increase(self.window, acked);
        }
    }

    fn on_loss(&mut self, congested: &Congested) {
        self.halve(congested);
        self.window = self.ssthresh;
    }

    fn on_recovered(&mut self, flight_size: u64, smss: u64) {
        // RFC 6582, 3.2, step 3, option 1: no burst at the end of recovery.
        self.window = self.ssthresh.min(flight_size.max(smss) + smss);
    }

    fn on_timeout(&mut self, congested: &Congested, again: bool) {
        // RFC 5681, 3.1: the threshold is held when the same data times out again.
        if !again {
            self.halve(congested);
        }
        self.window = congested.smss;
    }

    fn begin_within(&mut self, window: u64) {
        self.window = self.window.min(window);
    }

    fn on_idle(&mut self) {
        self.window = self.window.min(self.slow_start.initial_window);
    }
}
