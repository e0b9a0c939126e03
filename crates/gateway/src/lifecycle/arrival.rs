//! A segment of a spliced flow, from its leg to the other.

use super::SplicedFlow;
use super::closing::CloseState;
use crate::leg::Leg;
use crate::segment::Segment;
use crate::splice::Allowance;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::{Admission, Bypass, Fate};
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{AckRewrite, Flags, TcpHeader};

/// What a segment brought, for the gateway's counters.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Received {
    /// Bytes received in order for the first time on this leg.
    pub(crate) received: Bytes,
    /// Bytes that the host of this leg has acknowledged.
    pub(crate) delivered: Bytes,
    /// The segment was acceptable to an open connection.
    pub(crate) accepted: bool,
    /// The host of this leg hears the other one on another path.
    pub(crate) bypassed: Option<Bypass>,
    /// The host of this leg has taken what was forwarded to it and not taken by us.
    pub(crate) taken_past: bool,
    /// The segment is to be forwarded.
    pub(crate) forward: bool,
    /// With another acknowledgment than it came with.
    pub(crate) ack_rewrite: Option<AckRewrite>,
    /// A part of it was discarded because its stream has a backlog.
    pub(crate) discarded: bool,
}

impl<B: Buffer> SplicedFlow<B> {
    /// Takes a segment that came in on `leg`.
    pub(crate) fn on_segment(
        &mut self,
        now: Instant,
        leg: Leg,
        segment: Segment<'_>,
        allowance: Allowance,
    ) -> Received {
        match self.closing.state() {
            CloseState::Open | CloseState::Draining { .. } => {
                self.on_segment_open(now, leg, segment, allowance)
            }
            CloseState::Releasing(_) => {
                self.on_segment_released(now, leg, &segment, allowance.reset_drain)
            }
            CloseState::Closed { .. } | CloseState::Reset { .. } | CloseState::Released => {
                self.on_segment_after_end(now, leg, &segment);
                Received::default()
            }
        }
    }

    /// Takes a segment of an open flow. The order of its steps matters:
    ///
    /// 1. Nothing is taken before the handshake is complete.
    /// 2. Memory and promises cut the segment, or refuse its data, before TCP sees it: no byte is
    ///    acknowledged that has no room.
    /// 3. Queue management decides before TCP, which would acknowledge the segment.
    /// 4. TCP takes the segment. A reset that it accepts ends the flow here.
    /// 5. Segments for the far host alone, and signs of a bypass, are seen before anything is
    ///    learned from the segment.
    /// 6. The flow learns only from what TCP has taken: that the host lives, has the SYN-ACK, goes
    ///    on with the connection, and which IP header it uses. Anybody can forge the rest.
    /// 7. Data is stored, then room is made for more of it, then it is passed on: the sender of the
    ///    other leg sees the whole of what has come in order.
    /// 8. What the host has acknowledged is freed. Buffers are tuned by that, and windows opened
    ///    after it, as they promise the room that became free.
    /// 9. FINs pass last: they follow all data, and their acknowledgment may end the flow.
    fn on_segment_open(
        &mut self,
        now: Instant,
        leg: Leg,
        segment: Segment<'_>,
        allowance: Allowance,
    ) -> Received {
        if !self.passes_handshake(now, leg, segment.tcp) {
            return Received::default();
        }
        let may_receive = self.closing.may_receive();
        let admitted = self.splice.admitted(leg, &segment, allowance).filter(|_| may_receive);
        let admission = if admitted.is_some() { Admission::Accept } else { Admission::Refuse };
        let shortened;
        let segment = match admitted {
            Some(len) if len < segment.payload.len() => {
                shortened = without_end(segment.tcp);
                Segment { tcp: &shortened, payload: segment.payload.slice(0..len), ..segment }
            }
            _ => segment,
        };
        let received_before = self.splice.tcb(leg).receiver.rcv_nxt();
        let ranges = self.splice.tcb(leg).receiver.out_of_order().len();
        let discarded = match admission {
            Admission::Accept => self.discards(leg, &segment, allowance),
            Admission::Refuse => 0,
        };
        let arrival = self.splice.receive(now, leg, &segment, admission, discarded);
        if arrival.fate == Fate::Reset {
            self.on_reset(now, leg, allowance.reset_drain);
            return Received::default();
        }
        let taken = arrival.fate == Fate::Consumed;
        if self.has_taken_past(leg, segment.tcp, arrival.bypass) {
            return Received { taken_past: true, ..Received::default() };
        }
        let bypassed = self.note_bypass(now, leg, segment.tcp, arrival.bypass, arrival.acked);
        if taken {
            self.keep_alive.hear(now, leg);
            self.confirm(leg);
            self.hear_again(leg);
            self.refute_reuse(leg);
            // Only now: anybody can make a packet with these addresses and ports, and its hop
            // limit and TSval would stay on all that we send.
            self.splice.follow(leg, segment.ip, segment.tcp);
        }
        self.relay_keep_alive(now, leg, &segment);
        self.splice.store(leg, &arrival, &segment);
        let holes = self.splice.tcb(leg).receiver.out_of_order().len().saturating_sub(ranges);
        self.note_holes(leg, holes);
        let received = self.splice.tcb(leg).receiver.rcv_nxt() - received_before;
        if received > Bytes::ZERO {
            self.make_room(now, leg);
            self.send_on_unheard(now, leg.other());
        }
        self.fill_discarded(leg);
        self.splice.pass_on(leg);
        let delivered = self.splice.free(leg, arrival.acked);
        if taken {
            self.extend_drain(now, leg, arrival.acked, allowance.reset_drain);
        }
        if delivered > Bytes::ZERO {
            self.tune(now, leg.other());
        } else if !segment.tcp.options.sack.is_empty() {
            self.keep_ahead(leg.other());
        }
        self.open_windows(now, allowance);
        self.pass_fins(now);
        let discarded = discarded > 0;
        Received {
            received,
            delivered,
            accepted: taken,
            bypassed,
            discarded,
            ..Received::default()
        }
    }
}

/// A segment whose end was cut off.
fn without_end(tcp: &TcpHeader) -> TcpHeader {
    TcpHeader { flags: Flags(tcp.flags.0 & !Flags::FIN.0), ..tcp.clone() }
}
