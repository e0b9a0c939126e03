//! What comes when the pool is full.

use super::*;
use bentpipe_core::units::Bytes;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

/// Clients whose server takes nothing, on ports of their own.
struct Stalled {
    table: Table,
    memory: usize,
    /// By port: one past the last offset that the server has been sent.
    sent: BTreeMap<u16, u64>,
    /// By port: one past the last offset that the client may send.
    edges: BTreeMap<u16, u64>,
}

impl Stalled {
    fn new(memory: u64, guaranteed: u64) -> Stalled {
        let (memory, guaranteed) = (Bytes::new(memory), Bytes::new(guaranteed));
        let table = Table::new(Config { memory, guaranteed, ..Config::default() });
        Stalled {
            table,
            memory: memory.count() as usize,
            sent: BTreeMap::new(),
            edges: BTreeMap::new(),
        }
    }

    fn give(&mut self, port: u16, from: Side, tcp: TcpHeader, payload: &[u8]) -> Disposition {
        let tcp = match from {
            Side::Lan => TcpHeader { src_port: port, ..tcp },
            Side::Satellite => TcpHeader { dst_port: port, ..tcp },
        };
        let Table { gateway, now, .. } = &mut self.table;
        let payload = Payload::Bytes(payload);
        let verdict = gateway.handle_packet(*now, from, &Table::ip(from), &tcp, payload);
        self.check();
        let sent = self.table.sent();
        self.note(&sent);
        self.check();
        verdict
    }

    fn wait(&mut self, span: Duration) {
        let sent = self.table.wait(span);
        self.note(&sent);
        self.check();
    }

    fn note(&mut self, sent: &[Transmit]) {
        for one in sent.iter().filter(|one| one.to == Side::Satellite) {
            let end = one.tcp.seq.distance_from(CLIENT_ISN) as u64 + one.payload_len() as u64;
            let known = self.sent.entry(one.tcp.src_port).or_insert(1);
            *known = end.max(*known);
        }
        for one in sent.iter().filter(|one| one.to == Side::Lan && !one.tcp.has(Flags::SYN)) {
            let edge =
                one.tcp.ack.distance_from(CLIENT_ISN) as u64 + u64::from(one.tcp.window << 7);
            self.edges.insert(one.tcp.dst_port, edge);
        }
    }

    fn check(&self) {
        let held = self.table.gateway.held();
        assert!(held <= self.memory, "{held} bytes of {}", self.memory);
    }

    /// Whether the connection is split.
    fn open(&mut self, port: u16) -> bool {
        let options = TcpOptions { window_scale: Some(7), ..self.table.options.clone() };
        let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
        let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
        self.give(port, Side::Lan, TcpHeader { options: options.clone(), ..syn }, b"");
        self.give(port, Side::Satellite, TcpHeader { options, ..synack }, b"");
        let ack = Table::segment(Side::Lan, 1, 1, Flags::ACK);
        self.give(port, Side::Lan, ack, b"") == Disposition::Consumed
    }

    /// The client's bytes from offset `at` on.
    fn data(&mut self, port: u16, at: u64, payload: &[u8]) {
        self.give(port, Side::Lan, Table::segment(Side::Lan, at, 1, Flags::ACK), payload);
    }

    /// Opens `flows` that rest, on ports from 1 on. The servers of the first ones stop reading
    /// while their clients send.
    fn rest_beside_stopped_readers(&mut self, flows: u16, stopped: u16) {
        assert!((1..=flows).all(|port| self.open(port)));
        self.wait(Duration::from_secs(3));
        assert_eq!(self.table.gateway.hibernated(), usize::from(flows));
        for at in (1..400_000).step_by(1_460) {
            for port in 1..=stopped {
                self.data(port, at, &part(at, 1_460));
            }
        }
    }
}

/// The part of the stream that begins at `at`.
fn part(at: u64, len: u64) -> Vec<u8> {
    (at..at + len).map(|offset| (offset % 251) as u8).collect()
}

/// G01-W-12: a window that was promised while there was room is no reason to hold more than there
/// is.
#[test]
fn a_full_pool_takes_nothing_beyond_the_guarantee() {
    let mut stalled = Stalled::new(32 << 10, 4 << 10);
    assert!(stalled.open(4000));
    for at in (1..60_000).step_by(1_000) {
        stalled.data(4000, at, &[7; 1_000]);
    }
    assert!(stalled.table.gateway.held() >= 24 << 10);
}

#[test]
fn many_readers_that_stop_hold_no_more_than_the_pool() {
    for memory in [2 << 20, 400_000, 150_000, 70_000] {
        let mut stalled = Stalled::new(memory, 16 << 10);
        let split = (1..=50).filter(|port| stalled.open(*port)).count();
        assert!(split > 0 && (split == 50) == (memory == 2 << 20), "{split} of {memory}");
        for at in (1..120_000).step_by(1_460) {
            for port in 1..=50 {
                stalled.data(port, at, &part(at, 1_460));
            }
        }
        let held = stalled.table.gateway.held();
        assert!(held as f64 > 0.5 * memory as f64, "{held} of {memory}: it is used");
        // Nobody else gets in, and all is given back in the end.
        stalled.wait(Duration::from_secs(7_200));
        assert_eq!(stalled.table.gateway.held(), 0);
        assert!(stalled.open(51), "there is room again");
    }
}

/// What fills a hole can always come in: all is delivered in the end, in order, however it came.
#[test]
fn what_comes_in_any_order_is_delivered_from_a_pool_that_is_full() {
    const LEN: u64 = 60_000;
    for seed in 0..20 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let guaranteed = [4 << 10, 16 << 10, 2_000][seed as usize % 3];
        let mut stalled = Stalled::new(80_000, guaranteed);
        let ports: Vec<u16> = (1..=4).filter(|port| stalled.open(*port)).collect();
        let mut delivered = vec![1; ports.len()];
        for _ in 0..2_000 {
            let mut pieces: Vec<(usize, u64)> = Vec::new();
            for (flow, &from) in delivered.iter().enumerate() {
                // What the client may take for lost, the first of it for sure.
                pieces.push((flow, from));
                pieces.extend((0..5).map(|_| (flow, from + rng.random_range(0..30_000))));
            }
            pieces.shuffle(&mut rng);
            for (flow, at) in pieces {
                let len = rng.random_range(1..=5_000).min((1 + LEN).saturating_sub(at));
                stalled.data(ports[flow], at, &part(at, len));
            }
            // The server acknowledges some of what has been sent on.
            for (flow, una) in delivered.iter_mut().enumerate() {
                let sent = stalled.sent[&ports[flow]];
                let next = (*una + rng.random_range(0..3_000)).min(sent);
                if next > *una {
                    *una = next;
                    let ack = Table::segment(Side::Satellite, 1, next, Flags::ACK);
                    stalled.give(ports[flow], Side::Satellite, ack, b"");
                }
            }
            stalled.wait(Duration::from_millis(10));
        }
        assert!(delivered.iter().all(|una| *una == 1 + LEN), "seed {seed}: {delivered:?}");
        assert_eq!(stalled.table.gateway.held(), 0);
    }
}

/// A window that has closed opens again by more than is too little to be told (RFC 9293,
/// 3.8.6.2.2).
#[test]
fn a_flow_goes_on_beside_a_reader_that_stopped() {
    for guaranteed in [2_000, 4 << 10, 16 << 10] {
        // The first reader leaves nothing beyond the shares of two flows.
        let mut stalled = Stalled::new(4 * guaranteed.max(8 << 10) + 20_000, guaranteed);
        assert!(stalled.open(1) && stalled.open(2));
        for at in (1..200_000).step_by(1_460) {
            stalled.data(1, at, &part(at, 1_460));
        }
        let mut next = 1;
        for _ in 0..200 {
            // At first what the SYN-ACK says.
            let edge = stalled.edges.get(&2).copied().unwrap_or(60_001);
            assert!(edge > next, "the window is closed at {next}, with all delivered");
            let len = (edge - next).min(1_460);
            stalled.data(2, next, &part(next, len));
            stalled.wait(Duration::from_secs(1));
            next += len;
            assert_eq!(stalled.sent[&2], next);
            stalled.give(
                2,
                Side::Satellite,
                Table::segment(Side::Satellite, 1, next, Flags::ACK),
                b"",
            );
            stalled.wait(Duration::from_secs(1));
        }
        assert!(next > 150_000, "{next} bytes in 200 round trips");
    }
}

/// What hibernates has no share of the pool, and goes on all the same when readers have stopped
/// meanwhile.
#[test]
fn a_flow_that_hibernated_goes_on_beside_readers_that_stopped() {
    let mut stalled = Stalled::new(1 << 20, 4 << 10);
    stalled.rest_beside_stopped_readers(20, 10);
    for port in 11..=20 {
        let mut next = 1;
        while next < 20_000 {
            stalled.data(port, next, &part(next, 1_000));
            next += 1_000;
            assert_eq!(stalled.sent[&port], next, "port {port}");
            let ack = Table::segment(Side::Satellite, 1, next, Flags::ACK);
            stalled.give(port, Side::Satellite, ack, b"");
        }
    }
}

/// Fault seed 51595562: flows that wait for their shares of a full pool filled it with what lay
/// behind holes, so that what fills these found no room in any.
#[test]
fn what_waits_for_its_share_takes_nothing_behind_a_hole() {
    // What is left beside shares is less than one, and more than a segment.
    let mut stalled = Stalled::new((1 << 20) + (12 << 10), 4 << 10);
    stalled.rest_beside_stopped_readers(40, 20);
    // All the others have lost their first segment.
    for at in (1_001..60_000).step_by(1_000) {
        for port in 21..=40 {
            stalled.data(port, at, &part(at, 1_000));
        }
    }
    for port in 38..=40 {
        for next in [1, 1_001, 2_001] {
            stalled.data(port, next, &part(next, 1_000));
            let sent = stalled.sent.get(&port).copied().unwrap_or(1);
            assert!(sent >= next + 1_000, "port {port}: {sent} bytes of {next}");
            let ack = Table::segment(Side::Satellite, 1, sent, Flags::ACK);
            stalled.give(port, Side::Satellite, ack, b"");
        }
    }
}

/// Fault seed 91104134: the pool becomes smaller than what is held. Two gateways, each full of what
/// the other one has no room for, waited for each other.
#[test]
fn a_pool_that_becomes_smaller_leaves_its_flows_their_shares() {
    let mut stalled = Stalled::new(1 << 20, 4 << 10);
    stalled.rest_beside_stopped_readers(20, 10);
    let smaller = Config { memory: Bytes::new(64 << 10), ..stalled.table.gateway.config().clone() };
    stalled.table.gateway.reconfigure(smaller);
    for port in 11..=20 {
        stalled.data(port, 1, &part(1, 1_000));
        assert_eq!(stalled.sent.get(&port), Some(&1_001), "port {port}");
    }
    // For others there is no room.
    assert!(!stalled.open(21));
}
