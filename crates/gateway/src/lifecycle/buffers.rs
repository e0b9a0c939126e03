//! How much the streams hold: what the tuners, the queue management and the pool allow becomes
//! windows.

use super::SplicedFlow;
use crate::leg::Leg;
use crate::mechanisms::{Backlog, Observed, Offered, is_unheard};
use crate::segment::Segment;
use crate::splice::{Allowance, MIN_NEAR};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::Flags;

/// A satellite's round trip is longer.
const NEAR: Duration = Duration::from_millis(8);

impl<B: Buffer> SplicedFlow<B> {
    /// Lets each leg's window open as far as its stream has room: right edges stand at what the
    /// far host has acknowledged plus what the stream may hold.
    pub(super) fn open_windows(&mut self, now: Instant, allowance: Allowance) {
        if self.is_unconfirmed() {
            // The client is not promised more than the SYN-ACK says, which may come again; and the
            // server not more than the SYN did, which may be forged.
            return;
        }
        for leg in Leg::BOTH {
            self.open_window(now, leg, allowance);
        }
    }

    fn open_window(&mut self, now: Instant, leg: Leg, allowance: Allowance) {
        if self.tuners[leg].is_held() {
            return;
        }
        let sender = &self.splice.tcb(leg.other()).sender;
        let room = self.room(leg, allowance);
        let limit = sender.snd_una() + room;
        let edge = match &self.aqms[leg] {
            Some(aqm) => aqm.edge(limit, sender.snd_nxt(), self.backlog(leg, room)),
            None if self.is_near(leg) && room >= MIN_NEAR => {
                self.splice.leg(leg).whole_bursts(limit)
            }
            None => limit,
        };
        self.splice.tcb_mut(leg).receiver.open_in_steps(now, edge);
    }

    /// Something has been sent on `leg`, so that more may wait behind it.
    pub(super) fn open_window_behind(&mut self, now: Instant, leg: Leg, allowance: Allowance) {
        let behind = leg.other();
        self.keep_ahead(behind);
        if self.closing.may_receive() && !self.is_unconfirmed() {
            self.open_window(now, behind, allowance);
        }
    }

    /// How many bytes stream `leg` may hold behind what has been delivered.
    pub(super) fn room(&self, leg: Leg, allowance: Allowance) -> Bytes {
        // Wherever in a chunk it begins, or the window would open by chunks.
        let share = allowance.share.saturating_sub(B::UNIT - Bytes::ONE);
        let mut wanted = self.tuners[leg].capacity() + self.sent_unheard(leg);
        if self.is_near(leg) {
            let first = MIN_NEAR.min(self.tuners[leg].max());
            wanted = wanted.max(first).min(allowance.near);
        }
        wanted.min(allowance.max.max(share))
    }

    /// Whether both hosts are so near that windows cover what this machine takes for its other
    /// flows, and no link. Nothing is discarded of stream `leg`, which would shorten its queue.
    fn is_near(&self, leg: Leg) -> bool {
        self.splice.min_round_trip() < NEAR && self.aqms[leg].is_none()
    }

    /// What stream `leg` may hold beyond its capacity: what was sent to a host that is not heard,
    /// which may have arrived, if more comes from a peer gateway. That one holds what the host
    /// lacks before its acknowledgments mean something to the other host, if it hears them on
    /// another path.
    fn sent_unheard(&self, leg: Leg) -> Bytes {
        let sender = &self.splice.tcb(leg.other()).sender;
        if !self.splice.leg(leg).peer || !is_unheard(sender) {
            return Bytes::ZERO;
        }
        (sender.snd_nxt() - sender.snd_una()).min(self.tuners[leg].max())
    }

    /// Stream `leg`, which may hold `capacity`, at this moment.
    fn backlog(&self, leg: Leg, capacity: Bytes) -> Backlog {
        let receiver = &self.splice.tcb(leg).receiver;
        let sender = &self.splice.tcb(leg.other()).sender;
        Backlog {
            bytes: receiver.rcv_nxt().saturating_sub(sender.snd_nxt()),
            room: capacity.saturating_sub(sender.snd_nxt() - sender.snd_una()),
            segment: receiver.rmss().max(Bytes::ONE),
        }
    }

    /// How many bytes at the beginning of a segment's payload are discarded: none, or one wire
    /// segment.
    pub(super) fn discards(
        &mut self,
        leg: Leg,
        segment: &Segment<'_>,
        allowance: Allowance,
    ) -> usize {
        if self.aqms[leg].is_none() {
            return 0;
        }
        let capacity = self.room(leg, allowance);
        let tcb = self.splice.tcb(leg);
        let (start, edge) = (tcb.receiver.rcv_nxt(), tcb.receiver.rcv_adv());
        let len = Bytes::of_len(segment.payload.len());
        let in_order = segment.tcp.seq.offset_near(tcb.handshake().rcv_isn, start) == Some(start)
            && segment.tcp.flags.0 & (Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0) == 0
            && tcb.receiver.out_of_order().is_empty()
            && start + len <= edge;
        if len.is_zero() || !in_order {
            return 0;
        }
        let backlog = self.backlog(leg, capacity);
        let offered = Offered { start, len, edge, capacity };
        self.aqms[leg].as_mut().map_or(0, |aqm| aqm.discards(offered, backlog))
    }

    /// `holes` have come up in what arrives on `leg`: each is a segment that was lost, or more.
    pub(super) fn note_holes(&mut self, leg: Leg, holes: usize) {
        let lost = self.aqms[leg].as_mut().map_or(holes, |aqm| aqm.network_holes(holes));
        self.tuners[leg].note_holes(lost as u64 * self.splice.tcb(leg).sender.smss());
    }

    /// Something new of stream `leg` has come, and is about to be sent on.
    pub(super) fn make_room(&mut self, now: Instant, leg: Leg) {
        let [near, far] = self.splice.round_trips(leg);
        let sender = &self.splice.tcb(leg.other()).sender;
        if sender.is_done() {
            self.tuners[leg].begin(now, near + far, sender.snd_una());
        }
        self.keep_ahead(leg);
    }

    /// The link behind `leg` may bring so much in a round trip from a peer gateway. If that is said
    /// of so many `flows` together, acknowledgments are as many as this one's share needs.
    pub(crate) fn expect(
        &mut self,
        leg: Leg,
        coming: impl FnOnce(Duration) -> Bytes,
        flows: Option<u64>,
    ) {
        if !self.splice.leg(leg).peer {
            return;
        }
        let product = coming(self.splice.leg(leg).round_trip());
        self.tuners[leg].expect(product);
        if let Some(flows) = flows {
            self.tuners[leg].expect_round(product / flows);
            self.acknowledge_by_what_comes(leg);
        }
    }

    /// The link behind `leg` takes away so many bytes in a round trip.
    pub(crate) fn provide(&mut self, leg: Leg, window: Bytes) {
        self.tuners[leg.other()].expect(window);
    }

    /// Forgets what follows from the rest: a flow that hibernates does not keep it.
    pub(crate) fn forget_bursts(&mut self) {
        for leg in Leg::BOTH {
            if self.comes_in_bursts(leg) {
                self.splice.leg_mut(leg).acknowledge_as_at_first();
            }
        }
    }

    /// Undoes [`SplicedFlow::forget_bursts`].
    pub(crate) fn remember_bursts(&mut self) {
        for leg in Leg::BOTH {
            if self.comes_in_bursts(leg) {
                self.splice.leg_mut(leg).acknowledge_bursts();
            }
        }
    }

    /// Whether bursts of `leg` are acknowledged, as hosts are near by and something of it has been
    /// delivered.
    fn comes_in_bursts(&self, leg: Leg) -> bool {
        self.is_near(leg) && self.splice.tcb(leg.other()).sender.snd_una() > Offset::FIRST
    }

    fn acknowledge_by_what_comes(&mut self, leg: Leg) {
        if self.is_near(leg) {
            return self.splice.leg_mut(leg).acknowledge_bursts();
        }
        let coming = self.tuners[leg].coming();
        self.splice.leg_mut(leg).acknowledge_by(coming);
    }

    /// Something of stream `leg` has come behind a hole.
    pub(super) fn fill_discarded(&mut self, leg: Leg) {
        let [near, far] = self.splice.round_trips(leg);
        let receiver = &self.splice.tcb(leg).receiver;
        if near > far
            && let Some(end) = receiver.out_of_order().iter().next_back().map(|last| last.end)
        {
            let out_of_order = end - receiver.rcv_nxt();
            let held = receiver.out_of_order().covered();
            let in_flight = self.splice.tcb(leg.other()).sender.in_flight();
            self.tuners[leg].bridge(in_flight, out_of_order, held);
        }
    }

    /// Stream `leg` may hold as much behind what is in flight as is needed to go on.
    pub(super) fn keep_ahead(&mut self, leg: Leg) {
        let sender = &self.splice.tcb(leg.other()).sender;
        self.tuners[leg].keep_ahead(sender.in_flight(), sender.sacked());
    }

    /// Something of stream `leg` has been delivered: it may hold more, or less.
    pub(super) fn tune(&mut self, now: Instant, leg: Leg) {
        let sender = &self.splice.tcb(leg.other()).sender;
        self.tuners[leg].on_delivered(&Observed {
            now,
            round_trips: self.splice.round_trips(leg),
            min_round_trip: self.splice.min_round_trip(),
            delivered: sender.snd_una(),
            retransmitted: sender.stats().retransmitted_bytes,
        });
        if sender.is_done() {
            self.tuners[leg].all_delivered();
            if self.is_near(leg) {
                self.splice.tcb_mut(leg).receiver.expedite_ack();
            }
        }
        self.acknowledge_by_what_comes(leg);
        self.keep_ahead(leg);
    }
}
