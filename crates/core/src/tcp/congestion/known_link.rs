//! A window for a link of which the rate is known, where whoever paces the link holds back what it
//! cannot take, and losses are the link's own.
//!
//! The window is what fills the link, and a quarter: acknowledgments also wait for their timer. It
//! stands through losses, timeouts and idle times. Losses are repaired; here they say nothing. They
//! are [reported](LinkReport) to whoever shares the link out, who sees all flows and knows better.

use super::{
    AckEvent, Congestion, CongestionEvent, LinkReport, PacingBasis, Response, SlowStart,
    SlowStartConfig,
};
use crate::units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct KnownLink {
    slow_start: SlowStart,
    rate: Rate,
    /// The window at the beginning, which is the smallest.
    initial: Bytes,
}

impl KnownLink {
    /// A link that carries `rate`. The window is the initial one until a round trip was measured.
    pub fn new(slow_start: SlowStartConfig, smss: Bytes, rate: Rate) -> KnownLink {
        let initial = slow_start.initial_window.max(smss);
        let slow_start = SlowStartConfig { initial_ssthresh: Some(initial), ..slow_start };
        KnownLink { slow_start: SlowStart::new(slow_start, smss), rate, initial }
    }
}

impl Congestion for KnownLink {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        if let Some(min_rtt) = ack.min_rtt.filter(|_| ack.reports()) {
            let product = self.rate.bytes_in(min_rtt);
            let window = self.initial.max(Bytes::new(product.saturating_add(product / 4)));
            self.slow_start.set(window, window);
        }
        Response { report: LinkReport::of(ack), ..Response::default() }
    }

    fn on_loss(&mut self, _event: &CongestionEvent) {}

    fn on_recovered(&mut self, _flight_size: Bytes, _smss: Bytes) {}

    fn on_timeout(&mut self, _event: &CongestionEvent, _again: bool) {}

    fn save_undo(&mut self) {}

    fn undo(&mut self, _most: Bytes) -> bool {
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
