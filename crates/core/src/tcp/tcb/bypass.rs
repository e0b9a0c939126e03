//! A peer that hears the host for which we stand on another path than through us.
//!
//! A gateway's leg speaks in another host's name. When the route of one direction changes, that
//! host's own segments reach the peer directly, and the peer's segments show it (bharadwaj-2001,
//! section 5: "examining the flow in the other direction"). What is then still held goes out by
//! [`Tcb::transmit_blindly`], which waits for no acknowledgments, and what still comes through us
//! is taken for its acknowledgments only ([`Tcb::take_acknowledgment`]).

use super::{Ack, Outgoing, Tcb};
use crate::tcp::cause::Cause;
use crate::tcp::ecn::Ecn;
use crate::time::Instant;
use crate::units::{Bytes, Offset};
use crate::wire::{AckRewrite, Flags, SeqNum, TcpHeader};
use arrayvec::ArrayVec;
use std::ops::{Range, RangeInclusive};

/// What in a segment shows that its sender hears somebody else with our addresses and ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// It acknowledges what we have not sent, but the host for which we stand may have.
    AckAhead,
    /// It echoes a timestamp that we have not sent (RFC 7323, 4.3: only what came in order is
    /// echoed).
    EchoAhead,
    /// It has no timestamps, although they were agreed on (RFC 7323, 3.2).
    NoTimestamps,
}

impl Tcb {
    /// Whether the acknowledgment field names what we have not sent, within the peer's window.
    pub(super) fn is_ahead(&self, ack: SeqNum) -> bool {
        let (una, nxt) = (self.sender.snd_una(), self.sender.snd_nxt());
        let offset = ack.offset_near(self.handshake.snd_isn, una);
        offset.is_some_and(|at| at > nxt && at <= nxt + self.sender.max_window())
    }

    /// Whether the segment echoes a timestamp later than the latest that we can have sent.
    pub(super) fn echoes_ahead(&self, now: Instant, tcp: &TcpHeader) -> bool {
        let (Some(state), Some(ts)) = (self.handshake.timestamps, tcp.options.timestamps) else {
            return false;
        };
        tcp.has(Flags::ACK) && ts.echo.wrapping_sub(state.clock.value(now)) as i32 > 0
    }

    /// What a keep-alive or the probe of a closed window shows, which stands one below what is
    /// expected.
    pub(super) fn shown_by_probe(
        &self,
        now: Instant,
        start: Option<Offset>,
        tcp: &TcpHeader,
        len: usize,
    ) -> Option<Bypass> {
        let probes = len <= 1 && start == self.receiver.expected().checked_back(Bytes::ONE);
        (probes && self.echoes_ahead(now, tcp)).then_some(Bypass::EchoAhead)
    }

    /// What a segment without timestamps shows where they were agreed on. It lies within the
    /// window, or as far below it at most: there stands what is repeated because its acknowledgment
    /// was lost, and what asks whether we are still there.
    pub(super) fn shown_without_timestamps(
        &self,
        start: Option<Offset>,
        occupied: Bytes,
    ) -> Option<Bypass> {
        let near = self.is_just_below(start) || self.receiver.acceptable(start, occupied);
        near.then_some(Bypass::NoTimestamps)
    }

    /// Whether a segment begins below what is expected, by no more than a window.
    fn is_just_below(&self, start: Option<Offset>) -> bool {
        let next = self.receiver.rcv_nxt();
        let window = self.receiver.rcv_adv().saturating_sub(next).max(Bytes::new(1 << 16));
        start.is_some_and(|start| start < next && start + window >= next)
    }

    /// What a bare segment below the window acknowledges to a leg that [stands in](Tcb::stand_in)
    /// for a host, while we have sent beyond the peer's window, without its leave or because it has
    /// shrunk: bytes newly acknowledged. The peer may have done so, too. Then what it says stands
    /// where our window ended as far as it knew, as what we say does ([`Tcb::seq_without_data`]),
    /// and neither would ever hear the other one.
    pub(super) fn acknowledged_below(
        &mut self,
        now: Instant,
        start: Option<Offset>,
        tcp: &TcpHeader,
        occupied: Bytes,
    ) -> Bytes {
        let beyond = self.stands_in && self.seq_without_data() < self.sender.snd_nxt();
        let bare =
            occupied == Bytes::ZERO && self.is_just_below(start) && self.is_plausible_ack(tcp.ack);
        if bare && beyond {
            return self.take_acknowledgment(now, tcp, 0, self.sender.snd_nxt());
        }
        Bytes::ZERO
    }

    /// Whether a segment begins behind all that we have ever advertised, and behind `edge`, where
    /// the host for which we stand may have opened its window to: somebody else has acknowledged to
    /// its sender all that we have, and opened the window further.
    pub fn is_beyond_rcv_adv(&self, tcp: &TcpHeader, edge: Offset) -> bool {
        let start = tcp.seq.offset_near(self.handshake.rcv_isn, self.receiver.rcv_nxt());
        start.is_some_and(|start| start > self.receiver.rcv_adv().max(edge))
    }

    /// Whether a segment begins within `reach` of what is expected.
    pub fn is_near(&self, tcp: &TcpHeader, reach: Bytes) -> bool {
        let next = self.receiver.rcv_nxt();
        let start = tcp.seq.offset_near(self.handshake.rcv_isn, next);
        start.is_some_and(|start| start + reach >= next && start <= next + reach)
    }

    /// Whether a segment acknowledges an offset within `range`, which may exceed what we have sent.
    pub fn acknowledges_within(&self, tcp: &TcpHeader, range: RangeInclusive<Offset>) -> bool {
        let ack = tcp.ack.offset_near(self.handshake.snd_isn, self.sender.snd_una());
        tcp.has(Flags::ACK) && ack.is_some_and(|ack| range.contains(&ack))
    }

    /// Takes of a segment with `len` bytes of payload only what it acknowledges: bytes newly
    /// acknowledged. An acknowledgment of more than we sent, but nothing beyond offset `end`, up to
    /// which somebody else may have sent in our name, stands for all that we sent. That may be more
    /// than a window: the peer may have read since, and gone on with somebody else (fault seed
    /// 94574627).
    pub fn take_acknowledgment(
        &mut self,
        now: Instant,
        tcp: &TcpHeader,
        len: usize,
        end: Offset,
    ) -> Bytes {
        if !tcp.has(Flags::ACK) || tcp.has(Flags::RST) || tcp.has(Flags::SYN) {
            return Bytes::ZERO;
        }
        let next = self.receiver.rcv_nxt();
        let Some(start) = tcp.seq.offset_near(self.handshake.rcv_isn, next) else {
            return Bytes::ZERO;
        };
        let (una, nxt) = (self.sender.snd_una(), self.sender.snd_nxt());
        // One without the timestamps that were agreed on may be forged, or its host's, where a
        // gateway that has gone had added them (fault seed 113300969): it is believed as much as
        // RFC 5961 has it.
        let end = match self.has_good_timestamp(now, tcp) {
            true => end,
            false => end.min(nxt + self.sender.max_window()),
        };
        let ack = match tcp.ack.offset_near(self.handshake.snd_isn, una) {
            Some(ahead) if ahead > nxt && ahead <= end => Some(nxt),
            _ => self.acceptable_ack(tcp.ack),
        };
        let Some(ack) = ack else { return Bytes::ZERO };
        let sack = self.sack_of(tcp);
        let window = Bytes::new(u64::from(tcp.window) << self.handshake.snd_shift);
        let (echoed, occupies) = (None, len > 0 || tcp.has(Flags::FIN));
        let acknowledgment = Ack { segment: start, ack, window, sack: &sack, echoed, occupies };
        let acked = self.sender.on_ack(now, &acknowledgment);
        if acked > Bytes::ZERO {
            self.note_progress();
        } else if ack == self.sender.snd_una()
            && !occupies
            && self.hastened.replace(ack) != Some(ack)
        {
            // What the host itself sends has reached it, so the path works again. Others on it must
            // see soon that what is missing is not lost. Data may be what another gateway repeats
            // that is left as we are, on its timer: each would end the other one's back-off, for
            // ever (fault seed 90501727). And once for what is missing: a gateway that does not
            // take it answers each segment (fault seed 144293586).
            self.sender.end_back_off(now);
        }
        acked
    }

    /// Whether a segment has a timestamp that is not old, if these were agreed on (RFC 7323, 3.2
    /// and 5.3).
    fn has_good_timestamp(&self, now: Instant, tcp: &TcpHeader) -> bool {
        let Some(state) = self.handshake.timestamps else { return true };
        tcp.options.timestamps.is_some_and(|ts| !state.is_old(ts.value, now))
    }

    /// The host for which we stand says `ack` to the peer, by its own segments: no more than
    /// `reach` beyond what was acknowledged before.
    pub fn follow_acknowledgment(&mut self, ack: SeqNum, reach: Bytes) {
        let next = self.receiver.ack_offset();
        let offset = ack.offset_near(self.handshake.rcv_isn, next);
        if let Some(offset) = offset.filter(|offset| *offset <= next + reach) {
            self.receiver.follow(offset);
        }
    }

    /// Whether RFC 5961's section 5 lets an acknowledgment of the peer's pass.
    pub fn is_plausible_ack(&self, ack: SeqNum) -> bool {
        self.acceptable_ack(ack).is_some()
    }

    /// What a segment to the peer from the host for which we stand must say instead, if that host
    /// acknowledges less in it than we have done in its name: the peer drops a segment whose
    /// acknowledgment is older than a window, data and all (RFC 5961, section 5).
    ///
    /// The right edge of its window stays where it is, or comes to lie at the acknowledgment.
    pub fn ack_rewrite(&self, tcp: &TcpHeader) -> Option<AckRewrite> {
        let ack = self.handshake.rcv_isn + self.receiver.last_ack_sent();
        let lift = u64::try_from(ack.distance_from(tcp.ack)).ok().filter(|lift| *lift > 0)?;
        let unit = 1u64 << self.receiver.window_shift();
        let window = (u64::from(tcp.window) * unit).saturating_sub(lift).div_ceil(unit);
        Some(AckRewrite { ack, window: window as u16 })
    }

    /// The segment's SACK blocks in offsets.
    pub(super) fn sack_of(&self, tcp: &TcpHeader) -> ArrayVec<Range<Offset>, 4> {
        let near = self.sender.snd_una();
        let offset = |seq: SeqNum| seq.offset_near(self.handshake.snd_isn, near);
        tcp.options
            .sack
            .iter()
            .filter_map(|block| Some(offset(block.left)?..offset(block.right)?))
            .collect()
    }

    /// One segment of what is owed from offset `at` on, whatever the windows say: bytes that were
    /// sent before go out once more, which recovery and congestion control do not hear of, others
    /// as usual. The peer may have opened its window without our hearing of it; what it has no room
    /// for it drops. None if there are no more.
    pub fn transmit_blindly(&mut self, now: Instant, at: Offset) -> Option<Outgoing> {
        let nxt = self.sender.snd_nxt();
        if at >= nxt {
            let sent = self.sender.transmit_regardless(now)?;
            return Some(self.data_segment(now, sent));
        }
        let data = at..nxt.min(at + self.sender.smss()).min(self.sender.written());
        if data.is_empty() {
            return None;
        }
        self.sender.repeated(data.clone());
        let mut tcp = self.header(now, data.start);
        tcp.flags = tcp.flags | Flags::PSH;
        if data.end == self.sender.written() && nxt > data.end {
            tcp.flags = tcp.flags | Flags::FIN;
        }
        Some(Outgoing { tcp, data, ecn: Ecn::NotCapable, cause: Cause::Blind })
    }

    /// A RST for a peer that expects offset `at` of our stream.
    pub fn reset_at(&self, at: Offset) -> TcpHeader {
        self.reset(Some(self.handshake.snd_isn + at))
    }
}
