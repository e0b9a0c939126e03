//! A window that is no limit, for flows that take turns on a link.
//!
//! Its scheduler holds all of them together to what the link carries. Losses, timeouts and idle
//! times change nothing: they are [reported](LinkReport) to the scheduler, which sees all flows.

use super::{
    AckEvent, Congestion, CongestionEvent, LinkReport, PacingBasis, Response, SlowStart,
    SlowStartConfig,
};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// More than any link holds, and less than the largest window of TCP (RFC 7323, 2.3).
const WINDOW: Bytes = Bytes::new(1 << 29);

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct SharedLink {
    slow_start: SlowStart,
}

impl SharedLink {
    /// On any link.
    pub fn new(slow_start: SlowStartConfig, smss: Bytes) -> SharedLink {
        let mut slow_start = SlowStart::new(slow_start, smss);
        slow_start.set(WINDOW, WINDOW);
        SharedLink { slow_start }
    }
}

impl Congestion for SharedLink {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        self.slow_start.set(WINDOW, WINDOW);
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
        PacingBasis::Rate(None)
    }

    fn reduces_proportionally(&self) -> bool {
        false
    }
}
