//! A window that neither grows nor shrinks: for a link of which the rate is known, where whoever
//! paces it holds back what the link cannot take, and losses are the link's own.
//!
//! It stands through losses, timeouts and idle times. Losses are repaired; they say nothing.

use super::{Acked, Congested, Congestion, PacingBasis, SlowStart, SlowStartConfig};
use serde::{Deserialize, Serialize};

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct FixedWindow {
    slow_start: SlowStart,
}

impl FixedWindow {
    /// A window of the initial window's size.
    pub fn new(slow_start: SlowStartConfig, smss: u64) -> FixedWindow {
        let window = slow_start.initial_window;
        let slow_start = SlowStartConfig { initial_ssthresh: Some(window), ..slow_start };
        FixedWindow { slow_start: SlowStart::new(slow_start, smss) }
    }
}

impl Congestion for FixedWindow {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, _acked: &Acked) {}

    fn decrease(&mut self, _congested: &Congested, _timeout: bool) -> u64 {
        self.ssthresh()
    }

    fn on_loss(&mut self, _congested: &Congested) {}

    fn on_recovered(&mut self, _flight_size: u64, _smss: u64) {}

    fn on_timeout(&mut self, _congested: &Congested, _again: bool) {}

    fn remember(&mut self) {}

    fn undo(&mut self, _most: u64) -> bool {
        false
    }

    fn on_idle(&mut self) {}

    fn pacing(&self) -> PacingBasis {
        PacingBasis::Window { gain: 1.25 }
    }

    fn reduces_proportionally(&self) -> bool {
        false
    }
}
