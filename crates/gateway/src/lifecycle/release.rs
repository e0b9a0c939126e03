//! Handing a flow back to plain forwarding while some of its bytes are still held.
//!
//! A flow that is released takes nothing more: what comes is forwarded, and read only for what it
//! acknowledges (which its receiver has long heard from us, and hears no second time). What was
//! acknowledged before is still delivered; when that is done, nothing remembers the flow, and the
//! hosts go on between themselves: addresses, ports and sequence numbers are theirs
//! (bharadwaj-1999, 3.1).
//!
//! After a change of route, one host's acknowledgments may not come back through us
//! (bharadwaj-2001, 3.3 and 5). The bytes owed to that host are then sent blindly, several times.
//! That all has arrived shows in the other host's sequence numbers, once they pass all that we ever
//! promised. If nothing shows it, that host is sent resets where it would take them only if bytes
//! are missing.

use super::SplicedFlow;
use super::arrival::Received;
use super::closing::CloseState;
use super::replaced::OtherHandshake;
use crate::handshake::{Added, Relay};
use crate::leg::{Leg, PerLeg};
use crate::mechanisms::BlindSend;
use crate::observe::Release;
use crate::segment::Segment;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::tcp::tcb::{Admission, Fate};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{Flags, SeqNum};
use std::collections::VecDeque;

/// What becomes of a flow that is to be released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Released {
    /// It is.
    Begun,
    /// It is so already, or is ending, or has a handshake to complete.
    Stays,
    /// Its hosts cannot go on without us.
    Bound,
}

/// A flow that is being released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Releasing {
    pub(super) why: Release,
    /// When a host has last taken some of what is held, or else the beginning.
    pub(super) taken_at: Instant,
    /// The leg whose host's acknowledgments do not come back through us.
    pub(super) unheard: Option<Leg>,
    /// By leg: the other host is known to have all that had come in on it.
    confirmed: PerLeg<bool>,
    /// By leg: one past the last byte that its host has sent since.
    furthest: PerLeg<SeqNum>,
    /// A FIN has been forwarded: the connection is nearly over.
    pub(super) ends: bool,
}

/// The most resets for a host that may miss bytes.
const MAX_RESETS: usize = 64;

impl<B: Buffer> SplicedFlow<B> {
    /// Takes nothing more from now on. `unheard` is the leg whose host's segments do not come
    /// through us any more, if that is why. A flow that is being released already goes on with
    /// that, with the time that it had; one that is ending goes on ending.
    pub(crate) fn release(&mut self, now: Instant, why: Release, unheard: Option<Leg>) -> Released {
        match self.closing.state() {
            CloseState::Open if self.added == Added::ToHost => return Released::Bound,
            // Nobody else would repeat the SYN-ACK.
            CloseState::Open if self.spoofed_synack.is_some() && why != Release::Route => {
                return Released::Stays;
            }
            CloseState::Open => {
                self.spoofed_synack = None;
                self.closing.release(Releasing {
                    why,
                    taken_at: now,
                    unheard,
                    confirmed: PerLeg::default(),
                    furthest: PerLeg::of(|leg| self.held(leg)),
                    ends: false,
                });
            }
            CloseState::Releasing(releasing)
                if releasing.unheard.is_none() && unheard.is_some() =>
            {
                self.closing.release(Releasing { unheard, ..releasing });
            }
            CloseState::Releasing(_)
            | CloseState::Released
            | CloseState::Draining { .. }
            | CloseState::Closed { .. }
            | CloseState::Reset { .. } => return Released::Stays,
        }
        if let Some(leg) = unheard.filter(|leg| !self.splice.tcb(*leg).sender.is_done()) {
            self.blind = Some(BlindSend::all(now, leg, &self.splice.tcb(leg).sender));
        }
        Released::Begun
    }

    /// Why segments of the flow are forwarded, if they are.
    pub(crate) fn released_for(&self) -> Option<Release> {
        match self.closing.state() {
            CloseState::Releasing(Releasing { why, .. }) => Some(why),
            CloseState::Released => Some(Release::Route),
            _ => None,
        }
    }

    /// The flow cannot go on. One that is being released ends as it would when its time is over.
    pub(crate) fn cut(&mut self, now: Instant) {
        if let CloseState::Releasing(releasing) = self.closing.state() {
            return self.expire_release(now, releasing);
        }
        self.closing.lose(self.splice.all_undelivered());
        self.reset_both(now);
    }

    /// Whether a flow that is being released owes nothing any more.
    pub(crate) fn is_release_complete(&self) -> bool {
        let CloseState::Releasing(Releasing { confirmed, .. }) = self.closing.state() else {
            return false;
        };
        Leg::BOTH.iter().all(|&leg| confirmed[leg.other()] || self.splice.tcb(leg).sender.is_done())
    }

    /// The resets that are still to be sent of a flow that has been released.
    pub(crate) fn take_resets(&mut self) -> Option<VecDeque<(Leg, Relay)>> {
        let released = self.closing.state() == CloseState::Released;
        released.then(|| self.take_control())
    }

    /// The segments outside the legs' own traffic that are still to be sent.
    pub(crate) fn take_control(&mut self) -> VecDeque<(Leg, Relay)> {
        std::mem::take(&mut self.control)
    }

    /// A segment for a flow that is being released, which is forwarded besides if it says something
    /// to its receiver.
    pub(super) fn on_segment_released(
        &mut self,
        now: Instant,
        leg: Leg,
        segment: &Segment<'_>,
        reset_drain: Duration,
    ) -> Received {
        let CloseState::Releasing(mut releasing) = self.closing.state() else {
            return Received::default();
        };
        let (tcp, len) = (segment.tcp, segment.payload.len());
        if tcp.has(Flags::RST) {
            let tcb = self.splice.tcb_mut(leg);
            // Where its peer has acknowledged more than we ever held, its host goes by that, and by
            // what we have said of it ourselves. Fault seed 30013819: it resets, and calls again
            // from the same port.
            let receiver = &tcb.receiver;
            let told = [receiver.ack_offset(), receiver.last_ack_sent()];
            let beyond = told.into_iter().any(|told| {
                told > receiver.expected() && tcp.seq == tcb.handshake().rcv_isn + told
            });
            if beyond {
                // All of its bytes have arrived, and to it nothing is owed.
                return self.forget_released();
            }
            let exact = tcb.on_segment(now, tcp, len, Admission::Refuse).fate == Fate::Reset;
            // A FIN as well as bytes (fault seed 140071379).
            let owes = !self.splice.tcb(leg.other()).sender.is_done();
            let replaced = self.closing.other.as_ref().is_some_and(|other| other.is_of(leg, owes));
            if exact && releasing.unheard.is_none() && !replaced {
                // It follows what is held, like any other.
                self.on_reset(now, leg, reset_drain);
                return Received::default();
            }
            if exact {
                self.closing.lose(self.splice.all_undelivered());
                return self.forget_released();
            }
            return Received { forward: true, ..Received::default() };
        }
        let isn = self.splice.tcb(leg).handshake().rcv_isn;
        let repeated = tcp.has(Flags::SYN) && tcp.has(Flags::ACK) && tcp.seq == isn;
        if repeated && releasing.unheard != Some(leg) {
            // The peer gateway has not heard that its SYN-ACK has come. The client may have ended
            // since, and would reset what we still bring for it (fault seed 90515275).
            self.splice.tcb_mut(leg).receiver.ack_now(Cause::Duplicate);
            return Received::default();
        }
        if OtherHandshake::note(&mut self.closing.other, leg, isn, tcp) {
            self.closing.lose(self.splice.all_undelivered());
            return self.forget_released();
        }
        releasing.ends |= tcp.has(Flags::FIN);
        self.closing.release(releasing);
        let reach = self.reach();
        let (here, told) =
            (self.splice.tcb(leg), self.splice.tcb(leg.other()).receiver.ack_offset());
        if !self.is_within(leg, tcp, reach) {
            // Forged, most likely: its receiver will see. One that has closed would answer what is
            // old with a RST, so that is not forwarded.
            return Received { forward: self.is_news(leg, tcp, len), ..Received::default() };
        }
        // A host sends nothing below what it knows to have arrived: what does lie there is stale,
        // or forged.
        let edge = here.sender.window_edge();
        let stale = self.is_stale(leg, tcp, len);
        let acked = match stale {
            true => Bytes::ZERO,
            false => {
                // Behind a FIN nobody has sent anything.
                let passed = &self.splice.tcb(leg.other()).receiver;
                let end = if passed.fin_received() { passed.expected() } else { told + reach };
                self.splice.tcb_mut(leg).take_acknowledgment(now, tcp, len, end)
            }
        };
        let delivered = self.splice.free(leg, acked);
        let end = tcp.seq + len as u64;
        let is_new = end.distance_from(releasing.furthest[leg]) > 0 && !stale;
        if is_new {
            // It sends what it has not sent before, so the path works again, as where it
            // acknowledges (fault seed 107627986). What is repeated, by it or another gateway, says
            // nothing.
            releasing.furthest[leg] = end;
            self.splice.tcb_mut(leg).sender.end_back_off(now);
        }
        let goes_on = acked > Bytes::ZERO || self.splice.tcb(leg).sender.window_edge() > edge;
        if releasing.unheard == Some(leg) && (goes_on || is_new) {
            // All that was sent blindly may have been lost (fault seed 162690817).
            self.renew_blind_send(now, leg);
        }
        if releasing.unheard == Some(leg) && goes_on {
            releasing.taken_at = now;
        } else if acked > Bytes::ZERO && releasing.unheard.is_none() {
            // It is slow, but goes on: the far host may be a slow reader, or a satellite away by
            // now.
            releasing.taken_at = now;
        }
        // A host that is heard says itself what it has. Somebody else may have acknowledged more
        // than we ever took: another gateway that leaves as well, and now forwards what lies
        // beyond.
        // Where the other host has been heard after all, its window may be what lets this one go on
        // (fault seed 90393624).
        let edge = self.splice.tcb(leg.other()).sender.window_edge();
        releasing.confirmed[leg] |= releasing.unheard == Some(leg.other())
            && self.splice.tcb(leg).is_beyond_rcv_adv(tcp, edge);
        self.closing.release(releasing);
        let counts = !stale || self.is_acceptable(leg, tcp, len);
        // What we still send in this host's name must not look older than what it sends itself: RFC
        // 5961, section 5, and RFC 7323, section 5, have the other host drop it, data and all.
        let other = self.splice.tcb_mut(leg.other());
        if let Some(ts) = tcp.options.timestamps {
            other.relay_timestamp(ts.value);
        }
        // A receiver that has had a segment ignores what it acknowledges (fault seed 140645466).
        // Its timestamp is relayed all the same: another gateway may have acknowledged it in the
        // receiver's name (fault seed 156326968).
        if counts {
            other.follow_acknowledgment(tcp.ack, reach);
        }
        let mut forward = self.is_news(leg, tcp, len) || self.opens_window(leg, tcp, len);
        if !forward && (len > 0 || tcp.has(Flags::FIN)) {
            // Our acknowledgment of it was lost.
            self.splice.tcb_mut(leg).receiver.ack_now(Cause::Duplicate);
        } else if !forward && self.acknowledges_what_passed(leg, tcp) {
            // So was this one, and what is to acknowledge has been forwarded once more. It comes
            // from where its host is: the other one may have come there with what was forwarded,
            // and takes nothing from where we are (fault seed 93119985). Or that is more than a
            // window beyond what we still hold: we say it from there.
            forward = self.is_in_window(leg, tcp);
            if !forward {
                self.splice.tcb_mut(leg.other()).receiver.ack_now(Cause::Duplicate);
            }
        }
        let ack_rewrite = self.ack_rewrite(leg, tcp);
        Received { forward, ack_rewrite, delivered, ..Received::default() }
    }

    /// The release is over, whatever is held; the segment that shows it goes on.
    fn forget_released(&mut self) -> Received {
        self.forget_streams();
        self.closing.end_release();
        Received { forward: true, ..Received::default() }
    }

    /// The host of `leg` is heard all the same, though it was not to be: what was on its way when
    /// the route changed, or that has changed back, or never had. It is sent what it misses as
    /// often as before, at the pace at which its window lets it take that (fault seed 40623429).
    fn renew_blind_send(&mut self, now: Instant, leg: Leg) {
        let sender = &self.splice.tcb(leg).sender;
        if sender.is_done() {
            return;
        }
        match &mut self.blind {
            Some(blind) if blind.leg() == leg => blind.renew(),
            blind => *blind = Some(BlindSend::all(now, leg, sender)),
        }
    }

    /// For too long no host has taken any of what is held.
    pub(super) fn expire_release(&mut self, now: Instant, releasing: Releasing) {
        self.closing.lose(self.owed(releasing, Leg::Server) + self.owed(releasing, Leg::Client));
        let Some(leg) = releasing.unheard else {
            self.reset_both(now);
            return;
        };
        // Where the host expects its next byte if it misses some; not where it has all.
        let tcb = self.splice.tcb(leg);
        let (una, smss) = (tcb.sender.snd_una(), tcb.sender.smss());
        let end = self.splice.tcb(leg.other()).receiver.rcv_nxt();
        if !releasing.confirmed[leg.other()] {
            let segments = (0..).map(|count: u64| una + count * smss).take_while(|at| *at < end);
            for at in segments.take(MAX_RESETS) {
                let speaker = self.splice.leg(leg);
                self.control.push_back((leg, speaker.address(speaker.tcb.reset_at(at))));
            }
        }
        self.forget_streams();
        self.closing.end_release();
    }

    /// Bytes that the host of `leg` may still miss.
    fn owed(&self, releasing: Releasing, leg: Leg) -> Bytes {
        match releasing.confirmed[leg.other()] {
            true => Bytes::ZERO,
            false => self.splice.undelivered(leg.other()),
        }
    }
}
