//! ACK decimation: of a connection's acknowledgments one of several passes, for a way back that is
//! thin. What RFC 3449 (5.1, 5.2) calls ACK congestion control by the network, at a fixed ratio.
//!
//! Acknowledgments that say more than their number pass at once: duplicates, and those with SACK
//! blocks. So does the first of a connection, which completes its handshake.

use super::FourTuple;
use crate::node::Middlebox;
use crate::packet::{Content, Packet};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::SeqNum;
use std::collections::BTreeMap;

/// A decimator of what goes out.
#[derive(Debug)]
pub(super) struct AckDecimator {
    one_in: u32,
    longest: Duration,
    connections: BTreeMap<FourTuple, DecimatedConnection>,
}

#[derive(Debug)]
struct DecimatedConnection {
    /// The newest number that has come.
    newest: SeqNum,
    /// How many have come since one passed.
    count: u32,
    /// The newest of those, and until when it may be held.
    held: Option<(Instant, Packet)>,
}

impl AckDecimator {
    pub(super) fn new(one_in: u32, longest: Duration) -> AckDecimator {
        AckDecimator { one_in, longest, connections: BTreeMap::new() }
    }
}

impl Middlebox for AckDecimator {
    fn handle(
        &mut self,
        now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        let (0, Some(tuple), Content::Tcp(tcp, _)) =
            (port, FourTuple::of(&packet), &packet.content)
        else {
            return send(1 - port, packet);
        };
        let (ack, plain) = (tcp.ack, packet.is_pure_ack() && tcp.options.sack.is_empty());
        let Some(connection) = self.connections.get_mut(&tuple).filter(|_| plain) else {
            if packet.is_pure_ack() {
                let first = DecimatedConnection { newest: ack, count: 0, held: None };
                let connection = self.connections.entry(tuple).or_insert(first);
                connection.newest = ack;
            }
            // Nothing overtakes what was held before it.
            if let Some((_, held)) = self.connections.get_mut(&tuple).and_then(|c| c.held.take()) {
                send(1, held);
            }
            return send(1, packet);
        };
        if ack.distance_from(connection.newest) <= 0 {
            if let Some((_, held)) = connection.held.take() {
                send(1, held);
            }
            return send(1, packet);
        }
        connection.newest = ack;
        connection.count += 1;
        if connection.count >= self.one_in {
            connection.count = 0;
            connection.held = None;
            return send(1, packet);
        }
        let until = connection.held.as_ref().map_or(now + self.longest, |(until, _)| *until);
        connection.held = Some((until, packet));
    }

    fn handle_timeout(&mut self, now: Instant, send: &mut dyn FnMut(usize, Packet)) {
        for connection in self.connections.values_mut() {
            if let Some((_, held)) = connection.held.take_if(|(until, _)| *until <= now) {
                connection.count = 0;
                send(1, held);
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        let held = self.connections.values().filter_map(|connection| connection.held.as_ref());
        held.map(|(until, _)| *until).min()
    }
}
