//! The sending half: what of a stream goes out when (RFC 9293, 3.8; RFC 5681; RFC 6298).
//!
//! The sender knows offsets, not bytes: whoever holds the stream's buffer says how far it has
//! been written ([`Sender::extend`], [`Sender::finish`]) and fetches the bytes of what
//! [`Sender::poll_transmit`] names. Offsets below [`Sender::snd_una`] may be released.
//!
//! Drain order: after [`Sender::on_ack`] or [`Sender::on_timer`], call `poll_transmit` until it
//! gives nothing, then [`Sender::poll_timer`].

mod acknowledge;
mod condense;
mod config;
mod ecn;
mod handshake;
mod path;
mod reduction;
#[cfg(test)]
mod tests;
mod timers;
mod transmit;
mod undo;

pub use config::{InitialWindow, SenderConfig};
pub use reduction::Reduction;
pub use transmit::{Transmission, Waits};

use super::congestion::{Congestion, Control, LinkReport};
use super::ledger::Ledger;
use super::pacing::Pacer;
use super::recovery::Recovery;
use super::rtt::RttEstimator;
use crate::time::{Duration, Instant};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// An acknowledgment, in offsets.
#[derive(Debug, Clone)]
pub struct Ack<'a> {
    /// Sequence number of the segment that carries it, in the peer's stream (for SND.WL1).
    pub segment: u64,
    /// The next offset that the peer expects. The caller has checked that it is not above
    /// [`Sender::snd_nxt`].
    pub ack: u64,
    /// The window behind `ack`, scaled to bytes.
    pub window: u64,
    /// SACK blocks as they came, DSACKs and nonsense included.
    pub sack: &'a [Range<u64>],
    /// When the segment left whose timestamp it echoes, by the ticks of our own timestamp clock.
    /// None if there are no timestamps, or they are somebody else's.
    pub echoed: Option<Instant>,
    /// Whether the segment carries data, SYN or FIN (then it is no duplicate acknowledgment).
    pub occupies: bool,
}

/// What an acknowledgment changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// Bytes newly acknowledged; they may be released.
    pub acked: u64,
    /// A round-trip time was measured.
    pub rtt: Option<Duration>,
}

/// Counters of one sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderStats {
    /// Segments sent, super-segments counted once.
    pub segments: u64,
    /// Bytes sent again.
    pub retransmitted_bytes: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Episodes of fast recovery.
    pub recoveries: u64,
    /// Reductions of the window that were undone because nothing had been lost.
    pub spurious: u64,
}

/// The sending half of a connection or of a gateway's leg.
#[derive(Debug, Serialize, Deserialize)]
pub struct Sender {
    // What is not read back as it is: see `condense`.
    #[serde(skip)]
    config: SenderConfig,
    #[serde(skip, default = "condense::no_recovery")]
    recovery: Box<dyn Recovery>,
    #[serde(skip, default = "condense::no_congestion")]
    congestion: Box<dyn Congestion>,
    ledger: Ledger,
    course: reduction::Course,
    /// What was sent again since the last reduction, while it may still be undone.
    watch: Option<Box<undo::Watch>>,
    /// The peer has reported a duplicate: it knows DSACK.
    dsack_seen: bool,
    rtt: RttEstimator,
    pacer: Pacer,
    /// One past the last byte written to the stream.
    end: u64,
    /// The stream ends at `end` with a FIN.
    finished: bool,
    /// SND.UNA + SND.WND: one past the last offset that the peer allows.
    window_edge: u64,
    /// The largest window that the peer has offered.
    max_window: u64,
    /// From here on was sent what the peer had not allowed, as far as we had heard.
    beyond_window: Option<u64>,
    /// SND.WL1 and SND.WL2.
    last_window_update: (u64, u64),
    rto_deadline: Option<Instant>,
    /// No new packet before then: a mark came while the window was one segment.
    ecn_hold: Option<Instant>,
    /// The window was reduced, which the peer is to hear of (RFC 3168, 6.1.2).
    reduced: bool,
    /// SND.UNA when the retransmission timer last expired.
    timed_out_at: Option<u64>,
    /// SND.NXT then, until so much is acknowledged.
    timeout_until: Option<u64>,
    /// After a spurious timeout: the first sample of data beyond raises the timer's estimate.
    adopt_rtt_beyond: Option<u64>,
    persist: Option<timers::Persist>,
    /// What must leave whatever the congestion window says.
    forced: Option<transmit::Forced>,
    /// Timer expiries since the peer was last heard of.
    unanswered: u32,
    last_sent: Option<Instant>,
    /// Round trips so far, and the offset whose acknowledgment ends this one.
    round: (u64, u64),
    /// What stopped the last transmission.
    waits: Waits,
    /// Another sender is using the link that is shared with it.
    link_busy: bool,
    /// The ledger's counts of delivered and of lost bytes when congestion control last heard of them.
    told: (u64, u64),
    stats: SenderStats,
}

impl Sender {
    /// A sender whose next byte is at offset `start`, towards a peer that has offered `window`
    /// bytes, after a handshake that took `rtt`.
    pub fn new(config: SenderConfig, start: u64, window: u64, rtt: Option<Duration>) -> Sender {
        let mut estimator = RttEstimator::new(config.rto);
        if let Some(rtt) = rtt {
            estimator.sample(rtt);
        }
        Sender {
            ledger: Ledger::new(start),
            recovery: config.algorithm.recovery(),
            congestion: config.congestion(),
            course: reduction::Course::default(),
            watch: None,
            dsack_seen: false,
            rtt: estimator,
            pacer: Pacer::default(),
            end: start,
            finished: false,
            window_edge: start + window,
            max_window: window,
            beyond_window: None,
            last_window_update: (0, start),
            rto_deadline: None,
            ecn_hold: None,
            reduced: false,
            timed_out_at: None,
            timeout_until: None,
            adopt_rtt_beyond: None,
            persist: None,
            forced: None,
            unanswered: 0,
            last_sent: None,
            round: (0, start),
            waits: Waits::Application,
            link_busy: false,
            told: (0, 0),
            stats: SenderStats::default(),
            config,
        }
    }

    /// The oldest unacknowledged offset.
    pub fn snd_una(&self) -> u64 {
        self.ledger.snd_una()
    }

    /// The next offset to be sent for the first time.
    pub fn snd_nxt(&self) -> u64 {
        self.ledger.snd_nxt()
    }

    /// One past the last offset that the peer allows.
    pub fn window_edge(&self) -> u64 {
        self.window_edge
    }

    /// The largest window that the peer has offered, in bytes.
    pub fn max_window(&self) -> u64 {
        self.max_window
    }

    /// Sender maximum segment size, in bytes.
    pub fn smss(&self) -> u64 {
        self.config.smss
    }

    /// The congestion window, in bytes.
    pub fn cwnd(&self) -> u64 {
        self.congestion.window()
    }

    /// The slow start threshold, in bytes.
    pub fn ssthresh(&self) -> u64 {
        self.congestion.ssthresh()
    }

    /// What the flow has seen of its link since this was last asked, if its congestion control keeps
    /// account of that.
    pub fn take_link_report(&mut self) -> LinkReport {
        self.congestion.take_report()
    }

    /// The congestion control.
    pub fn control(&self) -> Control {
        self.config.control
    }

    /// Another congestion control from now on. It begins with what is in flight.
    pub fn set_control(&mut self, control: Control) {
        let in_flight = self.in_flight().max(self.config.smss);
        self.config.control = control;
        self.config.initial_ssthresh = Some(in_flight);
        self.config.initial_window = InitialWindow::Bytes(in_flight);
        self.congestion = self.config.congestion();
        self.end_reduction();
        self.end_watch();
    }

    /// Bytes held to be in the network.
    pub fn in_flight(&self) -> u64 {
        self.recovery.in_flight(&self.ledger)
    }

    /// The round-trip time estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Counters.
    pub fn stats(&self) -> SenderStats {
        SenderStats { retransmitted_bytes: self.ledger.retransmitted_bytes(), ..self.stats }
    }

    /// Several senders share a link and take turns on it: until told otherwise, what this one has
    /// to send [waits](Sender::waits_for_link) if the link is `busy`. Probes and what the
    /// retransmission timer sends again do not.
    pub fn set_link_busy(&mut self, busy: bool) {
        self.link_busy = busy;
    }

    /// Whether only the [busy](Sender::set_link_busy) link kept the last transmission from leaving.
    pub fn waits_for_link(&self) -> bool {
        self.waits == Waits::Link
    }

    /// Why nothing was sent when [`Sender::poll_transmit`] was last asked.
    pub fn waits(&self) -> Waits {
        self.waits
    }

    /// The stream has been written up to `end` (exclusive).
    pub fn extend(&mut self, end: u64) {
        debug_assert!(!self.finished || end == self.end, "a finished stream does not grow");
        self.end = self.end.max(end);
    }

    /// One past the last byte written to the stream.
    pub fn written(&self) -> u64 {
        self.end
    }

    /// The stream ends where it has been written to: a FIN follows the last byte.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Whether all that was written, FIN included, has been acknowledged.
    pub fn is_done(&self) -> bool {
        self.snd_una() == self.stream_end()
    }

    /// Whether the FIN has been sent and acknowledged.
    pub fn fin_acked(&self) -> bool {
        self.finished && self.is_done()
    }

    /// Whether the peer has left too many retransmissions or probes without any answer
    /// (RFC 9293, 3.8.3: R2).
    pub fn gave_up(&self) -> bool {
        self.unanswered > self.config.max_unanswered
    }

    /// Timer expiries since the peer was last heard of.
    pub fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// One past the last offset to be sent, the FIN counted.
    fn stream_end(&self) -> u64 {
        self.end + u64::from(self.finished)
    }
}
