//! A flow that is being released, and whose hosts have another connection meanwhile, between the
//! same ports.
//!
//! What comes is forwarded, a handshake as well. Nobody waits any more for what the flow still
//! holds: it would be sent to a host that has forgotten it, for minutes, and what is said of the
//! other connection would be told by this one's numbers. So the flow is over once a host has shown
//! that it has the other one: it acknowledges the SYN-ACK that answered its SYN, both of which have
//! passed. An attacker that forges a SYN does not see the SYN-ACK. A host that resets the old one
//! once its SYN has passed has shown it as well (fault seed 70293152).

use crate::leg::Leg;
use bentpipe_core::wire::{Flags, SeqNum, TcpHeader};

/// How far behind its SYN a host may be heard first, and how much it may acknowledge, in bytes:
/// what no SYN-ACK's window exceeds.
const NEAR: u32 = u16::MAX as u32;

/// A handshake that passes.
#[derive(Debug, Clone, Copy)]
pub(super) struct OtherHandshake {
    /// Whose SYN it began with.
    leg: Leg,
    isn: SeqNum,
    /// The number of the SYN-ACK.
    answer: Option<SeqNum>,
}

impl OtherHandshake {
    /// Whether the host of `leg`, which has reset, has asked for it; where the other one is still
    /// owed bytes or the end of the old connection, whether it has answered as well: then it does
    /// not have that any more.
    pub(super) fn is_of(&self, leg: Leg, owes: bool) -> bool {
        self.leg == leg && (self.answer.is_some() || !owes)
    }

    /// Takes a segment from the host of `leg` that passes, whose connection has begun with `isn`:
    /// of `known`, what has passed of another one's handshake, or of a new one. Whether that is
    /// complete.
    pub(super) fn note(
        known: &mut Option<Box<OtherHandshake>>,
        leg: Leg,
        isn: SeqNum,
        tcp: &TcpHeader,
    ) -> bool {
        let ours = known.as_deref_mut();
        match (tcp.has(Flags::SYN), tcp.has(Flags::ACK), ours) {
            (true, false, ours) if tcp.seq != isn => {
                if ours.is_none_or(|ours| ours.isn != tcp.seq) {
                    *known = Some(Box::new(OtherHandshake { leg, isn: tcp.seq, answer: None }));
                }
                false
            }
            (true, true, Some(ours)) if leg != ours.leg && tcp.ack == ours.isn + 1 => {
                ours.answer = Some(tcp.seq);
                false
            }
            (false, true, Some(ours)) if leg == ours.leg => {
                let near = |at: SeqNum, from: SeqNum| at.0.wrapping_sub(from.0) <= NEAR;
                near(tcp.seq, ours.isn + 1)
                    && ours.answer.is_some_and(|answer| near(tcp.ack, answer + 1))
            }
            _ => false,
        }
    }
}
