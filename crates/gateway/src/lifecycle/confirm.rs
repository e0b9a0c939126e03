//! Runs the decisions of [`SpoofedSynAck`](crate::handshake::SpoofedSynAck) until the client
//! acknowledges.

use super::SplicedFlow;
use crate::Side;
use crate::config::Config;
use crate::handshake::{Added, Answer, Expired, LegHandshake, Restart};
use crate::leg::Leg;
use crate::splice::LegTcp;
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::TimestampClock;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Offset;
use bentpipe_core::wire::TcpHeader;

impl<B: Buffer> SplicedFlow<B> {
    /// Whether the client has yet to acknowledge its SYN-ACK.
    pub(crate) fn is_unconfirmed(&self) -> bool {
        self.spoofed_synack.is_some()
    }

    /// Whether nothing may be sent on `leg` but the SYN-ACK.
    pub(super) fn is_held_back(&self, leg: Leg) -> bool {
        let synack = self.spoofed_synack.as_ref().filter(|_| leg == Leg::Client);
        synack.is_some_and(|synack| !synack.takes_early_data())
    }

    /// The host of `leg` has shown that it has the connection.
    pub(super) fn confirm(&mut self, leg: Leg) {
        self.spoofed_synack.take_if(|_| leg == Leg::Client);
    }

    /// Answers the client's SYN if it comes again. Whether a segment from `leg` is to be taken.
    pub(super) fn passes_handshake(&mut self, now: Instant, leg: Leg, tcp: &TcpHeader) -> bool {
        let Some(synack) = self.spoofed_synack.as_mut().filter(|_| leg == Leg::Client) else {
            return true;
        };
        match synack.answer(now, tcp) {
            Answer::Take => true,
            Answer::Drop => false,
            Answer::Repeat(relay) => {
                self.control.push_back((Leg::Client, relay));
                false
            }
        }
    }

    /// A segment of the client has come on `side`: where it accepts less than the SYN-ACK says, its
    /// leg begins again on those terms.
    pub(crate) fn drop_added_options(
        &mut self,
        now: Instant,
        config: &Config,
        side: Side,
        tcp: &TcpHeader,
    ) {
        let Some(synack) = &mut self.spoofed_synack else { return };
        let client = self.splice.leg(Leg::Client);
        let sent = client.tcb.sender.snd_nxt();
        let Restart { repeated, leg, binds } =
            synack.on_segment(tcp, (sent - Offset::FIRST).count());
        let clock = client.tcb.handshake().timestamps.map(|state| state.clock);
        let peer = client.peer;
        self.control.extend(repeated.map(|relay| (Leg::Client, relay)));
        let Some(leg) = leg else { return };
        if binds {
            self.added = Added::ToHost;
        }
        let acked = leg.acked.min(self.splice.tcb(Leg::Server).receiver.rcv_nxt());
        let relayed = match clock {
            Some(TimestampClock::Relayed(value)) => Some(value),
            Some(TimestampClock::Own(_)) | None => None,
        };
        let handshake = LegHandshake { relayed, peer, acked, ..leg };
        let leg = LegTcp::new(now, config, side, &handshake);
        self.splice.restart_client(now, leg, acked, sent);
    }

    /// Repeats the SYN-ACK, or resets the server of a client that is not there.
    pub(super) fn expire_spoofed_synack(&mut self, now: Instant) {
        let Some(synack) = &mut self.spoofed_synack else { return };
        match synack.expire(now) {
            Expired::Nothing => {}
            Expired::Repeat(relay) => self.control.push_back((Leg::Client, relay)),
            Expired::Unanswered => {
                self.closing.lose(self.splice.undelivered(Leg::Server));
                self.reset_both(now);
            }
        }
    }
}
