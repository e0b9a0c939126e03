//! TCP spoofing (Henderson 1999, 4.3.1): a box before a long link acknowledges data in the far
//! host's name as they go out, keeps the far host's own acknowledgments from the sender, and sends
//! again what the link has lost. The connection stays one from end to end: its handshake, its
//! numbers, its segments and its FIN are the hosts' own.
//!
//! Connections without a handshake pass untouched: the box would not know the scale of their
//! window.
//!
//! Data go out at once and unchanged, as the thesis has it, which asks for no congestion control by
//! the box; what does run one towards the link is a split connection. What the box lets the sender
//! send is bounded by the window that the far host has offered, whose right edge it never moves,
//! and by its memory. A link whose queue does not hold that drops the rest, time and again, as the
//! sender never hears of it. The box learns of losses by duplicate acknowledgments and by a timer,
//! and sends one segment again at a time. What it has acknowledged it owes; if it vanishes, so do
//! those bytes, which is the thesis' argument against it.

use super::FourTuple;
use super::resender::{QueuePosition, Resender};
use crate::node::Middlebox;
use crate::packet::{Body, Content, Packet};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::{Flags, SeqNum, TcpHeader, TcpOptions, Timestamps};
use std::collections::BTreeMap;

/// A spoofing box for what goes out.
#[derive(Debug)]
pub(super) struct Spoof {
    memory: u64,
    /// By the way of the data.
    connections: BTreeMap<FourTuple, SpoofedConnection>,
}

#[derive(Debug)]
struct SpoofedConnection {
    isn: SeqNum,
    /// The next byte that the sender has not been told is there.
    next: u64,
    copies: Resender,
    /// The far host's newest segment: its acknowledgments are written like it.
    far: Option<Packet>,
    /// The shift of the far host's window; None before its SYN.
    shift: Option<u8>,
    /// The far host's right edge.
    edge: u64,
    /// The sender's newest timestamp.
    stamp: Option<u32>,
}

impl Spoof {
    /// No timer of the box rings before the link could have answered; it is only for the rare case
    /// that no duplicate comes.
    const MIN_TIMEOUT: Duration = Duration::from_millis(200);

    pub(super) fn new(memory: Bytes) -> Spoof {
        Spoof { memory: memory.count(), connections: BTreeMap::new() }
    }

    fn on_out(&mut self, now: Instant, packet: Packet, send: &mut dyn FnMut(usize, Packet)) {
        let (Some(tuple), Content::Tcp(tcp, body)) = (FourTuple::of(&packet), &packet.content)
        else {
            return send(1, packet);
        };
        if tcp.has(Flags::RST) {
            self.connections.remove(&tuple);
            return send(1, packet);
        }
        if tcp.has(Flags::SYN) {
            self.connections.entry(tuple).or_insert_with(|| SpoofedConnection {
                isn: tcp.seq,
                next: 1,
                copies: Resender::new(QueuePosition::Last, Spoof::MIN_TIMEOUT, 1),
                far: None,
                shift: None,
                edge: 0,
                stamp: None,
            });
            return send(1, packet);
        }
        let held: u64 = self.connections.values().map(|connection| connection.copies.bytes).sum();
        let Some(connection) = self.connections.get_mut(&tuple) else { return send(1, packet) };
        let len = body.len() as u64;
        let offset =
            tcp.seq.offset_near(connection.isn, Offset::new(connection.next)).map(Offset::get);
        let (Some(offset), true, Some(_)) = (offset, len > 0, connection.shift) else {
            return send(1, packet);
        };
        connection.stamp = tcp.options.timestamps.map(|stamps| stamps.value).or(connection.stamp);
        let fin = tcp.has(Flags::FIN);
        let known = offset < connection.next || connection.copies.has(offset);
        if !known && held + len <= self.memory {
            connection.copies.keep(now, offset, len, packet.clone());
            while let Some(end) = connection.copies.end_of(connection.next) {
                connection.next = end;
            }
            send(1, packet);
        } else if !known || fin {
            // Not the box's to answer for.
            send(1, packet);
        }
        if let Some(answer) = connection.acknowledgment(self.memory) {
            send(0, answer);
        }
    }

    /// What comes from the far host, as the sender is to see it.
    fn on_in(&mut self, now: Instant, mut packet: Packet, send: &mut dyn FnMut(usize, Packet)) {
        let (Some(tuple), pure) = (FourTuple::of(&packet), packet.is_pure_ack()) else {
            return send(0, packet);
        };
        let Some(connection) = self.connections.get_mut(&tuple.reversed()) else {
            return send(0, packet);
        };
        let Content::Tcp(tcp, _) = &mut packet.content else { return send(0, packet) };
        if tcp.has(Flags::RST) {
            self.connections.remove(&tuple.reversed());
            return send(0, packet);
        }
        let known = connection.copies.una;
        let Some(ack) = tcp.ack.offset_near(connection.isn, Offset::new(known)).map(Offset::get)
        else {
            return send(0, packet);
        };
        if tcp.has(Flags::SYN) {
            connection.shift = Some(tcp.options.window_scale.unwrap_or(0));
        }
        let shift = if tcp.has(Flags::SYN) { 0 } else { connection.shift.unwrap_or(0) };
        let window = u64::from(tcp.window) << shift;
        let former = connection.edge;
        connection.edge = former.max(ack + window);
        connection.far = Some(packet.clone());
        if ack > known {
            if let Some(copy) = connection.copies.advance(now, ack) {
                send(1, copy);
            }
        } else if ack == known
            && pure
            && connection.next > ack
            && connection.edge == former
            && let Some(Some(copy)) = connection.copies.on_duplicate(now)
        {
            send(1, copy);
        }
        // It says more than the sender knows: the FIN is there, or what the box does not hold.
        if ack >= connection.next {
            connection.next = ack;
            return send(0, packet);
        }
        if pure {
            if connection.edge > former
                && let Some(answer) = connection.acknowledgment(self.memory)
            {
                send(0, answer);
            }
            return;
        }
        if let Content::Tcp(tcp, _) = &mut packet.content {
            let (next, window) = connection.says(self.memory);
            (tcp.ack, tcp.window) = (next, window);
            tcp.options.sack.clear();
        }
        send(0, packet);
    }
}

impl SpoofedConnection {
    /// The acknowledgment and the window field for the sender.
    fn says(&self, memory: u64) -> (SeqNum, u16) {
        let room = memory.saturating_sub(self.copies.bytes);
        let window = self.edge.saturating_sub(self.next).min(room) >> self.shift.unwrap_or(0);
        (self.isn + self.next, u16::try_from(window).unwrap_or(u16::MAX))
    }

    /// An acknowledgment in the far host's name.
    fn acknowledgment(&self, memory: u64) -> Option<Packet> {
        let far = self.far.as_ref()?;
        let Content::Tcp(like, body) = &far.content else { return None };
        let (ack, window) = self.says(memory);
        let ends = like.has(Flags::SYN) || like.has(Flags::FIN);
        let value = like.options.timestamps.map(|stamps| stamps.value);
        let timestamps = value.zip(self.stamp).map(|(value, echo)| Timestamps { value, echo });
        let tcp = TcpHeader {
            seq: like.seq + body.len() as u64 + u64::from(ends),
            ack,
            window,
            flags: Flags::ACK,
            urgent: 0,
            options: TcpOptions { timestamps, ..TcpOptions::default() },
            ..*like
        };
        Some(Packet::tcp(far.ip, tcp, Body::EMPTY))
    }
}

impl Middlebox for Spoof {
    fn handle(
        &mut self,
        now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        match port {
            0 => self.on_out(now, packet, send),
            _ => self.on_in(now, packet, send),
        }
    }

    fn handle_timeout(&mut self, now: Instant, send: &mut dyn FnMut(usize, Packet)) {
        for connection in self.connections.values_mut() {
            if let Some(copy) = connection.copies.on_timeout(now) {
                send(1, copy);
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        self.connections.values().filter_map(|connection| connection.copies.next()).min()
    }
}
