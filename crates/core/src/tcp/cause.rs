//! Why a segment was sent.
//!
//! Each segment has exactly one cause, which its sender knows when it decides to send it. It costs
//! a byte and no question: what a recorder writes down is what has happened, not what can be
//! inferred from it.

use crate::tcp::limiter::Limiter;
use crate::wire::{Flags, TcpHeader};
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Why a segment was sent.
///
/// An acknowledgment that goes with data has the data's cause.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    VariantArray,
    strum::IntoStaticStr,
    strum::Display,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Cause {
    /// The handshake: a SYN or a SYN-ACK.
    Handshake,
    /// A SYN or a SYN-ACK again.
    HandshakeTimeout,
    /// A RST.
    Reset,

    /// New data: an acknowledgment has made room in the congestion window.
    AckClock,
    /// New data: the peer's window has opened.
    WindowOpened,
    /// New data, or the stream's end: the application has written it.
    Written,
    /// New data: what Nagle's rule or silly window avoidance kept back has become enough.
    Coalesced,
    /// New data: the pacer's moment has come.
    Paced,
    /// New data: it was this sender's turn on a link that several share.
    LinkTurn,
    /// New data: the wait behind a mark at a window of one segment is over (RFC 3168, 6.1.2).
    MarkOver,

    /// Retransmission: the first hole of an episode of loss recovery (RFC 5681, 3.2).
    FastRetransmit,
    /// Retransmission: a further hole, which SACK blocks show (RFC 6675, NextSeg's rules 1 and 3).
    FastRecovery,
    /// Retransmission: a further hole, which is overdue (RFC 8985).
    Rack,
    /// Retransmission: a partial acknowledgment shows the next hole (RFC 6582, 3.2).
    PartialAck,
    /// Retransmission: the last segment of an episode, lest its loss go unnoticed (RFC 6675,
    /// NextSeg's rule 4).
    Rescue,
    /// Retransmission: the timer has expired, and this is the first segment (RFC 6298, 5.4).
    Timeout,
    /// Retransmission in slow start: what a timeout, or Tahoe's fast retransmit, found lost.
    AfterTimeout,
    /// Retransmission once more: nothing else is to be sent, or one was lost before.
    SpareCopy,
    /// New data or the last segment again: a tail loss probe (RFC 8985, 7.3).
    TailLossProbe,
    /// The first outstanding segment again: a probe timeout (after RFC 9002, 6.2).
    ProbeTimeout,
    /// The peer's window has been closed for long, and is probed (RFC 9293, 3.8.6.1).
    WindowProbe,
    /// Nothing has been heard for long (RFC 9293, 3.8.4).
    KeepAlive,
    /// The peer hears somebody else in our name: what it may miss is sent whatever the windows say.
    Blind,

    /// Acknowledgment: of enough full segments (RFC 1122, 4.2.3.2: of every second).
    Segments,
    /// Acknowledgment: it was delayed, and its timer has expired.
    AckTimer,
    /// Acknowledgment: what came has a hole before it, a duplicate acknowledgment (RFC 5681, 4.2).
    OutOfOrder,
    /// Acknowledgment: what came has filled a hole, or a part of it (RFC 5681, 4.2).
    HoleFilled,
    /// Acknowledgment: what came had come before (RFC 2883).
    Duplicate,
    /// Acknowledgment: the peer's stream has ended.
    EndOfStream,
    /// Acknowledgment: the window has opened (RFC 9293, 3.8.6.2.2).
    WindowUpdate,
    /// Acknowledgment: the segment did not fit into the window, was not acceptable, or might be
    /// forged (RFC 9293, 3.10.7.4; RFC 5961).
    Unacceptable,
    /// Acknowledgment: a part of a segment's, which ACK division sends apart.
    Division,
    /// Acknowledgment: the last segment of the handshake.
    Established,
}

impl Cause {
    /// Every cause.
    pub const ALL: &[Cause] = Cause::VARIANTS;

    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it makes a sender repeat what it has sent before. A probe may do so, too.
    pub fn is_retransmission(self) -> bool {
        (Cause::FastRetransmit..=Cause::SpareCopy).contains(&self)
    }

    /// Of a segment outside the streams, which opens or ends a connection.
    pub fn of_control(tcp: &TcpHeader) -> Cause {
        if tcp.has(Flags::RST) { Cause::Reset } else { Cause::Handshake }
    }

    /// Why new data leaves that `limiter` has kept back until now.
    pub(super) fn end_of(limiter: Limiter) -> Cause {
        match limiter {
            Limiter::Handshake | Limiter::Application | Limiter::Closed => Cause::Written,
            Limiter::Nagle => Cause::Coalesced,
            Limiter::PeerWindow => Cause::WindowOpened,
            // Recovery waits for acknowledgments, too.
            Limiter::Cwnd | Limiter::Recovery => Cause::AckClock,
            Limiter::Pacer => Cause::Paced,
            Limiter::LinkTurn => Cause::LinkTurn,
            Limiter::Mark => Cause::MarkOver,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> =
            Cause::ALL.iter().map(|cause| cause.name()).collect();
        assert_eq!(names.len(), Cause::ALL.len());
        assert_eq!(Cause::HoleFilled.to_string(), "hole-filled");
    }

    #[test]
    fn retransmissions_are_told_apart() {
        let are: Vec<_> = Cause::ALL.iter().filter(|cause| cause.is_retransmission()).collect();
        assert_eq!(are.len(), 8);
        assert!(!Cause::LinkTurn.is_retransmission() && !Cause::TailLossProbe.is_retransmission());
    }
}
