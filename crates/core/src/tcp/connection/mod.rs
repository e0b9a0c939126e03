//! A host's endpoint: the state machine of RFC 9293, section 3.3.2, around one [`Tcb`] and two
//! buffers.
//!
//! Sans-IO: segments and time come in as arguments. After each call of `handle_segment`,
//! `handle_timeout`, `write`, `read` or `close`, call [`Connection::poll_transmit`] until it
//! gives nothing, then [`Connection::poll_timeout`]; [`Connection::poll_event`] may be drained
//! at any time.

mod config;
mod control;
mod corruption;
mod handshake;
mod path;
mod prearranged;
mod sharing;
mod state;
mod streams;
#[cfg(test)]
mod tests;
mod transaction;

pub use config::ConnectionConfig;
use handshake::Handshake;
pub use prearranged::Opening;
use state::Closer;
pub use state::{Event, State};

use super::buffer::{Buffer, Payload};
use super::cause::Cause;
use super::limiter::Limiter;
use super::receiver::{AutoTuning, Observed};
use super::tcb::{Admission, Arrival, Fate, Outgoing, Tcb};
use super::transaction::Lesson;
use crate::fixed::Fixed;
use crate::time::{Duration, Instant, earliest};
use crate::units::{Bytes, Offset};
use crate::wire::{Flags, SeqNum, TcpHeader};
use std::collections::VecDeque;

#[derive(Debug)]
enum Phase {
    Opening(Handshake),
    Synchronised(Box<Tcb>),
    Closed,
}

/// A host's connection. Offset 0 of each stream is its SYN, offset 1 its first byte.
#[derive(Debug)]
pub struct Connection<B> {
    config: Fixed<ConnectionConfig>,
    phase: Phase,
    /// The synchronised part of a connection that is over.
    former: Option<Box<Tcb>>,
    send: B,
    /// One past the last byte that the application has written.
    written: Offset,
    closing: bool,
    receive: B,
    /// The next byte that the application reads.
    read: Offset,
    /// One past the last byte received in order. What has come can be read after the end, too.
    received: Offset,
    /// The receive buffer, if it grows: from the handshake's end on.
    tuning: Option<AutoTuning>,
    /// Who closed first, once the peer's FIN has come.
    first_to_close: Option<Closer>,
    time_wait: Option<Instant>,
    events: VecDeque<Event>,
    /// When it was opened.
    began: Instant,
    /// T/TCP: data that came with the SYN and waits for the handshake.
    held: Option<transaction::Held>,
    lesson: Option<Lesson>,
    /// A RST that answers a segment outside a synchronised state, or an abort.
    reset: Option<TcpHeader>,
}

impl<B: Buffer> Connection<B> {
    /// Opens actively, with initial sequence number `isn`.
    pub fn connect(now: Instant, config: ConnectionConfig, isn: SeqNum) -> Connection<B> {
        if config.opening == Opening::Prearranged {
            return Self::prearranged(now, config);
        }
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
        Self::accept_transaction(now, config, isn, syn, Payload::EMPTY, None)
    }

    fn opening(now: Instant, config: ConnectionConfig, handshake: Handshake) -> Connection<B> {
        Connection {
            tuning: None,
            config: config.into(),
            phase: Phase::Opening(handshake),
            former: None,
            send: B::default(),
            written: Offset::FIRST,
            closing: false,
            receive: B::default(),
            read: Offset::FIRST,
            received: Offset::FIRST,
            first_to_close: None,
            time_wait: None,
            events: VecDeque::new(),
            began: now,
            held: None,
            lesson: None,
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

    /// What keeps the next segment back; None if one may leave.
    pub fn limiter(&self) -> Option<Limiter> {
        match &self.phase {
            Phase::Opening(_) => Some(Limiter::Handshake),
            Phase::Synchronised(tcb) => tcb.sender.limiter(),
            Phase::Closed => Some(Limiter::Closed),
        }
    }

    /// No more data will be written: a FIN follows what was.
    pub fn close(&mut self) {
        self.closing = true;
        match &mut self.phase {
            Phase::Synchronised(tcb) => tcb.sender.finish(),
            // RFC 9293, 3.10.4: CLOSE in SYN-SENT deletes the connection.
            Phase::Opening(handshake)
                if !handshake.syn_received() && self.written == Offset::FIRST =>
            {
                self.phase = Phase::Closed;
            }
            _ => {}
        }
    }

    /// Ends both directions at once with a RST.
    pub fn abort(&mut self) {
        // RFC 9293, 3.10.5.
        self.reset = match &self.phase {
            Phase::Synchronised(tcb) if self.time_wait.is_none() => Some(tcb.reset(None)),
            Phase::Opening(handshake) => handshake.reset(),
            _ => None,
        };
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
                    self.synchronise(now, tcb);
                    return self.begin(now, tcp, payload);
                }
            }
        }
        let Phase::Synchronised(tcb) = &mut self.phase else { return };
        let arrival = tcb.on_segment(now, tcp, payload.len(), Admission::Accept);
        self.after_arrival(now, tcp, payload, &arrival);
    }

    /// Does what an arrival brings about.
    fn after_arrival(
        &mut self,
        now: Instant,
        tcp: &TcpHeader,
        payload: Payload<'_>,
        arrival: &Arrival,
    ) {
        if arrival.fate == Fate::Reset {
            let in_order = self.time_wait.is_some();
            return self.end(if in_order { Event::Closed } else { Event::Reset });
        }
        self.store(arrival, payload);
        let Phase::Synchronised(tcb) = &mut self.phase else { return };
        if let Some(tuning) = &mut self.tuning
            && !payload.is_empty()
            && arrival.fate == Fate::Consumed
        {
            let new = arrival.store.end - arrival.store.start;
            let in_order = arrival.store.start < self.received;
            tuning.on_data(&Observed {
                now,
                len: Bytes::of_len(payload.len()),
                opening: if in_order || tcb.receiver.sack() { new } else { Bytes::ZERO },
                rcv_nxt: self.received,
                rcv_adv: tcb.receiver.rcv_adv(),
                read: self.read,
                echoed: tcp.options.timestamps.map(|ts| ts.echo).zip(tcb.echoed_age(now, tcp)),
            });
            tcb.receiver.open_quietly(tuning.limit(self.received, self.read));
        }
        if arrival.acked > Bytes::ZERO {
            let una = tcb.sender.snd_una();
            self.send.release(una.min(self.written));
        }
        if self.time_wait.is_some() && tcp.has(Flags::FIN) {
            // RFC 9293, 3.10.7.4: a repeated FIN restarts the 2 MSL wait.
            self.time_wait = Some(now + self.time_wait_span(now));
        }
        self.after_progress(now);
    }

    /// Stores what is new in a payload.
    fn store(&mut self, arrival: &Arrival, payload: Payload<'_>) {
        if !arrival.store.is_empty() {
            let len = (arrival.store.end - arrival.store.start).as_len();
            let part = payload.slice(arrival.skip..arrival.skip + len);
            self.receive.write(arrival.store.start, part);
        }
        self.received = self.tcb().map_or(Offset::FIRST, |tcb| tcb.receiver.rcv_nxt());
    }

    /// The handshake has given `tcb`.
    fn synchronise(&mut self, now: Instant, tcb: Box<Tcb>) {
        let buffer = self.config.receive_buffer;
        let tuning = |max| AutoTuning::new(now, tcb.receiver.rmss(), buffer, max);
        self.tuning = self.config.receive_buffer_max.map(tuning);
        self.phase = Phase::Synchronised(tcb);
        self.events.push_back(Event::Connected);
    }

    /// The handshake is complete: what was written meanwhile may go. A SYN-ACK is owed an
    /// acknowledgment; its payload, if any, will be retransmitted, unless both speak T/TCP.
    fn begin(&mut self, now: Instant, tcp: &TcpHeader, payload: Payload<'_>) {
        let Phase::Synchronised(tcb) = &mut self.phase else { return };
        tcb.sender.extend(self.written);
        if self.closing {
            tcb.sender.finish();
        }
        let by_syn = tcp.has(Flags::SYN);
        let arrival = if !by_syn {
            let mss = self.config.mss;
            self.conclude_opening(now, by_syn, mss);
            let Phase::Synchronised(tcb) = &mut self.phase else { return };
            tcb.on_segment(now, tcp, payload.len(), Admission::Accept)
        } else {
            tcb.receiver.ack_now(Cause::Established);
            if !tcb.sends_syn() {
                return;
            }
            let arrival = tcb.on_syn(now, tcp, payload.len());
            self.conclude_opening(now, by_syn, tcp.options.mss.unwrap_or(536));
            arrival
        };
        self.after_arrival(now, tcp, payload, &arrival);
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
            self.time_wait = Some(now + self.time_wait_span(now));
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

    /// The next segment to be sent now.
    ///
    /// # Errors
    /// The limiter, if there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Result<Outgoing, Limiter> {
        if let Some(tcp) = self.reset.take() {
            return Ok(Outgoing::control(tcp));
        }
        match &mut self.phase {
            Phase::Opening(handshake) => {
                let syn = handshake.poll_transmit(now, self.written, self.closing);
                syn.ok_or(Limiter::Handshake)
            }
            Phase::Synchronised(tcb) => tcb.poll_transmit(now),
            Phase::Closed => Err(Limiter::Closed),
        }
    }

    /// When [`Connection::handle_timeout`] is to be called, if ever.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Opening(handshake) => Some(handshake.poll_timer()),
            Phase::Synchronised(tcb) => earliest(tcb.poll_timer(), self.time_wait),
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
