//! Segments of a split connection that are not the gateway's to take: what the far host makes of
//! them is for it to say, if they reach it at all.
//!
//! They are forwarded as they came, and nothing in them is believed. If the far host acknowledges
//! bytes of theirs that the gateway has not had, it cannot go on in between: the flow is released
//! at once.

use super::SplicedFlow;
use super::closing::CloseState;
use crate::handshake::Added;
use crate::leg::Leg;
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::Bypass;
use bentpipe_core::wire::{Flags, TcpHeader};

/// What becomes of a segment that is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past {
    /// It is forwarded.
    Forward,
    /// It is dropped: the far host could make nothing of it, as it has other options than the near
    /// one knows of, has its handshake before the client does, or has ended.
    Drop,
}

impl<B: Buffer> SplicedFlow<B> {
    /// What becomes of a segment from the host of `leg`, if it is not to be taken.
    ///
    /// It has a signature, and the SYN had none: Linux drops it where it knows signatures
    /// (`tcp_inbound_hash`), other hosts do not. Or its hop limit is far below that of the others,
    /// so that it may die on the way.
    pub(crate) fn lets_past(&mut self, leg: Leg, segment: &Segment<'_>) -> Option<Past> {
        let Segment { tcp, payload, .. } = *segment;
        if !segment.is_doubtful(self.splice.leg(leg.other()).hop_limit) {
            return None;
        }
        if !matches!(self.closing.state(), CloseState::Open | CloseState::Releasing(_)) {
            return Some(Past::Drop);
        }
        if self.added == Added::ToHost || self.is_unconfirmed() {
            return Some(Past::Drop);
        }
        let end = tcp.seq + (payload.len() as u64 + u64::from(tcp.has(Flags::FIN)));
        let furthest = &mut self.went_past[leg];
        if furthest.is_none_or(|furthest| end.distance_from(furthest) > 0) {
            *furthest = Some(end);
        }
        Some(Past::Forward)
    }

    /// Whether a segment of the host of `leg`, which shows a `bypass`, acknowledges what was
    /// forwarded to it.
    pub(super) fn has_taken_past(&self, leg: Leg, tcp: &TcpHeader, bypass: Option<Bypass>) -> bool {
        self.may_acknowledge_past(leg, tcp) && bypass == Some(Bypass::AckAhead)
    }

    /// Whether what a segment of the host of `leg` acknowledges is within what was forwarded to it:
    /// if it has taken that, the peer gateway has left already.
    pub(super) fn may_acknowledge_past(&self, leg: Leg, tcp: &TcpHeader) -> bool {
        self.went_past[leg.other()].is_some_and(|end| end.distance_from(tcp.ack) >= 0)
    }
}
