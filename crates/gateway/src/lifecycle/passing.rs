//! Segments that pass a flow which is being [released](super::release).
//!
//! They say something to their receivers, and to us.

use super::SplicedFlow;
use crate::leg::Leg;
use crate::splice::LegTcp;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{AckRewrite, Flags, SeqNum, TcpHeader};

impl<B: Buffer> SplicedFlow<B> {
    /// How far from what we hold the hosts can have come by themselves, in bytes: neither sends
    /// more than a window beyond what the other one misses.
    pub(super) fn reach(&self) -> Bytes {
        let window = |leg: &LegTcp| {
            let rcv_wnd = leg.tcb.receiver.rcv_adv().saturating_sub(leg.tcb.receiver.rcv_nxt());
            leg.tcb.sender.max_window() + rcv_wnd
        };
        self.splice.legs().iter().map(window).sum::<Bytes>().max(Bytes::new(1 << 16))
    }

    /// Whether a segment from the host of `leg` lies, and acknowledges, within `reach` of what we
    /// know.
    ///
    /// Its receiver takes an acknowledgment by the windows that it has been offered itself, and its
    /// timestamp with it (RFC 5961, section 5; RFC 7323, 4.3). This host's own window says nothing
    /// of that: another gateway may have acknowledged more than that in its name (fault seed
    /// 156370737).
    pub(super) fn is_within(&self, leg: Leg, tcp: &TcpHeader, reach: Bytes) -> bool {
        let (here, there) = (self.splice.tcb(leg), &self.splice.tcb(leg.other()).receiver);
        let oldest = here.sender.snd_una().min(there.last_ack_sent()).saturating_back(reach);
        let newest = there.ack_offset() + reach;
        here.is_near(tcp, reach) && here.acknowledges_within(tcp, oldest..=newest)
    }

    /// Whether a segment from the host of `leg` ends before what we have told it to have arrived.
    pub(super) fn is_stale(&self, leg: Leg, tcp: &TcpHeader, len: usize) -> bool {
        let here = self.splice.tcb(leg);
        let told = here.handshake().rcv_isn + here.receiver.last_ack_sent();
        let end = tcp.seq + (len as u64 + u64::from(tcp.has(Flags::FIN)));
        end.distance_from(told) < 0
    }

    /// Whether a segment from the host of `leg` begins or ends where the other host is not known to
    /// have come (RFC 9293, 3.10.7.4). One without data is acceptable right there.
    pub(super) fn is_acceptable(&self, leg: Leg, tcp: &TcpHeader, len: usize) -> bool {
        let una = self.splice.tcb(leg).handshake().rcv_isn
            + self.splice.tcb(leg.other()).sender.snd_una();
        let occupied = len as u64 + u64::from(tcp.has(Flags::FIN));
        let beyond = (tcp.seq + occupied).distance_from(una);
        beyond > 0 || (beyond == 0 && occupied == 0)
    }

    /// Whether a segment from the host of `leg` says something that the other host has not heard
    /// from us. If its connection is over it would answer anything else with a RST, which would
    /// overtake what we still hold.
    pub(super) fn is_news(&self, leg: Leg, tcp: &TcpHeader, len: usize) -> bool {
        let there = self.splice.tcb(leg.other());
        let had = self.held(leg);
        let told = there.handshake().rcv_isn + there.receiver.last_ack_sent();
        let end = tcp.seq + (len as u64 + u64::from(tcp.has(Flags::FIN)));
        tcp.has(Flags::SYN)
            || (end != tcp.seq && end.distance_from(had) > 0)
            || tcp.ack.distance_from(told) > 0
    }

    /// Whether a segment of the host of `leg` acknowledges all that we have told the other host,
    /// and opens the window that we had left to that host. Nobody else tells it: it would probe a
    /// window that is open, and ever less often (RFC 9293, 3.8.6.1). One that has ended its
    /// direction waits for no window, and may be gone.
    pub(super) fn opens_window(&self, leg: Leg, tcp: &TcpHeader, len: usize) -> bool {
        let (here, there) = (self.splice.tcb(leg), self.splice.tcb(leg.other()));
        let receiver = &there.receiver;
        let told = receiver.last_ack_sent();
        let window = Bytes::new(u64::from(tcp.window) << here.handshake().snd_shift);
        len == 0
            && tcp.has(Flags::ACK)
            && tcp.ack == there.handshake().rcv_isn + told
            && told + window > receiver.rcv_adv()
            && !receiver.fin_received()
    }

    /// Whether a segment of the host of `leg` acknowledges something that we have forwarded and
    /// never held.
    pub(super) fn acknowledges_what_passed(&self, leg: Leg, tcp: &TcpHeader) -> bool {
        tcp.has(Flags::ACK) && tcp.ack.distance_from(self.held(leg.other())) > 0
    }

    /// Whether a segment of the host of `leg` begins within the window that the other host has
    /// opened.
    pub(super) fn is_in_window(&self, leg: Leg, tcp: &TcpHeader) -> bool {
        let there = self.splice.tcb(leg.other());
        let edge = there.sender.window_edge();
        let start = tcp.seq.offset_near(there.handshake().snd_isn, edge);
        start.is_some_and(|start| start <= edge)
    }

    /// One past the last byte, of those that the host of `leg` has sent, up to which we have had
    /// them all.
    pub(super) fn held(&self, leg: Leg) -> SeqNum {
        let tcb = self.splice.tcb(leg);
        tcb.handshake().rcv_isn + tcb.receiver.expected()
    }

    /// What a segment of the host of `leg` must acknowledge when it is forwarded, if not what it
    /// says.
    ///
    /// We have acknowledged to the other host all that we hold of it, and have yet to deliver it:
    /// for that host this host's own acknowledgments may be older than a window, and where both
    /// hosts wait for each other's they would go on dropping each other's data. Saying once more
    /// what we have said promises nothing new. A blind attacker gains nothing by it: what he
    /// acknowledges must be as likely as the other host demands (RFC 5961, section 5).
    pub(super) fn ack_rewrite(&self, leg: Leg, tcp: &TcpHeader) -> Option<AckRewrite> {
        let (here, there) = (self.splice.tcb(leg), self.splice.tcb(leg.other()));
        let plausible = tcp.has(Flags::ACK) && here.is_plausible_ack(tcp.ack);
        there.ack_rewrite(tcp).filter(|_| plausible && !tcp.has(Flags::SYN))
    }
}
