//! The splice: two TCBs, and a stream of bytes from each to the other. No policy: whether anything
//! is taken, when a window opens and when all ends is decided elsewhere.
//!
//! Stream i holds what has arrived on leg i and is owed to the other leg. Sequence numbers are the
//! same everywhere, so a stream is one buffer: the receiver of one leg writes it, the sender of the
//! other reads it, and what it holds is the back-pressure.

mod leg_tcp;
mod memory;

pub(crate) use leg_tcp::{LegTcp, usual_sender};
pub(crate) use memory::{Allowance, MIN_NEAR};

use crate::leg::{Leg, PerLeg};
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::{Admission, Arrival, Tcb};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::{IpHeader, TcpHeader};

/// Two legs, two streams.
#[derive(Debug)]
pub(crate) struct Splice<B> {
    legs: PerLeg<LegTcp>,
    /// From that leg to the other.
    streams: PerLeg<B>,
}

impl<B: Buffer> Splice<B> {
    /// Of legs whose hosts have sent nothing yet.
    pub(crate) fn new(legs: PerLeg<LegTcp>) -> Splice<B> {
        Splice { legs, streams: PerLeg::default() }
    }

    /// Of legs that owe each other nothing.
    pub(crate) fn restore(legs: PerLeg<LegTcp>) -> Splice<B> {
        let streams = PerLeg::of(|leg| {
            let mut stream = B::default();
            stream.release(legs[leg].tcb.receiver.rcv_nxt());
            stream
        });
        Splice { legs, streams }
    }

    /// What has come from each host and is not acknowledged by the other one, all of which was sent
    /// before `now` by the host itself.
    pub(crate) fn adopt(&mut self, now: Instant, streams: PerLeg<B>) {
        self.streams = streams;
        for leg in Leg::BOTH {
            self.pass_on(leg);
            self.legs[leg.other()].tcb.sender.adopt_flight(now);
        }
    }

    pub(crate) fn leg(&self, leg: Leg) -> &LegTcp {
        &self.legs[leg]
    }

    pub(crate) fn legs(&self) -> &PerLeg<LegTcp> {
        &self.legs
    }

    pub(crate) fn leg_mut(&mut self, leg: Leg) -> &mut LegTcp {
        &mut self.legs[leg]
    }

    pub(crate) fn tcb(&self, leg: Leg) -> &Tcb {
        &self.legs[leg].tcb
    }

    pub(crate) fn tcb_mut(&mut self, leg: Leg) -> &mut Tcb {
        &mut self.legs[leg].tcb
    }

    /// The stream that feeds `leg`.
    pub(crate) fn stream_towards(&self, leg: Leg) -> &B {
        &self.streams[leg.other()]
    }

    /// Hands a segment to its leg, without the first bytes of its payload if they are `discarded`.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        leg: Leg,
        segment: &Segment<'_>,
        admission: Admission,
        discarded: usize,
    ) -> Arrival {
        let tcb = &mut self.legs[leg].tcb;
        let len = segment.payload.len();
        if discarded == 0 {
            return tcb.on_segment(now, segment.tcp, len, admission);
        }
        if discarded == len {
            return tcb.on_segment(now, segment.tcp, len, Admission::Refuse);
        }
        // As if the network had lost the first segment of a super-segment.
        let tcp = TcpHeader { seq: segment.tcp.seq + discarded as u64, ..segment.tcp.clone() };
        let mut arrival = tcb.on_segment(now, &tcp, len - discarded, admission);
        arrival.skip += discarded;
        arrival
    }

    /// Keeps what is new of a segment that has arrived on `leg`.
    pub(crate) fn store(&mut self, leg: Leg, arrival: &Arrival, segment: &Segment<'_>) {
        if !arrival.store.is_empty() {
            let len = (arrival.store.end - arrival.store.start).as_len();
            let new = segment.payload.slice(arrival.skip..arrival.skip + len);
            self.streams[leg].write(arrival.store.start, new);
        }
    }

    /// The host of `leg` has spoken: what the other leg sends in its name looks like that.
    pub(crate) fn follow(&mut self, leg: Leg, ip: &IpHeader, tcp: &TcpHeader) {
        let other = &mut self.legs[leg.other()];
        other.follow(ip);
        if let Some(ts) = tcp.options.timestamps {
            other.tcb.relay_timestamp(ts.value);
        }
    }

    /// What has arrived in order on `leg` may be sent on the other.
    pub(crate) fn pass_on(&mut self, leg: Leg) {
        let received = self.legs[leg].tcb.receiver.rcv_nxt();
        self.legs[leg.other()].tcb.sender.extend(received);
    }

    /// The host of `leg` has acknowledged `acked` more offsets: frees what it has, and says how
    /// many bytes that are.
    pub(crate) fn free(&mut self, leg: Leg, acked: Bytes) -> Bytes {
        if acked.is_zero() {
            return Bytes::ZERO;
        }
        // The FIN counts as an offset, but not as a byte.
        let una = self.legs[leg].tcb.sender.snd_una();
        let written = self.legs[leg.other()].tcb.receiver.rcv_nxt();
        self.streams[leg.other()].release(una.min(written));
        acked - Bytes::from(una > written)
    }

    /// The leg towards the client begins again on other terms. Its host has acknowledged all below
    /// `acked`; all below `sent` was sent to it on the former terms.
    pub(crate) fn restart_client(
        &mut self,
        now: Instant,
        mut leg: LegTcp,
        acked: Offset,
        sent: Offset,
    ) {
        let served = &self.legs[Leg::Server].tcb.receiver;
        leg.tcb.sender.extend(served.rcv_nxt());
        if served.fin_received() {
            leg.tcb.sender.finish();
        }
        leg.tcb.sender.resend_flight(now, sent);
        self.legs[Leg::Client] = leg;
        self.streams[Leg::Server].release(acked);
    }

    /// What arrives on `leg` is owed to nobody any more.
    pub(crate) fn forget(&mut self, leg: Leg) {
        self.streams[leg] = B::default();
    }

    /// Bytes that arrived in order on `leg` and have not been delivered to the other host.
    pub(crate) fn undelivered(&self, leg: Leg) -> Bytes {
        let sender = &self.legs[leg.other()].tcb.sender;
        self.legs[leg].tcb.receiver.rcv_nxt().saturating_sub(sender.snd_una())
    }

    /// The same of both legs.
    pub(crate) fn all_undelivered(&self) -> Bytes {
        self.undelivered(Leg::Client) + self.undelivered(Leg::Server)
    }

    /// Whether nothing is held or in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.held() == 0
            && self
                .legs
                .iter()
                .all(|leg| leg.tcb.sender.is_done() && leg.tcb.receiver.out_of_order().is_empty())
    }

    /// The round trips of the leg that stream `leg` comes from, and of the one that it feeds.
    pub(crate) fn round_trips(&self, leg: Leg) -> [Duration; 2] {
        [leg, leg.other()].map(|leg| self.legs[leg].round_trip())
    }

    /// The least round trip from host to host that was measured.
    pub(crate) fn min_round_trip(&self) -> Duration {
        self.legs.iter().map(LegTcp::min_round_trip).sum()
    }
}
