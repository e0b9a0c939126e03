//! SYN-SENT and SYN-RECEIVED (RFC 9293, 3.5 and 3.10.7), retransmission of the SYN included; and
//! what T/TCP (RFC 1644) lets go with the SYN: a segment's worth of data, and the FIN.

use super::config::{ConnectionConfig, NegotiatedOptions};
use crate::fixed::Fixed;
use crate::tcp::cause::Cause;
use crate::tcp::ecn::Ecn;
use crate::tcp::receiver::{Receiver, ReceiverConfig};
use crate::tcp::rtt::RttEstimator;
use crate::tcp::sender::{InitialWindow, Sender};
use crate::tcp::tcb::{
    Counts, HandshakeNumbers, Outgoing, OwnSyn, Tcb, TimestampClock, TimestampState,
};
use crate::tcp::transaction::{ActiveOpen, PassiveOpen};
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};
use crate::wire::{Flags, SeqNum, TcpHeader, TcpOptions, Timestamps};
use std::ops::Range;

/// What a segment means for the handshake.
#[derive(Debug)]
pub(super) enum Step {
    /// Nothing, or the SYN was noted.
    Wait,
    /// Answer with this RST.
    Answer(TcpHeader),
    /// The peer has refused.
    Refused,
    /// Both are synchronised.
    Complete(Box<Tcb>),
}

/// A handshake under way.
#[derive(Debug)]
pub(super) struct Handshake {
    config: Fixed<ConnectionConfig>,
    isn: SeqNum,
    /// The peer's initial sequence number and the terms, once its SYN has come.
    peer: Option<(SeqNum, NegotiatedOptions)>,
    rto: RttEstimator,
    deadline: Instant,
    first_sent: Instant,
    last_sent: Instant,
    /// How often our SYN was sent, on timeouts or because the peer's came again.
    transmissions: u32,
    retries: u32,
    send_now: bool,
    /// T/TCP: our count.
    count: Option<u32>,
    /// It goes as CC.NEW.
    count_is_new: bool,
    /// The MSS that the peer announced in an earlier connection.
    known_mss: Option<u16>,
    /// What went with our SYN.
    text: Option<Text>,
}

/// What goes with a SYN.
#[derive(Debug, Clone, Copy)]
struct Text {
    /// One past the last byte's offset.
    end: Offset,
    fin: bool,
}

/// After so many retransmissions a SYN goes without counts and data, in case that something on
/// the way does not let them pass.
const COUNTED_RETRIES: u32 = 1;
/// The MSS of a peer that has announced none (RFC 9293, 3.7.1).
const DEFAULT_MSS: u16 = 536;
/// The window of a peer that has not announced one yet (RFC 1644, 3.4: 4K).
const ASSUMED_WINDOW: Bytes = Bytes::new(4096);

impl Handshake {
    pub(super) fn active(now: Instant, config: &ConnectionConfig, isn: SeqNum) -> Handshake {
        let rto = RttEstimator::new(config.sender.rto);
        Handshake {
            config: (*config).into(),
            isn,
            peer: None,
            deadline: rto.deadline(now),
            rto,
            first_sent: now,
            last_sent: now,
            transmissions: 0,
            retries: 0,
            send_now: true,
            count: None,
            count_is_new: false,
            known_mss: None,
            text: None,
        }
    }

    /// Offers T/TCP.
    pub(super) fn offer(self, open: ActiveOpen) -> Handshake {
        let (count, known_mss) = (Some(open.count), open.mss);
        Handshake { count, count_is_new: open.new, known_mss, ..self }
    }

    pub(super) fn passive(
        now: Instant,
        config: &ConnectionConfig,
        isn: SeqNum,
        syn: &TcpHeader,
        open: Option<PassiveOpen>,
    ) -> Handshake {
        let count = open.map(|open| open.count);
        let peer = Some((syn.seq, config.agree(syn, count)));
        Handshake { peer, count, ..Self::active(now, config, isn) }
    }

    pub(super) fn syn_received(&self) -> bool {
        self.peer.is_some()
    }

    /// The peer's count, if it speaks T/TCP as well.
    pub(super) fn peer_count(&self) -> Option<u32> {
        self.peer.and_then(|(_, negotiated)| negotiated.count)
    }

    /// One past the last offset that our SYN took, with what went with it.
    fn syn_end(&self) -> Offset {
        self.text.map_or(Offset::FIRST, |text| text.end + Bytes::from(text.fin))
    }

    /// The offset that `tcp` acknowledges, if it acknowledges our SYN.
    fn acknowledged(&self, tcp: &TcpHeader) -> Option<Offset> {
        let offset = tcp.ack.offset_near(self.isn, Offset::FIRST)?;
        (tcp.has(Flags::ACK) && (Offset::FIRST..=self.syn_end()).contains(&offset))
            .then_some(offset)
    }

    pub(super) fn on_segment(&mut self, now: Instant, tcp: &TcpHeader) -> Step {
        match self.peer {
            None => self.in_syn_sent(now, tcp),
            Some((peer_isn, negotiated)) => self.in_syn_received(now, tcp, peer_isn, &negotiated),
        }
    }

    /// RFC 9293, 3.10.7.3.
    fn in_syn_sent(&mut self, now: Instant, tcp: &TcpHeader) -> Step {
        let acks = self.acknowledged(tcp);
        let echo = tcp.options.cc_echo.filter(|_| self.count.is_some());
        if (tcp.has(Flags::ACK) && acks.is_none()) || (echo.is_some() && echo != self.count) {
            // Of a former connection, whose end our SYN will tell the peer, if it can compare.
            let silent = tcp.has(Flags::RST) || (self.count.is_some() && !self.count_is_new);
            return if silent { Step::Wait } else { Step::Answer(refusal(tcp)) };
        }
        if tcp.has(Flags::RST) {
            return if acks.is_some() { Step::Refused } else { Step::Wait };
        }
        if !tcp.has(Flags::SYN) {
            return Step::Wait;
        }
        let negotiated = self.config.agree(tcp, self.count);
        self.peer = Some((tcp.seq, negotiated));
        if let Some(acked) = acks {
            let window = Bytes::from(tcp.window);
            // A peer that speaks T/TCP has all that went with the SYN, though it may hold it back;
            // others may have dropped it.
            if negotiated.count.is_none() && acked == Offset::FIRST {
                return Step::Complete(self.complete(now, tcp, Offset::FIRST, window));
            }
            let mut tcb = self.complete(now, tcp, Offset::SYN, window + Bytes::ONE);
            tcb.sender.assume_sent(self.last_sent, self.syn_end(), self.transmissions > 1);
            return Step::Complete(tcb);
        }
        // Simultaneous open: answer with a SYN-ACK.
        self.send_now = true;
        Step::Wait
    }

    /// RFC 9293, 3.10.7.4.
    fn in_syn_received(
        &mut self,
        now: Instant,
        tcp: &TcpHeader,
        peer_isn: SeqNum,
        negotiated: &NegotiatedOptions,
    ) -> Step {
        if tcp.has(Flags::RST) {
            return if tcp.seq == peer_isn + 1 { Step::Refused } else { Step::Wait };
        }
        if tcp.has(Flags::SYN) && !tcp.has(Flags::ACK) {
            self.send_now |= tcp.seq == peer_isn;
            return Step::Wait;
        }
        // RFC 1644, 3.4: a segment of another count is of another connection.
        if !tcp.has(Flags::ACK)
            || (negotiated.count.is_some() && tcp.options.cc != negotiated.count)
        {
            return Step::Wait;
        }
        if self.acknowledged(tcp).is_none() {
            return Step::Answer(refusal(tcp));
        }
        let shift = if tcp.has(Flags::SYN) { 0 } else { negotiated.shifts.map_or(0, |s| s.0) };
        Step::Complete(self.complete(
            now,
            tcp,
            Offset::FIRST,
            Bytes::new(u64::from(tcp.window) << shift),
        ))
    }

    /// The peer's SYN has passed the TAO test: it is synchronised, and our SYN goes with the first
    /// data (RFC 1644, 3.3: the starred states).
    pub(super) fn half_synchronised(&self, now: Instant, syn: &TcpHeader) -> Box<Tcb> {
        let (_, negotiated) = self.peer.expect("the peer's SYN has come");
        let mut tcb = self.complete(now, syn, Offset::SYN, Bytes::from(syn.window) + Bytes::ONE);
        let options = TcpOptions {
            mss: Some(self.config.mss),
            window_scale: negotiated.shifts.map(|shifts| shifts.1),
            sack_permitted: negotiated.sack,
            ..TcpOptions::default()
        };
        let whole = TcpOptions {
            timestamps: negotiated.timestamps.map(|echo| Timestamps { value: 0, echo }),
            cc: self.count,
            cc_echo: negotiated.count,
            ..options.clone()
        };
        let mss = Bytes::from(self.config.mss.min(negotiated.peer_mss));
        let room = mss.saturating_sub(Bytes::of_len(whole.wire_len()));
        tcb.send_syn(OwnSyn { options, room });
        tcb
    }

    /// The peer has these terms, and begins at zero, without having said so.
    pub(super) fn agree(self, negotiated: NegotiatedOptions) -> Handshake {
        Handshake { peer: Some((SeqNum(0), negotiated)), ..self }
    }

    /// The connection's block, whose sender begins at `start`.
    pub(super) fn complete(
        &self,
        now: Instant,
        tcp: &TcpHeader,
        start: Offset,
        window: Bytes,
    ) -> Box<Tcb> {
        let (rcv_isn, negotiated) = self.peer.expect("the peer's SYN has come");
        // One that went twice tells nothing (Karn); one in the sender's books is measured there.
        let measured = self.transmissions == 1 && start > Offset::SYN;
        let rtt = measured.then(|| now.saturating_since(self.first_sent));
        let mut config = self.config.sender(&negotiated);
        if self.retries > 0 {
            // RFC 5681, 3.1, and RFC 6298, rule 5.7: after a lost SYN one segment, and patience.
            config.initial_window = InitialWindow::Segments(1);
            config.rto.initial = config.rto.initial.max(Duration::from_secs(3));
        }
        let mut sender = Sender::new(config, start, window, rtt);
        sender.extend(Offset::FIRST);
        let shift = negotiated.shifts.map_or(0, |shifts| shifts.1);
        let receiver = ReceiverConfig {
            rmss: Bytes::from(self.config.mss.min(negotiated.peer_mss)) - negotiated.options_len(),
            window_shift: shift,
            sack: negotiated.sack,
            hold_fin: false,
            delay_at_full_window: false,
        };
        let rcv_adv = Offset::FIRST + self.advertised();
        let mut receiver = Receiver::new(receiver, self.config.ack_policy, Offset::FIRST, rcv_adv);
        receiver.open_quietly(Offset::FIRST + self.config.receive_buffer);
        // RFC 7323, 4.3: not of a segment behind one that was lost.
        let in_order = tcp.seq.distance_from(rcv_isn + 1) <= 0;
        let latest = tcp.options.timestamps.filter(|_| in_order);
        let timestamps = negotiated.timestamps.map(|recent| TimestampState {
            clock: TimestampClock::Own(self.isn.0),
            recent: latest.map_or(recent, |ts| ts.value),
            recent_at: now,
        });
        let snd_shift = negotiated.shifts.map_or(0, |shifts| shifts.0);
        let handshake = HandshakeNumbers { snd_isn: self.isn, rcv_isn, snd_shift, timestamps };
        let mut tcb = Tcb::new(handshake, sender, receiver);
        if negotiated.ecn && !(start == Offset::SYN && self.text.is_none()) {
            tcb.enable_ecn();
        }
        if let Some((send, receive)) = self.count.zip(negotiated.count) {
            tcb.enable_counts(Counts { send, receive });
        }
        Box::new(tcb)
    }

    /// Whether `seq` is our SYN's.
    pub(super) fn is_own_syn(&self, seq: SeqNum) -> bool {
        seq == self.isn && self.transmissions > 0
    }

    /// A RST for the peer, if its SYN has come.
    pub(super) fn reset(&self) -> Option<TcpHeader> {
        let (peer_isn, _) = self.peer?;
        let (seq, ack) = (self.isn + self.syn_end(), peer_isn + 1);
        Some(TcpHeader { seq, ack, flags: Flags::RST | Flags::ACK, ..TcpHeader::default() })
    }

    /// The window in our SYN.
    pub(super) fn advertised(&self) -> Bytes {
        self.config.receive_buffer.min(Bytes::from(u16::MAX))
    }

    /// True if the peer has not answered often enough.
    pub(super) fn on_timer(&mut self, now: Instant) -> bool {
        if now < self.deadline {
            return false;
        }
        self.retries += 1;
        self.rto.back_off();
        self.deadline = self.rto.deadline(now);
        self.send_now = true;
        self.retries > self.config.syn_retries
    }

    pub(super) fn poll_timer(&self) -> Instant {
        self.deadline
    }

    /// Our SYN or SYN-ACK, if it is to be sent now, and what of the stream goes with it: the
    /// application has written up to `written`, and perhaps closed.
    pub(super) fn poll_transmit(
        &mut self,
        now: Instant,
        written: Offset,
        closing: bool,
    ) -> Option<Outgoing> {
        if !std::mem::take(&mut self.send_now) {
            return None;
        }
        self.last_sent = now;
        self.transmissions += 1;
        let window = u16::try_from(self.advertised().count()).unwrap_or(u16::MAX);
        let value = self.isn.0.wrapping_add((self.first_sent.as_nanos() / 1_000_000) as u32);
        let config = &self.config;
        let mut tcp =
            TcpHeader { seq: self.isn, window, flags: Flags::SYN, ..TcpHeader::default() };
        let options = &mut tcp.options;
        options.mss = Some(config.mss);
        let mut data = Offset::FIRST..Offset::FIRST;
        match self.peer {
            None => {
                options.window_scale = config.window_scale;
                options.sack_permitted = config.sack;
                options.timestamps = config.timestamps.then_some(Timestamps { value, echo: 0 });
                // RFC 3168, 6.1.1.1: a SYN that was lost may have been dropped for its flags.
                if config.ecn && self.retries == 0 {
                    tcp.flags = tcp.flags | Flags::ECE | Flags::CWR;
                }
                if let Some(count) = self.count.filter(|_| self.retries <= COUNTED_RETRIES) {
                    if self.count_is_new {
                        options.cc_new = Some(count);
                    } else {
                        options.cc = Some(count);
                    }
                    data = self.add_text(&mut tcp, written, closing);
                }
            }
            Some((peer_isn, negotiated)) => {
                options.window_scale = negotiated.shifts.map(|shifts| shifts.1);
                options.sack_permitted = negotiated.sack;
                options.timestamps = negotiated.timestamps.map(|echo| Timestamps { value, echo });
                options.cc = self.count.filter(|_| negotiated.count.is_some());
                options.cc_echo = negotiated.count;
                tcp.flags = Flags::SYN | Flags::ACK;
                if negotiated.ecn {
                    tcp.flags = tcp.flags | Flags::ECE;
                }
                tcp.ack = peer_isn + 1;
            }
        }
        debug_assert!(tcp.options.wire_len() <= TcpOptions::MAX_LEN);
        let again = self.transmissions > 1;
        let cause = if again { Cause::HandshakeTimeout } else { Cause::Handshake };
        Some(Outgoing { tcp, data, ecn: Ecn::NotCapable, cause })
    }

    /// Lets go with a SYN what fits of the stream. What went with the first goes with every one.
    fn add_text(&mut self, tcp: &mut TcpHeader, written: Offset, closing: bool) -> Range<Offset> {
        let text = *self.text.get_or_insert_with(|| {
            let mss = Bytes::from(self.known_mss.unwrap_or(DEFAULT_MSS).min(self.config.mss));
            let room = mss
                .saturating_sub(Bytes::of_len(tcp.options.wire_len()))
                .min(ASSUMED_WINDOW - Bytes::new(2));
            let end = written.min(Offset::FIRST + room);
            Text { end, fin: closing && end == written }
        });
        if text.end > Offset::FIRST {
            tcp.flags = tcp.flags | Flags::PSH;
        }
        if text.fin {
            tcp.flags = tcp.flags | Flags::FIN;
        }
        Offset::FIRST..text.end
    }
}

/// The RST for an unacceptable acknowledgment (RFC 9293, 3.10.7.3).
fn refusal(tcp: &TcpHeader) -> TcpHeader {
    TcpHeader { seq: tcp.ack, flags: Flags::RST, ..TcpHeader::default() }
}
