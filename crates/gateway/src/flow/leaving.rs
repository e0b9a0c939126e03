//! Leaving a flow to plain forwarding while some of its bytes are still held.
//!
//! A leaving flow takes nothing more: what comes is forwarded, and read only for what it
//! acknowledges (which its receiver has long heard from us, and hears no second time). What was
//! acknowledged before is still delivered; when that is done, nothing remembers the flow, and the
//! hosts go on between themselves: addresses, ports and sequence numbers are theirs
//! (bharadwaj-1999, 3.1).
//!
//! After a change of route, one host's acknowledgments may not come back through us (bharadwaj-2001,
//! 3.3 and 5). The bytes owed to that host are then sent blindly, several times. That all has
//! arrived shows in the other host's sequence numbers, once they pass all that we ever promised. If
//! nothing shows it, that host is sent resets where it would take them only if bytes are missing.

use super::closing::Ending;
use super::leg::LegTcp;
use super::split::{Packet, Progress, Split};
use crate::leg::{Leg, PerLeg};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::{Admission, Bypass, Fate, Outgoing};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Amendment, Flags, IpHeader, TcpHeader};

/// Why a flow leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Departure {
    /// Nothing has come for long, and nothing is held.
    Idle,
    /// The route of a direction has changed.
    Route,
    /// The gateway at the other end of a leg has forgotten it: what comes is the host's own.
    Peer,
    /// The gateway is being stopped.
    Drain,
}

impl Departure {
    /// All of them.
    pub const ALL: [Departure; 4] =
        [Departure::Idle, Departure::Route, Departure::Peer, Departure::Drain];

    /// A word for logs and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Departure::Idle => "idle",
            Departure::Route => "route",
            Departure::Peer => "peer",
            Departure::Drain => "drain",
        }
    }
}

/// What becomes of a flow that is to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// It leaves.
    Leaves,
    /// It is leaving or ending already, or has a handshake to complete.
    Stays,
    /// Its hosts cannot go on without us.
    Bound,
}

/// A flow on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) why: Departure,
    pub(super) since: Instant,
    /// The leg whose host's acknowledgments do not come back through us.
    pub(super) unheard: Option<Leg>,
    /// By leg: the other host is known to have all that had come in on it.
    pub(super) confirmed: PerLeg<bool>,
}

/// Sending what is owed to a host without hearing from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Blind {
    pub(super) leg: Leg,
    next: u64,
    /// Times that all is still to be sent.
    rounds: u32,
    at: Instant,
}

/// How often all is sent to a host that is not heard.
const BLIND_ROUNDS: u32 = 4;
/// The most resets for a host that may miss bytes.
const MOST_RESETS: usize = 64;
/// How long nothing must have come from the peer gateway before it is believed to be gone.
const PEER_SILENCE: Duration = Duration::from_secs(3);
/// The round trip to go by where none was measured.
const UNKNOWN_ROUND_TRIP: Duration = Duration::from_millis(100);
/// Timeouts in a row without any answer after which a host is not heard, whatever the reason.
const UNHEARD: u32 = 3;
/// Segments in a row that show that a route has changed, before it is believed.
const BYPASSED: u8 = 2;

impl<B: Buffer> Split<B> {
    /// The host of `leg` has shown, perhaps, that it hears the other one by another way. What of it
    /// is believed now.
    pub(super) fn note_bypass(
        &mut self,
        now: Instant,
        leg: Leg,
        shown: Option<Bypass>,
        acked: u64,
    ) -> Option<Bypass> {
        // Timestamps keep forged segments out: that one comes without them means something only if
        // none has come with them for some time.
        let lately = now < self.silence.heard[leg] + PEER_SILENCE;
        let shown = shown.filter(|shown| *shown != Bypass::NoTimestamps || !lately);
        let seen = &mut self.bypassed[leg];
        if shown.is_some() {
            *seen = seen.saturating_add(1);
        } else if acked > 0 {
            *seen = 0;
        }
        shown.filter(|_| *seen >= BYPASSED)
    }

    /// Takes nothing more from now on. `unheard` is the leg whose host's segments do not come
    /// through us any more, if that is why. A flow that is leaving already goes on leaving, with the
    /// time that it had; one that is ending goes on ending.
    pub(crate) fn leave(&mut self, now: Instant, why: Departure, unheard: Option<Leg>) -> Leave {
        match &mut self.ending {
            Ending::Open if self.binding_options => return Leave::Bound,
            // Nobody else would repeat the SYN-ACK.
            Ending::Open if self.unconfirmed.is_some() && why != Departure::Route => {
                return Leave::Stays;
            }
            Ending::Open => {
                self.unconfirmed = None;
                let confirmed = PerLeg::default();
                self.ending = Ending::Leaving(Leaving { why, since: now, unheard, confirmed });
            }
            Ending::Leaving(leaving) if leaving.unheard.is_none() && unheard.is_some() => {
                leaving.unheard = unheard;
            }
            Ending::Leaving(_)
            | Ending::Left
            | Ending::Draining { .. }
            | Ending::Closed { .. }
            | Ending::Reset { .. } => return Leave::Stays,
        }
        if let Some(leg) = unheard.filter(|leg| !self.legs[*leg].tcb.sender.is_done()) {
            self.send_blindly(now, leg, BLIND_ROUNDS);
        }
        Leave::Leaves
    }

    /// Why packets of the flow are forwarded, if they are.
    pub(crate) fn leaving_for(&self) -> Option<Departure> {
        match self.ending {
            Ending::Leaving(Leaving { why, .. }) => Some(why),
            Ending::Left => Some(Departure::Route),
            _ => None,
        }
    }

    /// The flow cannot go on. One that is leaving ends as it would when its time is over.
    pub(crate) fn cut(&mut self, now: Instant) {
        if let Ending::Leaving(leaving) = self.ending {
            return self.expire_leaving(now, leaving);
        }
        self.lost += self.undelivered(Leg::Client) + self.undelivered(Leg::Server);
        self.reset_both(now);
    }

    /// Whether nothing is owed by a leaving flow any more.
    pub(crate) fn has_left(&self) -> bool {
        let Ending::Leaving(Leaving { confirmed, .. }) = self.ending else { return false };
        Leg::BOTH.iter().all(|&leg| confirmed[leg.other()] || self.legs[leg].tcb.sender.is_done())
    }

    /// A packet for a leaving flow, which is forwarded besides if it says something to its receiver.
    pub(super) fn on_packet_leaving(
        &mut self,
        now: Instant,
        leg: Leg,
        packet: Packet<'_>,
        reset_drain: Duration,
    ) -> Progress {
        let Ending::Leaving(mut leaving) = self.ending else { return Progress::default() };
        let (tcp, len) = (packet.tcp, packet.payload.len());
        if tcp.has(Flags::RST) {
            let tcb = &mut self.legs[leg].tcb;
            let exact = tcb.on_segment(now, tcp, len, Admission::Refuse).fate == Fate::Reset;
            if exact && leaving.unheard.is_none() {
                // It follows what is held, like any other.
                self.on_reset(now, leg, reset_drain);
                return Progress::default();
            }
            if exact {
                self.lost += self.undelivered(Leg::Client) + self.undelivered(Leg::Server);
                self.forget_streams();
                self.ending = Ending::Left;
            }
            return Progress { forward: true, ..Progress::default() };
        }
        let reach = self.reach();
        let (here, told) = (&self.legs[leg].tcb, self.legs[leg.other()].tcb.receiver.ack_offset());
        if !here.is_near(tcp, reach) || !here.acknowledges_up_to(tcp, told + reach) {
            // Forged, most likely: its receiver will see. One that has closed would answer what is old with a
            // RST, so that is not forwarded.
            return Progress { forward: self.is_news(leg, tcp, len), ..Progress::default() };
        }
        // A host sends nothing below what it knows to have arrived: what does lie there is stale, or forged.
        let acked = match self.is_stale(leg, tcp, len) {
            true => 0,
            false => self.legs[leg].tcb.take_acknowledgment(now, tcp, len),
        };
        let delivered = self.release(leg, acked);
        // A host that is heard says itself what it has. Somebody else may have acknowledged more than we
        // ever took: another gateway that leaves as well, and now forwards what lies beyond.
        leaving.confirmed[leg] |=
            leaving.unheard == Some(leg.other()) && self.legs[leg].tcb.is_beyond_promise(tcp);
        self.ending = Ending::Leaving(leaving);
        // What we still send in this host's name must not look older than what it sends itself: RFC
        // 5961, section 5, and RFC 7323, section 5, have the other host drop it, data and all.
        let other = &mut self.legs[leg.other()].tcb;
        if tcp.has(Flags::ACK) {
            other.follow_acknowledgment(tcp.ack, reach);
        }
        if let Some(ts) = tcp.options.timestamps {
            other.relay_timestamp(ts.value);
        }
        let forward = self.is_news(leg, tcp, len);
        if !forward && (len > 0 || tcp.has(Flags::FIN)) {
            // Our acknowledgment of it was lost.
            self.legs[leg].tcb.receiver.owe_now();
        }
        let amendment = self.amendment(leg, tcp);
        Progress { forward, amendment, delivered, ..Progress::default() }
    }

    /// How far from what we hold the hosts can have come by themselves, in bytes: neither sends more
    /// than a window beyond what the other one misses.
    fn reach(&self) -> u64 {
        let window = |leg: &LegTcp| {
            let promised = leg.tcb.receiver.promised().saturating_sub(leg.tcb.receiver.rcv_nxt());
            leg.tcb.sender.max_window() + promised
        };
        self.legs.iter().map(window).sum::<u64>().max(1 << 16)
    }

    /// Whether a segment from the host of `leg` ends before what we have told it to have arrived.
    fn is_stale(&self, leg: Leg, tcp: &TcpHeader, len: usize) -> bool {
        let here = &self.legs[leg].tcb;
        let told = here.agreed().rcv_isn + here.receiver.last_ack_sent();
        let end = tcp.seq + (len as u64 + u64::from(tcp.has(Flags::FIN)));
        end.distance_from(told) < 0
    }

    /// Whether a segment from the host of `leg` says something that the other host has not heard
    /// from us. If its connection is over it would answer anything else with a RST, which would
    /// overtake what we still hold.
    fn is_news(&self, leg: Leg, tcp: &TcpHeader, len: usize) -> bool {
        let (here, there) = (&self.legs[leg].tcb, &self.legs[leg.other()].tcb);
        let had = here.agreed().rcv_isn + here.receiver.expected();
        let told = there.agreed().rcv_isn + there.receiver.last_ack_sent();
        let end = tcp.seq + (len as u64 + u64::from(tcp.has(Flags::FIN)));
        tcp.has(Flags::SYN)
            || (end != tcp.seq && end.distance_from(had) > 0)
            || tcp.ack.distance_from(told) > 0
    }

    /// What a segment of the host of `leg` must acknowledge when it is forwarded, if not what it says.
    ///
    /// We have acknowledged to the other host all that we hold of it, and have yet to deliver it: for
    /// that host this host's own acknowledgments may be older than a window, and where both hosts wait
    /// for each other's they would go on dropping each other's data. Saying once more what we have said
    /// promises nothing new. A blind attacker gains nothing by it: what he acknowledges must be as
    /// likely as the other host demands (RFC 5961, section 5).
    fn amendment(&self, leg: Leg, tcp: &TcpHeader) -> Option<Amendment> {
        let (here, there) = (&self.legs[leg].tcb, &self.legs[leg.other()].tcb);
        let plausible = tcp.has(Flags::ACK) && here.is_plausible_ack(tcp.ack);
        there.amendment(tcp).filter(|_| plausible && !tcp.has(Flags::SYN))
    }

    /// Sends all that is owed to the host of `leg` without waiting for it, `rounds` times.
    fn send_blindly(&mut self, now: Instant, leg: Leg, rounds: u32) {
        let next = self.legs[leg].tcb.sender.snd_una();
        self.blind = Some(Blind { leg, next, rounds, at: now });
    }

    /// A host has not answered for several timeouts: the route of a direction or of both may have changed.
    /// What is owed is sent once, in case that we reach the host and do not hear it, nor the windows that
    /// it has opened since. An outage costs no more by that.
    ///
    /// What the other host says meanwhile means nothing: it probes the window that we have closed, and
    /// as long as it has been told more than the silent one has, it takes no timestamps from what it hears
    /// from that one by another path.
    ///
    /// A client that has not acknowledged its SYN-ACK may never have sent a SYN: it is sent nothing blindly.
    pub(super) fn suspect_silence(&mut self, now: Instant, leg: Leg) {
        if leg == Leg::Client && self.is_unconfirmed() {
            return;
        }
        let sender = &self.legs[leg].tcb.sender;
        if matches!(sender.unanswered(), 2 | UNHEARD | 5) && self.blind.is_none() {
            // If an outage is over, what the timer has just sent again is answered before.
            let answer = sender.rtt().srtt().unwrap_or(UNKNOWN_ROUND_TRIP) * 2;
            // The timer's retransmission may have been lost, so it is among them. Who forwards the others
            // without it would hold it lost for good (`Gap`).
            let next = sender.snd_una();
            self.blind = Some(Blind { leg, next, rounds: 1, at: now + answer });
        }
    }

    /// Whether the host of `leg` has left several timeouts in a row without any answer.
    pub(super) fn is_unheard(&self, leg: Leg) -> bool {
        self.legs[leg].tcb.sender.unanswered() >= UNHEARD
    }

    /// What stream `leg` may hold beyond its capacity: what was sent to a host that is not heard, which
    /// may have arrived, if more comes from a peer gateway. That one holds what the host lacks before its
    /// acknowledgments mean something to the other host, if it hears them by another path.
    pub(super) fn sent_unheard(&self, leg: Leg) -> u64 {
        let sender = &self.legs[leg.other()].tcb.sender;
        if !self.legs[leg].peer || !self.is_unheard(leg.other()) {
            return 0;
        }
        (sender.snd_nxt() - sender.snd_una()).min(self.sizing[leg].most())
    }

    /// More has come for the host of `leg`. If that is not heard, it is sent all the same.
    pub(super) fn send_on_unheard(&mut self, now: Instant, leg: Leg) {
        let confirmed = leg == Leg::Server || !self.is_unconfirmed();
        if confirmed && self.is_unheard(leg) && self.blind.is_none() {
            let next = self.legs[leg].tcb.sender.snd_nxt();
            self.blind = Some(Blind { leg, next, rounds: 1, at: now });
        }
    }

    /// When [`Split::blind_segment`] has one, if ever.
    pub(super) fn blind_at(&self) -> Option<Instant> {
        self.blind.map(|blind| blind.at)
    }

    /// The next segment to a host that we do not hear.
    pub(super) fn blind_segment(&mut self, now: Instant) -> Option<(Leg, IpHeader, Outgoing)> {
        let mut blind = self.blind.filter(|blind| blind.at <= now)?;
        let leg = &mut self.legs[blind.leg];
        let next = blind.next.max(leg.tcb.sender.snd_una());
        let sent = leg.tcb.transmit_blindly(now, next);
        let sender = &leg.tcb.sender;
        match &sent {
            Some(out) => {
                // No faster than the window that had been earned; after timeouts, half of it.
                let earned =
                    if sender.unanswered() > 0 { sender.ssthresh() } else { sender.cwnd() };
                let window = earned.max(10 * sender.smss());
                let srtt = sender.rtt().srtt().unwrap_or(UNKNOWN_ROUND_TRIP);
                let len = out.data.end - out.data.start;
                blind.at = now + srtt.mul_f64(len as f64 / window as f64);
                blind.next = out.data.end;
            }
            None => {
                blind.rounds -= 1;
                blind.next = sender.snd_una();
                blind.at = now + sender.rtt().rto();
            }
        }
        self.blind = (blind.rounds > 0).then_some(blind);
        let (ip, out) = leg.outgoing(sent?);
        Some((blind.leg, ip, out))
    }

    /// A leaving flow has had its time.
    pub(super) fn expire_leaving(&mut self, now: Instant, leaving: Leaving) {
        self.lost += self.owed(leaving, Leg::Server) + self.owed(leaving, Leg::Client);
        let Some(leg) = leaving.unheard else {
            self.reset_both(now);
            return;
        };
        // Where the host expects its next byte if it misses some; not where it has all.
        let tcb = &self.legs[leg].tcb;
        let (una, smss) = (tcb.sender.snd_una(), tcb.sender.smss());
        let end = self.legs[leg.other()].tcb.receiver.rcv_nxt();
        if !leaving.confirmed[leg.other()] {
            for at in (una..end).step_by(smss as usize).take(MOST_RESETS) {
                let speaker = &self.legs[leg];
                let (ip, tcp) = speaker.address(speaker.tcb.reset_at(at));
                self.control.push_back((leg, ip, tcp));
            }
        }
        self.forget_streams();
        self.ending = Ending::Left;
    }

    /// Bytes that the host of `leg` may still miss.
    fn owed(&self, leaving: Leaving, leg: Leg) -> u64 {
        if leaving.confirmed[leg.other()] { 0 } else { self.undelivered(leg.other()) }
    }
}
