//! A window for a link of which the rate is known, where whoever paces the link holds back what it
//! cannot take, and losses are the link's own.
//!
//! The window is what fills the link, and a quarter: acknowledgments also wait for their timer. It
//! stands through losses, timeouts and idle times. Losses are repaired; here they say nothing. They are
//! [reported](LinkReport) to whoever shares the link out, who sees all flows and knows better.

use super::{
    AckEvent, Congestion, CongestionEvent, PacingBasis, Response, SlowStart, SlowStartConfig,
};
use crate::time::Duration;
use crate::units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

/// What a flow has seen of its link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkReport {
    /// Bytes delivered.
    pub delivered: Bytes,
    /// Bytes marked lost.
    pub lost: Bytes,
    /// The minimum round-trip time among them, if any was measured.
    pub rtt: Option<Duration>,
}

impl LinkReport {
    /// What an acknowledgment says.
    pub fn of(ack: &AckEvent) -> LinkReport {
        LinkReport { delivered: ack.newly, lost: ack.lost, rtt: ack.rtt }
    }

    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        *self == LinkReport::default()
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: LinkReport) -> LinkReport {
        LinkReport {
            delivered: self.delivered + other.delivered,
            lost: self.lost + other.lost,
            rtt: self.rtt.into_iter().chain(other.rtt).min(),
        }
    }

    /// The share of the bytes that were lost.
    pub fn loss(&self) -> f64 {
        let all = self.delivered + self.lost;
        if all == Bytes::ZERO { 0.0 } else { self.lost.as_f64() / all.as_f64() }
    }

    /// Whether more was lost than a `share`, chance (three standard deviations) and a margin of `beyond`
    /// explain, in packets of so many bytes.
    pub fn loses_more_than(&self, share: f64, beyond: f64, packet: Bytes) -> bool {
        let packets = self.packets(packet);
        let usual = packets * share;
        let chance = 3.0 * (usual * (1.0 - share) + 1.0).sqrt();
        self.loss() * packets > usual + chance + beyond * packets
    }

    /// How many packets of so many bytes they were.
    pub fn packets(&self, packet: Bytes) -> f64 {
        (self.delivered + self.lost).as_f64() / packet.as_f64()
    }
}

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
