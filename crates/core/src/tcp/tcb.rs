//! The transmission control block (RFC 9293, 3.3.1) of a synchronised connection: one sender,
//! one receiver, and the header fields that tie them together.
//!
//! A host's connection is one of these with a state machine around it; a gateway's leg is one of
//! these with its streams shared. Bytes are the owner's: [`Tcb::on_segment`] says which part of a
//! payload to store, [`Tcb::poll_transmit`] which offsets to send.
//!
//! Drain order: after `on_segment` or `on_timer`, store what is to be stored, then call
//! `poll_transmit` until it gives nothing, then `poll_timer`.

mod bypass;
mod exchange;
mod path;
mod snapshot;
mod transaction;
mod transmit;

pub use bypass::Bypass;
pub use exchange::{Admission, Arrival, Fate, Outgoing};
pub use path::MIN_PATH_MTU;
pub use transaction::{Counts, OwnSyn};

use super::cause::Cause;
use super::ecn::EcnState;
use super::sender::{Ack, Sender, Transmission};
pub use super::timestamps::{TimestampClock, TimestampState};
use super::{receiver::Receiver, timestamps};
use crate::time::{Duration, Instant, earliest};
use crate::units::{Bytes, Offset};
use crate::wire::{Flags, SeqNum, TcpHeader};
use serde::{Deserialize, Serialize};

/// The numbers that both ends agreed on in the handshake.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct HandshakeNumbers {
    /// Our initial sequence number.
    pub snd_isn: SeqNum,
    /// The peer's.
    pub rcv_isn: SeqNum,
    /// The shift of the window field in segments that we receive.
    pub snd_shift: u8,
    /// Timestamps, if both ends offered them.
    pub timestamps: Option<TimestampState>,
}

/// The synchronised part of a connection.
#[derive(Debug)]
pub struct Tcb {
    /// The sending half.
    pub sender: Sender,
    /// The receiving half.
    pub receiver: Receiver,
    handshake: HandshakeNumbers,
    ecn: Option<EcnState>,
    last_challenge: Option<Instant>,
    counts: Option<Counts>,
    own_syn: Option<Box<OwnSyn>>,
    /// The rest of a transmission whose beginning went with the SYN.
    behind_syn: Option<Transmission>,
    path: path::PathMtu,
    stands_in: bool,
    /// Where the peer was when its word last ended a back-off.
    hastened: Option<Offset>,
}

impl Tcb {
    /// The least time between answers to segments without data that are not acceptable, so that
    /// two ends that disagree do not answer each other for ever (RFC 5961, section 7).
    const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);

    /// A connection after its handshake.
    pub fn new(handshake: HandshakeNumbers, sender: Sender, receiver: Receiver) -> Tcb {
        Tcb {
            sender,
            receiver,
            handshake,
            ecn: None,
            last_challenge: None,
            counts: None,
            own_syn: None,
            behind_syn: None,
            path: path::PathMtu::default(),
            stands_in: false,
            hastened: None,
        }
    }

    /// The handshake's numbers.
    pub fn handshake(&self) -> &HandshakeNumbers {
        &self.handshake
    }

    /// Bytes of options in every data segment.
    pub fn options_len(&self) -> Bytes {
        let timestamps = Bytes::new(if self.handshake.timestamps.is_some() { 12 } else { 0 });
        timestamps + self.counts.map_or(Bytes::ZERO, |_| Counts::OPTION_LEN)
    }

    /// Both ends have agreed on explicit congestion notification.
    pub fn enable_ecn(&mut self) {
        self.ecn = Some(EcnState::default());
    }

    /// We speak in another host's name: what the peer was told by that, or by somebody else, may
    /// not be what we know.
    pub fn stand_in(&mut self) {
        self.stands_in = true;
    }

    /// The packet of the segment that is handed over next bore CE.
    pub fn mark_congestion_experienced(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.mark();
        }
    }

    /// How long ago the timestamp that `tcp` echoes was sent, if it is of our own clock.
    pub fn echoed_age(&self, now: Instant, tcp: &TcpHeader) -> Option<Duration> {
        let TimestampState { clock: clock @ TimestampClock::Own(_), .. } =
            self.handshake.timestamps?
        else {
            return None;
        };
        let age = clock.value(now).wrapping_sub(tcp.options.timestamps?.echo);
        i32::try_from(age).ok().map(|millis| Duration::from_millis(millis.unsigned_abs().into()))
    }

    /// When the timestamp that `tcp` echoes was sent, by our own clock's ticks.
    fn echoed(&self, now: Instant, tcp: &TcpHeader) -> Option<Instant> {
        timestamps::before(now, self.echoed_age(now, tcp)?)
    }

    /// The host for which we stand has sent this TSval: ours follows it, and never goes back.
    pub fn relay_timestamp(&mut self, value: u32) {
        if let Some(TimestampState { clock: TimestampClock::Relayed(ours), .. }) =
            &mut self.handshake.timestamps
            && value.wrapping_sub(*ours) as i32 > 0
        {
            *ours = value;
        }
    }

    /// Takes a segment with `len` bytes of payload (RFC 9293, 3.10.7.4, with RFC 5961 and 7323).
    pub fn on_segment(
        &mut self,
        now: Instant,
        tcp: &TcpHeader,
        len: usize,
        admission: Admission,
    ) -> Arrival {
        let marked = self.ecn.as_mut().is_some_and(EcnState::take_mark);
        let start = tcp.seq.offset_near(self.handshake.rcv_isn, self.receiver.rcv_nxt());
        let occupied = Bytes::of_len(len) + Bytes::from(tcp.has(Flags::FIN));
        if tcp.has(Flags::RST) {
            return self.on_reset(now, start);
        }
        // RFC 5961, section 4: a SYN is challenged whatever its sequence number, so before the
        // timestamps too: a peer that begins anew may not offer any.
        if tcp.has(Flags::SYN) {
            self.answer_unacceptable(now, None, 0);
            return Arrival::default();
        }
        if self.is_of_another_count(tcp) {
            self.answer_unacceptable(now, None, 0);
            return Arrival::default();
        }
        if let Some(state) = self.handshake.timestamps {
            match tcp.options.timestamps {
                // They may stand behind what hosts cannot read, and take the segment all the same.
                None if tcp.options.malformed => {}
                // RFC 7323, 3.2: once agreed on, a segment without timestamps is dropped.
                None => {
                    let bypass = self.shown_without_timestamps(start, occupied);
                    return Arrival { bypass, ..Arrival::default() };
                }
                Some(ts) if state.is_old(ts.value, now) => {
                    self.answer_unacceptable(now, start, len);
                    return Arrival::default();
                }
                Some(_) => {}
            }
        }
        // First, check the sequence number.
        let Some(start) = start.filter(|_| self.receiver.acceptable(start, occupied)) else {
            if tcp.has(Flags::FIN) {
                // A timer sends it again: the peer waits in LAST-ACK for its acknowledgment.
                self.receiver.ack_now(Cause::EndOfStream);
            }
            self.answer_unacceptable(now, start, len);
            return Arrival {
                acked: self.acknowledged_below(now, start, tcp, occupied),
                bypass: self.shown_by_probe(now, start, tcp, len),
                ..Arrival::default()
            };
        };
        // Fifth, the ACK field.
        if !tcp.has(Flags::ACK) {
            return Arrival::default();
        }
        let Some(ack) = self.acceptable_ack(tcp.ack) else {
            self.answer_unacceptable(now, None, 0);
            let bypass = self.is_ahead(tcp.ack).then_some(Bypass::AckAhead);
            return Arrival { bypass, ..Arrival::default() };
        };
        let bypass = self.echoes_ahead(now, tcp).then_some(Bypass::EchoAhead);
        self.note_timestamp(now, tcp, start, ack);
        let blocks = (!tcp.options.sack.is_empty()).then(|| self.sack_of(tcp));
        let silent = self.stands_in && self.sender.unanswered() >= 2;
        let acked = self.sender.on_ack(
            now,
            &Ack {
                segment: start,
                ack,
                window: Bytes::new(u64::from(tcp.window) << self.handshake.snd_shift),
                sack: blocks.as_deref().unwrap_or_default(),
                echoed: self.echoed(now, tcp),
                occupies: occupied > Bytes::ZERO,
            },
        );
        if acked > Bytes::ZERO {
            // Mostly there is none, and dropping it would be a call.
            if self.own_syn.is_some() {
                self.own_syn = None;
            }
            self.note_progress();
        } else if silent
            && ack == self.sender.snd_una()
            && occupied == Bytes::ZERO
            && self.hastened.replace(ack) != Some(ack)
        {
            // The first that is heard for two timeouts, of something that went another way: the
            // path works again. Who sees the connection on that other way must see soon that what
            // is missing is not lost (fault seed 92147917). Once for what is missing: a path that
            // is slow, and not broken, is to be backed off from (RFC 6298, 5.7).
            self.sender.end_back_off(now);
        }
        // A loss that this shows has reduced the window for its echo as well.
        self.note_reduction();
        if let Some(ecn) = &mut self.ecn {
            let snd_una = self.sender.snd_una();
            if ecn.on_segment(tcp, len > 0, marked, snd_una) {
                self.sender.on_ecn_echo(now, acked);
            }
        }
        self.note_reduction();
        // Seventh, the segment text; eighth, the FIN bit.
        let arrival = match admission {
            Admission::Accept => self.take_text(now, start, tcp, len),
            Admission::Refuse => Arrival::default(),
        };
        Arrival { fate: Fate::Consumed, acked, bypass, ..arrival }
    }

    /// The payload of `len` bytes from `start`, and the FIN behind it.
    fn take_text(&mut self, now: Instant, start: Offset, tcp: &TcpHeader, len: usize) -> Arrival {
        let mut arrival = Arrival { fate: Fate::Consumed, ..Arrival::default() };
        if len > 0 || tcp.has(Flags::FIN) {
            let data = start..start + Bytes::of_len(len);
            let accepted = self.receiver.on_data(now, data, tcp.has(Flags::FIN));
            arrival.skip = accepted.store.start.saturating_sub(start).as_len();
            arrival.store = accepted.store;
            arrival.advanced = accepted.advanced;
        }
        arrival
    }

    /// RFC 5961, section 3.2: only a RST at exactly the expected number resets; another within
    /// the window is answered. After a held FIN the expected number may be one further.
    fn on_reset(&mut self, now: Instant, start: Option<Offset>) -> Arrival {
        let next = self.receiver.expected();
        let exact = start == Some(next)
            || (self.receiver.fin_received() && start == Some(self.receiver.rcv_nxt().next()));
        let fate = if exact { Fate::Reset } else { Fate::Dropped };
        if !exact && self.receiver.acceptable(start, Bytes::ZERO) {
            self.answer_unacceptable(now, None, 0);
        }
        Arrival { fate, ..Arrival::default() }
    }

    /// The offset that `ack` stands for, if RFC 5961's section 5 lets it pass.
    #[inline]
    fn acceptable_ack(&self, ack: SeqNum) -> Option<Offset> {
        let una = self.sender.snd_una();
        let offset = ack.offset_near(self.handshake.snd_isn, una)?;
        let oldest = una.saturating_back(self.sender.max_window().max(Bytes::ONE));
        (oldest <= offset && offset <= self.sender.snd_nxt()).then_some(offset)
    }

    /// Rule 2 of RFC 7323, 4.3; nothing of a segment whose acknowledgment is old, as Linux has it.
    fn note_timestamp(&mut self, now: Instant, tcp: &TcpHeader, start: Offset, ack: Offset) {
        let (Some(state), Some(ts)) = (&mut self.handshake.timestamps, tcp.options.timestamps)
        else {
            return;
        };
        let in_order = start <= self.receiver.acknowledged_or_held();
        if ack >= self.sender.snd_una() && in_order && !state.is_old(ts.value, now) {
            state.recent = ts.value;
            state.recent_at = now;
        }
    }

    /// Owes an acknowledgment for a segment that is not acceptable, with `len` bytes of data from
    /// `start`. Data always gets one, as it is no part of an endless exchange of acknowledgments.
    fn answer_unacceptable(&mut self, now: Instant, start: Option<Offset>, len: usize) {
        let has_data = len > 0;
        if let Some(start) = start {
            self.receiver.note_duplicates(&(start..start + Bytes::of_len(len)));
        }
        let recently = self
            .last_challenge
            .is_some_and(|at| now.saturating_since(at) < Self::CHALLENGE_INTERVAL);
        if has_data || !recently {
            if !has_data {
                self.last_challenge = Some(now);
            }
            self.receiver.ack_now(Cause::Unacceptable);
        }
    }

    /// When [`Tcb::on_timer`] is to be called, if ever.
    pub fn poll_timer(&self) -> Option<Instant> {
        earliest(self.sender.poll_timer(), self.receiver.poll_timer())
    }

    /// Lets expire what is due at `now`. (A delayed acknowledgment falls due by itself.)
    pub fn on_timer(&mut self, now: Instant) {
        let before = self.sender.stats().timeouts;
        self.sender.on_timer(now);
        if self.sender.stats().timeouts > before {
            self.note_timeout(now);
        }
        self.note_reduction();
    }

    /// A RST that the peer will take or answer: at SND.NXT, or where its acknowledgment `asked` for
    /// it.
    pub fn reset(&self, asked: Option<SeqNum>) -> TcpHeader {
        TcpHeader {
            seq: asked.unwrap_or(self.handshake.snd_isn + self.seq_without_data()),
            ack: self.handshake.rcv_isn + self.receiver.expected(),
            flags: Flags::RST | Flags::ACK,
            ..TcpHeader::default()
        }
    }

    /// RFC 3168, 6.1.2: the peer hears of a reduction for whatever reason, and marks of the data
    /// that was outstanding ask for no other.
    fn note_reduction(&mut self) {
        if let Some(ecn) = self.ecn.as_mut().filter(|_| self.sender.take_reduced()) {
            ecn.reduced(self.sender.snd_nxt());
        }
    }
}
