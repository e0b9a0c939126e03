//! ACK spacing (Partridge, draft-partridge-e2e-ackspacing-00, 1998): acknowledgments are held so
//! that the data which they release keep to the rate of a bottleneck, and do not fill its queue.
//!
//! The draft leaves the algorithm open, and asks how to tell slow start, in which an acknowledgment
//! releases twice what it acknowledges. Here the box looks at the data that pass it the other way:
//! a connection is in slow start as long as what it has in flight, past the box, grows by more than
//! a quarter in a round trip. Then an acknowledgment takes twice the line's time for the segments
//! that it acknowledges, else once. Order and content stay. Where the data take another path, each
//! acknowledgment takes the time of what it acknowledges.
//!
//! All connections share one rate, as they share the bottleneck; only segments that do nothing but
//! acknowledge are held.

use super::FourTuple;
use crate::node::Middlebox;
use crate::packet::{Content, Packet};
use bentpipe_core::link::LinkPacket as _;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Rate;
use bentpipe_core::wire::SeqNum;
use std::collections::{BTreeMap, VecDeque};

/// A spacer of what goes out.
#[derive(Debug)]
pub(super) struct AckSpacer {
    rate: Rate,
    waiting: VecDeque<Packet>,
    /// When the next one may pass.
    free: Instant,
    /// By the way of the acknowledgments.
    connections: BTreeMap<FourTuple, SpacedConnection>,
}

/// What is known of a connection whose data pass the other way.
#[derive(Debug, Default)]
struct SpacedConnection {
    /// One past the last byte of data that has passed.
    sent: Option<SeqNum>,
    /// The newest acknowledgment that has passed.
    acked: Option<SeqNum>,
    /// A segment's bytes on the wire, and of its payload.
    segment: (u64, u64),
    /// The round ends when this is acknowledged.
    round_end: Option<SeqNum>,
    /// What was in flight at its beginning.
    flight: i32,
    steady: bool,
}

impl AckSpacer {
    pub(super) fn new(rate: Rate) -> AckSpacer {
        AckSpacer {
            rate,
            waiting: VecDeque::new(),
            free: Instant::ZERO,
            connections: BTreeMap::new(),
        }
    }

    fn let_pass(&mut self, now: Instant, send: &mut dyn FnMut(usize, Packet)) {
        while self.free <= now
            && let Some(packet) = self.waiting.pop_front()
        {
            let tuple = FourTuple::of(&packet);
            if let (Some(tuple), Content::Tcp(tcp, _)) = (tuple, &packet.content) {
                let connection = self.connections.entry(tuple).or_default();
                self.free = now + connection.time(tcp.ack, self.rate);
            }
            send(1, packet);
        }
    }
}

impl SpacedConnection {
    /// How long the line takes for what `ack` releases.
    fn time(&mut self, ack: SeqNum, rate: Rate) -> Duration {
        let before = self.acked.unwrap_or(ack);
        let acked = ack.distance_from(before);
        if acked < 0 {
            return Duration::ZERO;
        }
        self.acked = Some(ack);
        let slow_start = self.sent.is_some_and(|sent| self.in_slow_start(ack, sent));
        let (wire, payload) = self.segment;
        let acked = u64::from(acked.unsigned_abs());
        // Before any data has been seen, without headers.
        let bytes = (acked * wire).checked_div(payload).unwrap_or(acked);
        rate.time_for(if slow_start { 2 * bytes } else { bytes })
    }

    fn in_slow_start(&mut self, ack: SeqNum, sent: SeqNum) -> bool {
        if self.round_end.is_none_or(|end| ack.distance_from(end) >= 0) {
            let flight = sent.distance_from(ack);
            if self.round_end.is_some() {
                self.steady = f64::from(flight) <= 1.25 * f64::from(self.flight);
            }
            self.flight = flight;
            self.round_end = Some(sent);
        }
        !self.steady
    }

    fn on_data(&mut self, packet: &Packet) {
        let Content::Tcp(tcp, body) = &packet.content else { return };
        let end = tcp.seq + body.len() as u64;
        if self.sent.is_none_or(|sent| end.distance_from(sent) > 0) {
            self.sent = Some(end);
            self.segment = (packet.wire_len(), body.len() as u64);
        }
    }
}

impl Middlebox for AckSpacer {
    fn handle(
        &mut self,
        now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        if port == 1 {
            if let (Some(tuple), Content::Tcp(_, body)) = (FourTuple::of(&packet), &packet.content)
                && !body.is_empty()
            {
                self.connections.entry(tuple.reversed()).or_default().on_data(&packet);
            }
            return send(0, packet);
        }
        if !packet.is_pure_ack() {
            return send(1, packet);
        }
        self.waiting.push_back(packet);
        self.let_pass(now, send);
    }

    fn handle_timeout(&mut self, now: Instant, send: &mut dyn FnMut(usize, Packet)) {
        self.let_pass(now, send);
    }

    fn next(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.free)
    }
}
