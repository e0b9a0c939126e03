//! Hybla (Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", 2004):
//! the window grows in time as that of a connection whose round-trip time is RTT₀, whatever it
//! really is.
//!
//! With ρ = RTT / RTT₀, at least 1, an acknowledgment adds 2^ρ − 1 segments in slow start and
//! ρ² / cwnd in congestion avoidance, and the window at the beginning is at least ρ segments. The
//! paper pairs it with SACK, timestamps and pacing; here those are the sender's business.

use super::{AckEvent, Congestion, CongestionEvent, Response, SlowStart, SlowStartConfig};
use crate::time::Duration;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// See the module's head.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hybla {
    slow_start: SlowStart,
    rtt0: Duration,
    /// No acknowledgment has come yet.
    beginning: bool,
    /// Fractions of a byte that are still to be added.
    fraction: f64,
}

impl Hybla {
    /// Equal to connections with a round-trip time of `rtt0`: 25 ms in the paper.
    pub fn new(slow_start: SlowStartConfig, smss: Bytes, rtt0: Duration) -> Hybla {
        let slow_start = SlowStart::new(slow_start, smss);
        Hybla { slow_start, rtt0, beginning: true, fraction: 0.0 }
    }

    fn rho(&self, ack: &AckEvent) -> f64 {
        let rtt = ack.srtt.unwrap_or(self.rtt0);
        (rtt.as_secs_f64() / self.rtt0.as_secs_f64()).max(1.0)
    }
}

impl Congestion for Hybla {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        self.slow_start.on_ack(ack);
        if !ack.may_grow() || !ack.window_limited {
            return Response::default();
        }
        let rho = self.rho(ack);
        if self.beginning {
            self.beginning = false;
            let window = self.window().max(Bytes::from_f64(rho * ack.smss.as_f64()));
            self.slow_start.set_window(window);
        }
        if self.slow_start.grow_times(ack, rho.exp2() - 1.0) {
            return Response::default();
        }
        let (window, smss) = (self.window(), ack.smss.as_f64());
        let bytes = rho * rho * smss * ack.acked.as_f64() / window.as_f64() + self.fraction;
        self.fraction = bytes.fract();
        self.slow_start.set_window(window + Bytes::from_f64(bytes));
        Response::default()
    }

    fn decrease(&mut self, event: &CongestionEvent, _timeout: bool) -> Bytes {
        self.fraction = 0.0;
        event.half()
    }
}
