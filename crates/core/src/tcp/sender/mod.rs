//! The sending half: what of a stream goes out when (RFC 9293, 3.8; RFC 5681; RFC 6298).
//!
//! The sender knows offsets, not bytes: whoever holds the stream's buffer says how far it has
//! been written ([`Sender::extend`], [`Sender::finish`]) and fetches the bytes of what
//! [`Sender::poll_transmit`] names. Offsets below [`Sender::snd_una`] may be released.
//!
//! Drain order: after [`Sender::on_ack`] or [`Sender::on_timer`], call `poll_transmit` until it
//! gives nothing, then [`Sender::poll_timer`].

mod account;
mod acknowledge;
mod adoption;
mod config;
mod corruption;
mod cwnd;
mod ecn;
mod expiry;
mod flight;
mod gate;
mod handshake;
mod limits;
mod path;
mod reduction;
mod send_window;
mod sharing;
mod snapshot;
mod spare_copies;
mod stats;
mod stream;
#[cfg(test)]
mod tests;
mod timers;
mod transmit;
mod undo;

pub use account::BoundCount;
pub use config::{InitialWindow, SenderConfig};
pub use corruption::Copies;
pub use reduction::Reduction;
pub use sharing::PathState;
pub use stats::SenderStats;
pub use transmit::Transmission;

use super::congestion::{Congestion, CongestionAlgorithm, LinkReport};
use super::rtt::RttEstimator;
use crate::fixed::Fixed;
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};
use corruption::Corruption;
use cwnd::CongestionWindow;
use flight::Flight;
use gate::SendGate;
use path::SegmentSizes;
use send_window::SendWindow;
use serde::{Deserialize, Serialize};
use spare_copies::SpareCopies;
use stats::Tally;
use std::ops::Range;
use stream::Stream;
use timers::Timers;

/// An acknowledgment, in offsets.
#[derive(Debug, Clone)]
pub struct Ack<'a> {
    /// Sequence number of the segment that carries it, in the peer's stream (for SND.WL1).
    pub segment: Offset,
    /// The next offset that the peer expects. The caller has checked that it is not above
    /// [`Sender::snd_nxt`].
    pub ack: Offset,
    /// The window behind `ack`, scaled to bytes.
    pub window: Bytes,
    /// SACK blocks as they came, DSACKs and nonsense included.
    pub sack: &'a [Range<Offset>],
    /// When the segment left whose timestamp it echoes, by the ticks of our own timestamp clock.
    /// None if there are no timestamps, or they are somebody else's.
    pub echoed: Option<Instant>,
    /// Whether the segment carries data, SYN or FIN (then it is no duplicate acknowledgment).
    pub occupies: bool,
}

/// The sending half of a connection or of a gateway's leg.
///
/// It is made of parts, each of which keeps an invariant of its own and changes no other. What
/// happens to the sender is taken to each of them in turn: an acknowledgment in `acknowledge`, a
/// poll in `transmit`, an expired timer in `expiry`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Sender {
    // Written apart: see `snapshot`.
    #[serde(skip)]
    config: Fixed<SenderConfig>,
    #[serde(skip)]
    sizes: SegmentSizes,
    stream: Stream,
    window: SendWindow,
    flight: Flight,
    timers: Timers,
    cwnd: CongestionWindow,
    gate: SendGate,
    tally: Tally,
    /// Where copies are made.
    spare_copies: Option<SpareCopies>,
    /// Set before each poll.
    #[serde(skip)]
    burst: Option<Bytes>,
    // Only peers of the simulator tell anything.
    #[serde(skip)]
    corruption: Option<Box<Corruption>>,
}

impl Sender {
    /// A sender whose next byte is at offset `start`, towards a peer that has offered `window`
    /// bytes, after a handshake that took `rtt`.
    pub fn new(
        config: SenderConfig,
        start: Offset,
        window: Bytes,
        rtt: Option<Duration>,
    ) -> Sender {
        Sender {
            stream: Stream::new(start),
            window: SendWindow::new(start, window),
            flight: Flight::new(start, config.recovery, config.limited_transmit),
            timers: Timers::new(config.rto, rtt),
            cwnd: CongestionWindow::new(&config),
            gate: SendGate::new(),
            tally: Tally::default(),
            spare_copies: config.spare_copies.then(SpareCopies::default),
            burst: None,
            corruption: None,
            sizes: SegmentSizes::of(&config),
            config: config.into(),
        }
    }

    /// What holds between the parts once something has been taken to all of them.
    fn check(&self) {
        let (outstanding, nxt) = (self.flight.size() > Bytes::ZERO, self.snd_nxt());
        debug_assert_eq!(self.timers.retransmits(), outstanding, "RFC 6298, rules 5.1 and 5.2");
        debug_assert!(!self.window.is_exceeded() || nxt > self.window_edge(), "all is within it");
        debug_assert!(
            !self.cwnd.reduces_proportionally() || self.flight.in_recovery(),
            "a proportional reduction outlasts fast recovery"
        );
    }

    /// The oldest unacknowledged offset.
    pub fn snd_una(&self) -> Offset {
        self.flight.snd_una()
    }

    /// The next offset to be sent for the first time.
    pub fn snd_nxt(&self) -> Offset {
        self.flight.snd_nxt()
    }

    /// One past the last offset that the peer allows.
    pub fn window_edge(&self) -> Offset {
        self.window.edge()
    }

    /// The largest window that the peer has offered, in bytes.
    pub fn max_window(&self) -> Bytes {
        self.window.max()
    }

    /// Sender maximum segment size, in bytes.
    pub fn smss(&self) -> Bytes {
        self.sizes.smss
    }

    /// The congestion window, in bytes.
    pub fn cwnd(&self) -> Bytes {
        self.cwnd.bytes()
    }

    /// The slow start threshold, in bytes.
    pub fn ssthresh(&self) -> Bytes {
        self.cwnd.ssthresh()
    }

    /// The number of increases that were held to one segment an acknowledgment.
    pub fn bound_count(&self) -> BoundCount {
        self.cwnd.bound_count()
    }

    /// What the initial slow start threshold was estimated to be, if it was.
    pub fn ssthresh_estimate(&self) -> Option<Bytes> {
        self.cwnd.slow_start().ssthresh_estimate()
    }

    /// What the flow has seen of its link since this was last asked, if its congestion control
    /// keeps account of that.
    pub fn take_link_report(&mut self) -> LinkReport {
        self.cwnd.take_report()
    }

    /// The congestion control.
    pub fn congestion(&self) -> CongestionAlgorithm {
        self.cwnd.algorithm()
    }

    /// A congestion control that no configuration names, from now on.
    pub(in crate::tcp) fn use_congestion(&mut self, congestion: Box<dyn Congestion>) {
        self.cwnd = CongestionWindow::with(congestion, &self.config);
    }

    /// Another congestion control from now on. It begins with what is in flight.
    pub fn set_congestion(&mut self, congestion: CongestionAlgorithm) {
        let in_flight = self.in_flight().max(self.smss());
        self.cwnd.choose(congestion, in_flight, Some(in_flight), self.smss(), &self.config);
    }

    /// The same, of a path of which nothing is known: it begins with slow start.
    pub fn find_window(&mut self, congestion: CongestionAlgorithm) {
        let in_flight = self.in_flight().max(self.smss());
        self.cwnd.choose(congestion, in_flight, None, self.smss(), &self.config);
    }

    /// No more than so many bytes leave at once, but a segment in any case. None: as many as
    /// [`SenderConfig::max_burst`] and the own pace let. A scheduler of several flows knows more.
    pub fn limit_burst(&mut self, bytes: Option<Bytes>) {
        self.burst = bytes;
    }

    /// Sends copies of retransmissions from now on, or none ([`SenderConfig::spare_copies`]).
    pub fn set_spare_copies(&mut self, spare: bool) {
        if spare {
            self.spare_copies.get_or_insert_default().resume();
        } else if let Some(copies) = &mut self.spare_copies {
            copies.stop();
        }
    }

    /// Bytes held to be in the network.
    pub fn in_flight(&self) -> Bytes {
        self.flight.in_flight()
    }

    /// Bytes that the peer has behind a hole, by its SACK blocks.
    pub fn sacked(&self) -> Bytes {
        self.flight.ledger().sacked().covered()
    }

    /// The round-trip time estimator.
    pub fn rtt(&self) -> &RttEstimator {
        self.timers.rtt()
    }

    /// Counters.
    pub fn stats(&self) -> SenderStats {
        let retransmitted_bytes =
            self.flight.ledger().retransmitted_bytes() - Bytes::new(self.tally.fins);
        SenderStats { retransmitted_bytes, ..self.tally.stats }
    }

    /// Episodes of fast recovery and reductions of the window so far, as [`stats`](Sender::stats)
    /// has them: who asks for each segment need not copy them all.
    #[inline]
    pub fn episodes(&self) -> (u64, u64) {
        (self.tally.stats.recoveries, self.tally.stats.reductions)
    }

    /// Several senders share a link and take turns on it: until this is said again, what this one
    /// has to send waits if the link is `busy`. Probes and what the retransmission timer sends do
    /// not.
    pub fn set_link_busy(&mut self, busy: bool) {
        self.gate.set_link_busy(busy);
    }

    /// The moment until which pacing keeps the next segment back, while a timer runs for it.
    pub fn paced_until(&self) -> Option<Instant> {
        self.gate.paced_until()
    }

    /// The stream has been written up to `end` (exclusive).
    pub fn extend(&mut self, end: Offset) {
        self.stream.extend(end);
    }

    /// One past the last byte written to the stream.
    pub fn written(&self) -> Offset {
        self.stream.written()
    }

    /// The stream ends where it has been written to: a FIN follows the last byte.
    pub fn finish(&mut self) {
        self.stream.finish();
    }

    /// Whether all that was written, FIN included, has been acknowledged.
    pub fn is_done(&self) -> bool {
        self.snd_una() == self.stream.end()
    }

    /// Whether the FIN has been sent and acknowledged.
    pub fn fin_acked(&self) -> bool {
        self.stream.is_finished() && self.is_done()
    }

    /// Whether the peer has left too many retransmissions or probes without any answer
    /// (RFC 9293, 3.8.3: R2).
    pub fn gave_up(&self) -> bool {
        self.unanswered() > self.config.max_retries
    }

    /// Expiries of the retransmission timer so far.
    pub fn timeouts(&self) -> u64 {
        self.tally.stats.timeouts
    }

    /// Timer expiries since the peer was last heard of.
    pub fn unanswered(&self) -> u32 {
        self.timers.unanswered()
    }
}
