//! Snoop (Balakrishnan, Seshan, Amir and Katz 1995): a box before a lossy last hop keeps copies of
//! the segments that go out, sends a lost one again itself when the receiver's duplicate
//! acknowledgments or a timer of its own tell of it, and keeps those duplicates from the sender.
//!
//! A duplicate for which there is no copy is not the link's fault, and passes.
//!
//! A copy that is retransmitted goes before what waits in the link's queue, as in the paper. Two
//! things differ from it. Duplicates are not counted in advance: none passes while the copy is
//! there. And a copy that was lost again is known by time, where the paper waits for its timer.

use super::FourTuple;
use super::resender::{QueuePosition, Resender};
use crate::node::Middlebox;
use crate::packet::{Content, Packet};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::{Flags, SeqNum};
use std::collections::BTreeMap;

/// A Snoop agent for what goes out.
#[derive(Debug)]
pub(super) struct Snoop {
    memory: u64,
    min_timeout: Duration,
    /// By the way of the data.
    connections: BTreeMap<FourTuple, SnoopedConnection>,
}

#[derive(Debug)]
struct SnoopedConnection {
    isn: SeqNum,
    /// One past the last byte that has gone out.
    sent: u64,
    copies: Resender,
}

impl Snoop {
    pub(super) fn new(memory: Bytes, min_timeout: Duration) -> Snoop {
        Snoop { memory: memory.count(), min_timeout, connections: BTreeMap::new() }
    }

    /// Looks at what goes out.
    fn on_out(&mut self, now: Instant, packet: &Packet) {
        let (Some(tuple), Content::Tcp(tcp, body)) = (FourTuple::of(packet), &packet.content)
        else {
            return;
        };
        if tcp.has(Flags::RST) {
            self.connections.remove(&tuple);
            return;
        }
        if tcp.has(Flags::SYN) {
            let copies = Resender::new(QueuePosition::First, self.min_timeout, 1);
            self.connections.insert(tuple, SnoopedConnection { isn: tcp.seq, sent: 1, copies });
            return;
        }
        let held: u64 = self.connections.values().map(|connection| connection.copies.bytes).sum();
        let len = body.len() as u64;
        if len == 0 {
            return;
        }
        // A connection without a handshake begins with its data.
        let connection = self.connections.entry(tuple).or_insert_with(|| {
            let copies = Resender::new(QueuePosition::First, self.min_timeout, 1);
            SnoopedConnection { isn: SeqNum(tcp.seq.0.wrapping_sub(1)), sent: 1, copies }
        });
        let Some(offset) =
            tcp.seq.offset_near(connection.isn, Offset::new(connection.sent)).map(Offset::get)
        else {
            return;
        };
        if offset < connection.copies.una {
            return;
        }
        if offset < connection.sent {
            connection.copies.renew(offset);
        } else {
            connection.sent = offset + len;
            if held + len <= self.memory {
                connection.copies.keep(now, offset, len, packet.clone());
            }
        }
    }
}

impl Middlebox for Snoop {
    fn handle(
        &mut self,
        now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        if port == 0 {
            self.on_out(now, &packet);
            return send(1, packet);
        }
        if let (Some(tuple), Content::Tcp(tcp, _)) = (FourTuple::of(&packet), &packet.content)
            && tcp.has(Flags::ACK)
            && let Some(connection) = self.connections.get_mut(&tuple.reversed())
            && let Some(ack) = tcp
                .ack
                .offset_near(connection.isn, Offset::new(connection.copies.una))
                .map(Offset::get)
        {
            if ack > connection.copies.una {
                if let Some(copy) = connection.copies.advance(now, ack) {
                    send(1, copy);
                }
            } else if ack == connection.copies.una
                && packet.is_pure_ack()
                && connection.sent > ack
                && let Some(again) = connection.copies.on_duplicate(now)
            {
                if let Some(copy) = again {
                    send(1, copy);
                }
                return;
            }
        }
        send(0, packet);
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
