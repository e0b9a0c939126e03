//! A connection that speaks T/TCP (RFC 1644): accelerated opens, half-synchronised states, short
//! TIME-WAIT. The cache that decides is its caller's: [`TaoCache`](crate::tcp::transaction).

use super::handshake::Handshake;
use super::{Connection, ConnectionConfig, Opening, Phase, State};
use crate::tcp::buffer::{Buffer, Payload};
use crate::tcp::tcb::Tcb;
use crate::tcp::transaction::{ActiveOpen, Lesson, PassiveOpen, is_after};
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};
use crate::wire::{Flags, SeqNum, TcpHeader};

/// Data that came with a SYN and waits for the handshake.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) len: Bytes,
    pub(super) fin: bool,
}

impl<B: Buffer> Connection<B> {
    /// Opens actively, as a transaction if [`ConnectionConfig::transactions`] is on: what is
    /// written, and closed, before the first [`Connection::poll_transmit`] goes with the SYN.
    pub fn connect_transaction(
        now: Instant,
        config: ConnectionConfig,
        isn: SeqNum,
        open: ActiveOpen,
    ) -> Connection<B> {
        if config.opening == Opening::Prearranged {
            return Self::prearranged(now, config);
        }
        let handshake = Handshake::active(now, &config, isn);
        let handshake = if config.transactions { handshake.offer(open) } else { handshake };
        Self::opening(now, config, handshake)
    }

    /// Answers `syn`, which carries `payload`. If the TAO test has passed, the connection is open
    /// at once and the payload can be read; otherwise it is held until the handshake is over.
    /// `open` is None where the peer does not speak T/TCP: then the payload is to come again.
    pub fn accept_transaction(
        now: Instant,
        config: ConnectionConfig,
        isn: SeqNum,
        syn: &TcpHeader,
        payload: Payload<'_>,
        open: Option<PassiveOpen>,
    ) -> Option<Connection<B>> {
        if config.opening == Opening::Prearranged {
            return Self::prearranged_by(now, config, syn, payload);
        }
        let plain = syn.has(Flags::SYN) && !syn.has(Flags::ACK) && !syn.has(Flags::RST);
        if !plain {
            return None;
        }
        let open = open.filter(|_| config.transactions);
        let handshake = Handshake::passive(now, &config, isn, syn, open);
        let advertised = handshake.advertised();
        let half = open.filter(|open| open.accelerated && handshake.peer_count().is_some());
        let tcb = half.map(|_| handshake.half_synchronised(now, syn));
        let mut connection = Self::opening(now, config, handshake);
        if let Some(mut tcb) = tcb {
            let arrival = tcb.on_syn(now, syn, payload.len());
            connection.synchronise(now, tcb);
            connection.store(&arrival, payload);
            connection.after_progress(now);
        } else if open.is_some() {
            let len = Bytes::of_len(payload.len()).min(advertised);
            connection.receive.write(Offset::FIRST, payload.slice(0..len.as_len()));
            let fin = syn.has(Flags::FIN) && len == Bytes::of_len(payload.len());
            connection.held = Some(Held { len, fin });
        }
        Some(connection)
    }

    /// What has been learnt of the peer since the last call, for the
    /// [`TaoCache`](crate::tcp::transaction::TaoCache).
    pub fn poll_lesson(&mut self) -> Option<Lesson> {
        self.lesson.take()
    }

    /// Whether what is written now goes with the SYN: closing at once loses nothing then.
    pub fn opens_with_data(&self) -> bool {
        self.config.transactions && self.state() == State::SynSent
    }

    /// RFC 1644's "send SYN": we take the peer for synchronised, but our SYN is not acknowledged.
    pub fn sends_syn(&self) -> bool {
        self.tcb().is_some_and(Tcb::sends_syn)
    }

    /// RFC 1644's "send FIN": closed before the handshake was over, so that the FIN goes with the
    /// SYN or right behind it.
    pub fn sends_fin(&self) -> bool {
        self.closing && matches!(self.phase, Phase::Opening(_))
    }

    /// Whether `syn`, of the same ports and addresses, opens a new incarnation that this one has to
    /// give way to: a greater count tells that the client has seen our FIN and has no doubt about
    /// our end (RFC 1644, 2.4 and 3.4). The caller then accepts it in the place of this one.
    pub fn yields_to(&self, now: Instant, syn: &TcpHeader) -> bool {
        let counts = self.tcb().and_then(Tcb::counts);
        let later = counts.zip(syn.options.cc).is_some_and(|(ours, cc)| is_after(cc, ours.receive));
        let ending = matches!(self.state(), State::LastAck | State::Closing | State::TimeWait);
        let plain = syn.has(Flags::SYN) && !syn.has(Flags::ACK) && !syn.has(Flags::RST);
        later && ending && plain && self.was_short(now)
    }

    /// Counts do not wrap within a maximum segment lifetime: a connection that took less needs to
    /// be remembered only as long as its last acknowledgment may have to be repeated.
    fn was_short(&self, now: Instant) -> bool {
        now.saturating_since(self.began) < self.config.time_wait / 2
    }

    /// How long TIME-WAIT lasts from `now` on: 2 MSL, or eight retransmission timeouts after a
    /// short transaction (RFC 1644, 2.4).
    pub(super) fn time_wait_span(&self, now: Instant) -> Duration {
        let full = self.config.time_wait;
        match self.tcb() {
            Some(tcb) if tcb.counts().is_some() && self.was_short(now) => {
                (tcb.sender.rtt().rto() * 8).min(full)
            }
            _ => full,
        }
    }

    /// The handshake is over, by `syn` if that acknowledges ours: what was held is the stream's
    /// beginning, and the cache is to know the counts.
    pub(super) fn conclude_opening(&mut self, now: Instant, by_syn: bool, peer_mss: u16) {
        let Phase::Synchronised(tcb) = &mut self.phase else { return };
        let Some(counts) = tcb.counts() else { return };
        self.lesson = Some(match by_syn {
            true => Lesson::Echoed { count: counts.send, mss: peer_mss },
            false => Lesson::Validated { count: counts.receive },
        });
        if let Some(held) = self.held.take() {
            tcb.receiver.on_data(now, Offset::FIRST..Offset::FIRST + held.len, held.fin);
            self.received = tcb.receiver.rcv_nxt();
        }
    }
}
