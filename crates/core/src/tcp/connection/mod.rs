//! A host's endpoint: the state machine of RFC 9293, section 3.3.2, around one [`Tcb`] and two
//! buffers.
//!
//! Sans-IO: segments and time come in as arguments. After each call of `handle_segment`,
//! `handle_timeout`, `write`, `read` or `close`, call [`Connection::poll_transmit`] until it
//! gives nothing, then [`Connection::poll_timeout`]; [`Connection::poll_event`] may be drained
//! at any time.

mod config;
mod handshake;
#[cfg(test)]
mod tests;

pub use config::ConnectionConfig;
use handshake::Handshake;

use super::buffer::{Buffer, Payload};
use super::ecn::Ecn;
use super::receiver::{AutoTuning, Observed};
use super::tcb::{Admission, Fate, Outgoing, Tcb};
use crate::time::{Duration, Instant};
use crate::wire::{Flags, SeqNum, TcpHeader};
use std::collections::VecDeque;
use std::ops::Range;

/// The states of RFC 9293, section 3.3.2. (LISTEN is whoever calls [`Connection::accept`].)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum State {
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

/// What the application is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// The peer has closed its direction: after what is still to be read, the stream ends.
    PeerClosed,
    /// The peer has reset the connection, or refused it.
    Reset,
    /// The peer does not answer any more.
    TimedOut,
    /// Both directions have ended in order.
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closer {
    Us,
    Peer,
}

#[derive(Debug)]
enum Phase {
    Opening(Handshake),
    Synchronised(Box<Tcb>),
    Closed,
}

/// A host's connection. Offset 0 of each stream is its SYN, offset 1 its first byte.
#[derive(Debug)]
pub struct Connection<B> {
    config: ConnectionConfig,
    phase: Phase,
    /// The synchronised part of a connection that is over.
    former: Option<Box<Tcb>>,
    send: B,
    /// One past the last byte that the application has written.
    written: u64,
    closing: bool,
    receive: B,
    /// The next byte that the application reads.
    read: u64,
    /// One past the last byte received in order. What has come can be read after the end, too.
    received: u64,
    /// The receive buffer, if it grows.
    tuning: Option<AutoTuning>,
    /// Who closed first, once the peer's FIN has come.
    first_to_close: Option<Closer>,
    time_wait: Option<Instant>,
    events: VecDeque<Event>,
    /// A RST that answers a segment outside a synchronised state, or an abort.
    reset: Option<TcpHeader>,
}

impl<B: Buffer> Connection<B> {
    /// Opens actively, with initial sequence number `isn`.
    pub fn connect(now: Instant, config: ConnectionConfig, isn: SeqNum) -> Connection<B> {
        Self::opening(now, config, Handshake::active(now, &config, isn))
    }

    /// Answers `syn`, with initial sequence number `isn`. None if the segment is not a SYN that
    /// a listener would take.
    pub fn accept(
        now: Instant,
        config: ConnectionConfig,
        isn: SeqNum,
        syn: &TcpHeader,
    ) -> Option<Connection<B>> {
        let plain = syn.has(Flags::SYN) && !syn.has(Flags::ACK) && !syn.has(Flags::RST);
        plain.then(|| Self::opening(now, config, Handshake::passive(now, &config, isn, syn)))
    }

    fn opening(now: Instant, config: ConnectionConfig, handshake: Handshake) -> Connection<B> {
        let tuning = |max| AutoTuning::new(now, config.receive_buffer, max);
        Connection {
            tuning: config.receive_buffer_max.map(tuning),
            config,
            phase: Phase::Opening(handshake),
            former: None,
            send: B::default(),
            written: 1,
            closing: false,
            receive: B::default(),
            read: 1,
            received: 1,
            first_to_close: None,
            time_wait: None,
            events: VecDeque::new(),
            reset: None,
        }
    }

    /// The state now.
    pub fn state(&self) -> State {
        let tcb = match &self.phase {
            Phase::Opening(handshake) if handshake.syn_received() => return State::SynReceived,
            Phase::Opening(_) => return State::SynSent,
            Phase::Closed => return State::Closed,
            Phase::Synchronised(tcb) => tcb,
        };
        match (self.closing, tcb.sender.fin_acked(), tcb.receiver.fin_received()) {
            _ if self.time_wait.is_some() => State::TimeWait,
            (false, _, false) => State::Established,
            (false, _, true) => State::CloseWait,
            (true, false, false) => State::FinWait1,
            (true, true, false) => State::FinWait2,
            (true, false, true) if self.first_to_close == Some(Closer::Peer) => State::LastAck,
            (true, false, true) => State::Closing,
            (true, true, true) => State::TimeWait,
        }
    }

    /// The synchronised part, once the handshake is complete.
    pub fn tcb(&self) -> Option<&Tcb> {
        match &self.phase {
            Phase::Synchronised(tcb) => Some(tcb),
            _ => None,
        }
    }

    /// The synchronised part as it is, or as it was when the connection ended: for statistics.
    pub fn last_tcb(&self) -> Option<&Tcb> {
        self.tcb().or(self.former.as_deref())
    }

    /// Offers `payload` to be sent; returns how many bytes were taken. Nothing is taken after
    /// [`Connection::close`].
    pub fn write(&mut self, payload: Payload<'_>) -> usize {
        if self.closing || matches!(self.phase, Phase::Closed) {
            return 0;
        }
        let una = self.tcb().map_or(1, |tcb| tcb.sender.snd_una());
        let room = (una + self.config.send_buffer).saturating_sub(self.written);
        let taken = payload.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        self.send.write(self.written, payload.slice(0..taken));
        self.written += taken as u64;
        if let Phase::Synchronised(tcb) = &mut self.phase {
            tcb.sender.extend(self.written);
        }
        taken
    }

    /// How many bytes wait to be read.
    pub fn readable(&self) -> u64 {
        self.received - self.read
    }

    /// Whether the stream has ended: all is read and the peer's FIN has come.
    pub fn at_end(&self) -> bool {
        self.readable() == 0 && self.first_to_close.is_some()
    }

    /// Reads at most `limit` bytes, handed to `visit` in order; returns how many.
    pub fn read(&mut self, limit: u64, visit: impl FnMut(Payload<'_>)) -> u64 {
        let len = self.readable().min(limit);
        let range = self.read..self.read + len;
        self.receive.read(range.clone(), visit);
        self.receive.release(range.end);
        self.read = range.end;
        let buffer = self.receive_buffer();
        if let Phase::Synchronised(tcb) = &mut self.phase {
            tcb.receiver.set_limit(self.read + buffer);
        }
        len
    }

    /// The size of the receive buffer now, in bytes.
    pub fn receive_buffer(&self) -> u64 {
        self.tuning.as_ref().map_or(self.config.receive_buffer, AutoTuning::buffer)
    }

    /// The bytes of an outgoing segment's payload.
    pub fn payload(&self, range: Range<u64>, visit: impl FnMut(Payload<'_>)) {
        self.send.read(range, visit);
    }

    /// No more data will be written: a FIN follows what was.
    pub fn close(&mut self) {
        self.closing = true;
        match &mut self.phase {
            Phase::Synchronised(tcb) => tcb.sender.finish(),
            // RFC 9293, 3.10.4: CLOSE in SYN-SENT deletes the connection.
            Phase::Opening(handshake) if !handshake.syn_received() && self.written == 1 => {
                self.phase = Phase::Closed;
            }
            _ => {}
        }
    }

    /// Ends both directions at once with a RST.
    pub fn abort(&mut self) {
        if let Phase::Synchronised(tcb) = &self.phase
            && self.time_wait.is_none()
        {
            self.reset = Some(tcb.reset(None));
        }
        self.leave();
    }

    /// The packet of the segment that is handed over next bore the codepoint CE (RFC 3168): a
    /// router on its way is congested.
    pub fn mark_congestion_experienced(&mut self) {
        if let Phase::Synchronised(tcb) = &mut self.phase {
            tcb.mark_congestion_experienced();
        }
    }

    /// Takes a segment of this connection.
    pub fn handle_segment(&mut self, now: Instant, tcp: &TcpHeader, payload: Payload<'_>) {
        if let Phase::Opening(handshake) = &mut self.phase {
            match handshake.on_segment(now, tcp) {
                handshake::Step::Wait => return,
                handshake::Step::Answer(reset) => {
                    self.reset = Some(reset);
                    return;
                }
                handshake::Step::Refused => return self.end(Event::Reset),
                handshake::Step::Complete(tcb) => {
                    self.phase = Phase::Synchronised(tcb);
                    self.events.push_back(Event::Connected);
                    self.begin(tcp.has(Flags::SYN));
                    if tcp.has(Flags::SYN) {
                        return;
                    }
                }
            }
        }
        let Phase::Synchronised(tcb) = &mut self.phase else { return };
        let arrival = tcb.on_segment(now, tcp, payload.len(), Admission::Accept);
        if arrival.fate == Fate::Reset {
            let in_order = self.time_wait.is_some();
            return self.end(if in_order { Event::Closed } else { Event::Reset });
        }
        if !arrival.store.is_empty() {
            let len = (arrival.store.end - arrival.store.start) as usize;
            let part = payload.slice(arrival.skip..arrival.skip + len);
            self.receive.write(arrival.store.start, part);
        }
        self.received = tcb.receiver.rcv_nxt();
        if let Some(tuning) = &mut self.tuning
            && !payload.is_empty()
            && arrival.fate == Fate::Taken
        {
            let grown = tuning.on_data(&Observed {
                now,
                rcv_nxt: self.received,
                promised: tcb.receiver.promised(),
                read: self.read,
                echoed: tcb.echoed_age(now, tcp),
            });
            if grown {
                tcb.receiver.set_limit(self.read + tuning.buffer());
            }
        }
        if arrival.acked > 0 {
            let una = tcb.sender.snd_una().min(self.written);
            self.send.release(una);
        }
        if self.time_wait.is_some() && tcp.has(Flags::FIN) {
            // RFC 9293, 3.10.7.4: a repeated FIN restarts the 2 MSL wait.
            self.time_wait = Some(now + self.config.time_wait);
        }
        self.after_progress(now);
    }

    /// The handshake is complete: what was written meanwhile may go. A SYN-ACK is owed an
    /// acknowledgment; its payload, if any, will be sent again.
    fn begin(&mut self, by_syn: bool) {
        let Phase::Synchronised(tcb) = &mut self.phase else { return };
        tcb.sender.extend(self.written);
        if self.closing {
            tcb.sender.finish();
        }
        if by_syn {
            tcb.receiver.owe_now();
        }
    }

    /// Notices what the last segment completed.
    fn after_progress(&mut self, now: Instant) {
        let Phase::Synchronised(tcb) = &self.phase else { return };
        let fin_received = tcb.receiver.fin_received();
        let both = fin_received && tcb.sender.fin_acked();
        if fin_received && self.first_to_close.is_none() {
            self.first_to_close = Some(if self.closing { Closer::Us } else { Closer::Peer });
            self.events.push_back(Event::PeerClosed);
        }
        if both && self.first_to_close == Some(Closer::Peer) {
            return self.end(Event::Closed);
        }
        if both && self.time_wait.is_none() {
            self.time_wait = Some(now + self.config.time_wait);
            self.events.push_back(Event::Closed);
        }
    }

    fn end(&mut self, event: Event) {
        if self.time_wait.is_none() || event != Event::Closed {
            self.events.push_back(event);
        }
        self.leave();
    }

    fn leave(&mut self) {
        if let Phase::Synchronised(tcb) = std::mem::replace(&mut self.phase, Phase::Closed) {
            self.former = Some(tcb);
        }
        self.time_wait = None;
    }

    /// Lets expire what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.time_wait.is_some_and(|at| at <= now) {
            return self.end(Event::Closed);
        }
        match &mut self.phase {
            Phase::Opening(handshake) => {
                if handshake.on_timer(now) {
                    self.end(Event::TimedOut);
                }
            }
            Phase::Synchronised(tcb) => {
                tcb.on_timer(now);
                if tcb.sender.gave_up() {
                    self.end(Event::TimedOut);
                }
            }
            Phase::Closed => {}
        }
    }

    /// The next segment to be sent now, if any.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some(tcp) = self.reset.take() {
            return Some(Outgoing { tcp, data: 0..0, ecn: Ecn::NotCapable });
        }
        match &mut self.phase {
            Phase::Opening(handshake) => handshake.poll_transmit().map(|tcp| Outgoing {
                tcp,
                data: 0..0,
                ecn: Ecn::NotCapable,
            }),
            Phase::Synchronised(tcb) => tcb.poll_transmit(now),
            Phase::Closed => None,
        }
    }

    /// When [`Connection::handle_timeout`] is to be called, if ever.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Opening(handshake) => Some(handshake.poll_timer()),
            Phase::Synchronised(tcb) => {
                [tcb.poll_timer(), self.time_wait].into_iter().flatten().min()
            }
            Phase::Closed => None,
        }
    }

    /// The next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

/// How long TIME-WAIT lasts: twice a maximum segment lifetime, which Linux takes as 30 s.
pub const TIME_WAIT: Duration = Duration::from_secs(60);
