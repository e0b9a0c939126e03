//! What a sender reports to a congestion control, and what the control answers.
//!
//! Bytes and times, no sequence numbers. [`Congestion`](super::Congestion) says which comes when.

use crate::tcp::delivery_rate::{LossSample, RateSample};
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Where loss recovery stands once it has judged an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryPhase {
    /// No episode of fast recovery is under way.
    Open,
    /// An episode goes on.
    Recovery,
    /// An episode goes on whose losses are known to be corruption: no sign of congestion.
    Corruption,
    /// An episode begins or ends, or there is another sign of congestion. The window is what that
    /// has made of it, and does not grow at once.
    Turning {
        /// Whether an episode is under way from now on.
        in_recovery: bool,
    },
}

/// An acknowledgment that acknowledges, reports or shows something new.
#[derive(Debug, Clone, Copy)]
pub struct AckEvent {
    /// When it came.
    pub now: Instant,
    /// Sender maximum segment size.
    pub smss: Bytes,
    /// Bytes newly acknowledged: cumulatively outside fast recovery. In an episode, those newly
    /// reported, as what is acknowledged then was often reported before.
    pub acked: Bytes,
    /// Bytes newly reported, cumulatively or selectively.
    pub newly: Bytes,
    /// All bytes reported so far.
    pub delivered: Bytes,
    /// Bytes marked lost since the last event.
    pub lost: Bytes,
    /// Bytes in flight before it.
    pub in_flight_before: Bytes,
    /// Bytes in flight after it.
    pub in_flight: Bytes,
    /// The round-trip time that it measured, if it did.
    pub rtt: Option<Duration>,
    /// That of a retransmission, as far as it can have arrived since. After a timeout there is
    /// none: the original may just have been late (Karn and Partridge, 1987).
    pub rtt_again: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The minimum round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// The delivery rate, if it reports anything.
    pub sample: Option<RateSample>,
    /// Round trips so far: it grows by one when the data that was sent right behind the last growth
    /// has been acknowledged.
    pub round: u64,
    /// The moment from which pacing lets the next segment leave; the past if it may now.
    pub next_send: Instant,
    /// Whether the window, not the application or the peer, limited what was in flight.
    pub window_limited: bool,
    /// The peer reports what arrives out of order (SACK).
    pub selective: bool,
    /// Where loss recovery stands.
    pub phase: RecoveryPhase,
    /// What was outstanding when the retransmission timer last expired is not all acknowledged.
    pub after_timeout: bool,
}

impl AckEvent {
    /// Whether it says anything of the path. An acknowledgment of what was reported before does
    /// not.
    pub fn reports(&self) -> bool {
        self.newly + self.lost > Bytes::ZERO
    }

    /// Whether the window may grow by it, as far as loss recovery is concerned.
    pub fn may_grow(&self) -> bool {
        self.phase != RecoveryPhase::Recovery && self.may_grow_in_recovery()
    }

    /// The same for a control to which a loss need not mean congestion.
    pub fn may_grow_in_recovery(&self) -> bool {
        let turning = matches!(self.phase, RecoveryPhase::Turning { .. });
        self.acked > Bytes::ZERO && !turning
    }

    /// Whether an episode of fast recovery is under way.
    pub fn in_recovery(&self) -> bool {
        match self.phase {
            RecoveryPhase::Open => false,
            RecoveryPhase::Recovery | RecoveryPhase::Corruption => true,
            RecoveryPhase::Turning { in_recovery } => in_recovery,
        }
    }
}

/// What a congestion control makes of an acknowledgment, besides the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Response {
    /// It has reduced the window by itself because of losses: the sender counts that.
    pub reduced: bool,
    /// It keeps the flow below what the path takes. The next deliveries say nothing about the path,
    /// as if the application had no more to send.
    pub app_limited: bool,
    /// Whether the bound of one segment an acknowledgment has held the increase. None in slow
    /// start, and of controls without that bound.
    pub bound: Option<bool>,
    /// What has been seen of the link, for those that share it; empty of most controls.
    pub report: LinkReport,
}

/// What a flow has seen of its link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkReport {
    /// Bytes delivered.
    pub delivered: Bytes,
    /// Bytes marked lost.
    pub lost: Bytes,
    /// The minimum round-trip time among them, if any was measured.
    pub rtt: Option<Duration>,
    /// That of retransmissions: while many losses are repaired there is no other.
    pub rtt_again: Option<Duration>,
}

impl LinkReport {
    /// What an acknowledgment says.
    pub fn of(ack: &AckEvent) -> LinkReport {
        let AckEvent { newly, lost, rtt, rtt_again, .. } = *ack;
        LinkReport { delivered: newly, lost, rtt, rtt_again }
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
            rtt_again: self.rtt_again.into_iter().chain(other.rtt_again).min(),
        }
    }

    /// The share of the bytes that were lost.
    pub fn loss(&self) -> f64 {
        let all = self.delivered + self.lost;
        if all == Bytes::ZERO { 0.0 } else { self.lost.as_f64() / all.as_f64() }
    }

    /// Says whether more was lost than a `share`, chance and a margin of `beyond` explain. Chance
    /// is three standard deviations, in packets of so many bytes.
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

/// A segment that has just left.
#[derive(Debug, Clone, Copy)]
pub struct Departed {
    /// When.
    pub now: Instant,
    /// Its bytes.
    pub bytes: Bytes,
    /// Bytes in flight before it left.
    pub in_flight: Bytes,
    /// The sender had run out of data, and what it had sent by then has not all been delivered.
    pub app_limited: bool,
}

/// A segment that is newly marked lost.
#[derive(Debug, Clone, Copy)]
pub struct Lost {
    /// When it is.
    pub now: Instant,
    /// All bytes reported by now.
    pub delivered: Bytes,
    /// What happened since it left.
    pub sample: LossSample,
}

/// A congestion signal.
#[derive(Debug, Clone, Copy)]
pub struct CongestionEvent {
    /// When it was noticed.
    pub now: Instant,
    /// RFC 5681's FlightSize, without what limited transmit added.
    pub flight_size: Bytes,
    /// Bytes in flight, without what is marked lost.
    pub in_flight: Bytes,
    /// Sender maximum segment size.
    pub smss: Bytes,
}

impl CongestionEvent {
    /// RFC 5681, equation 4: the threshold after a loss, for all that halve.
    pub fn half(&self) -> Bytes {
        (self.flight_size / 2).max(2 * self.smss)
    }
}
