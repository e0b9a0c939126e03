//! Turns on a link whose rate is known.

use super::*;
use bentpipe_core::units::Rate;
use std::collections::BTreeMap;

/// 10 KB a second, to the satellite.
const RATE: Rate = Rate::from_bits_per_sec(80_000);
const A: u16 = 4_001;
const B: u16 = 4_002;
const C: u16 = 4_003;

/// Clients that upload, each from a port of its own, to a server that acknowledges at once.
struct Uploads {
    table: Table,
    /// Bytes sent to the server, headers included, by port.
    carried: BTreeMap<u16, u64>,
}

impl Uploads {
    fn new() -> Uploads {
        let mut config = Config::default();
        config.satellite.rate = Some(RATE);
        config.satellite.round_trip = Some(Duration::from_millis(500));
        Uploads { table: Table::new(config), carried: BTreeMap::new() }
    }

    fn segment(port: u16, from: Side, seq: u64, flags: Flags) -> TcpHeader {
        let tcp = Table::segment(from, seq, 1, flags);
        match from {
            Side::Lan => TcpHeader { src_port: port, ..tcp },
            Side::Satellite => TcpHeader { dst_port: port, ..tcp },
        }
    }

    fn give(&mut self, port: u16, from: Side, seq: u64, flags: Flags, payload: &[u8]) {
        let tcp = Self::segment(port, from, seq, flags);
        let ip = Table::ip(from);
        self.table.gateway.handle_packet(self.table.now, from, &ip, &tcp, Payload::Bytes(payload));
    }

    /// A connection whose hosts take segments of `mss`.
    fn open(&mut self, port: u16, mss: u16) {
        let options = TcpOptions { mss: Some(mss), ..TcpOptions::default() };
        for (from, flags) in [(Side::Lan, Flags::SYN), (Side::Satellite, Flags::SYN | Flags::ACK)] {
            let ack = u64::from(from == Side::Satellite);
            let numbers = Table::segment(from, 0, ack, flags);
            let tcp = Self::segment(port, from, 0, flags);
            self.table.send(
                from,
                TcpHeader { ack: numbers.ack, options: options.clone(), ..tcp },
                b"",
            );
        }
        self.give(port, Side::Lan, 1, Flags::ACK, b"");
        self.serve();
    }

    /// The client sends 50 KB at once.
    fn upload(&mut self, port: u16) {
        for at in (1..50_000).step_by(1_000) {
            self.give(port, Side::Lan, at, Flags::ACK, &[7; 1_000]);
        }
        self.serve();
    }

    /// Lets all leave that may, and both hosts acknowledge what they get.
    fn serve(&mut self) {
        while let Some(sent) = self.table.gateway.poll_transmit(self.table.now) {
            if sent.payload_len() == 0 {
                continue;
            }
            let port = if sent.to == Side::Lan { sent.tcp.dst_port } else { sent.tcp.src_port };
            if sent.to == Side::Satellite {
                let bytes = sent.ip.wire_len() + sent.tcp.wire_len() + sent.payload_len();
                *self.carried.entry(port).or_default() += bytes as u64;
            }
            let tcp = Self::segment(port, sent.to, 1, Flags::ACK);
            let ack = sent.tcp.seq + sent.payload_len() as u64;
            let tcp = TcpHeader { seq: sent.tcp.ack, ack, ..tcp };
            let (now, ip) = (self.table.now, Table::ip(sent.to));
            self.table.gateway.handle_packet(now, sent.to, &ip, &tcp, Payload::EMPTY);
        }
    }

    /// Lets time pass in steps of `step`, at each of which `arrive` is called before all else; what
    /// has been carried meanwhile, by port.
    fn pass(
        &mut self,
        span: Duration,
        step: Duration,
        mut arrive: impl FnMut(&mut Uploads),
    ) -> BTreeMap<u16, u64> {
        let end = self.table.now + span;
        self.carried.clear();
        while self.table.now < end {
            self.table.now += step;
            arrive(self);
            self.table.gateway.handle_timeout(self.table.now);
            self.serve();
        }
        self.carried.clone()
    }
}

const MS: Duration = Duration::from_millis(1);

/// Within a packet.
fn about_equal(carried: &BTreeMap<u16, u64>) -> bool {
    carried[&A].abs_diff(carried[&B]) <= 1_500
}

#[test]
fn a_flow_that_takes_the_place_of_others_has_no_turns_of_theirs() {
    let mut uploads = Uploads::new();
    uploads.open(A, 1_460);
    uploads.open(B, 1_460);
    uploads.upload(A);
    // The client of B and its server are friends.
    for _ in 0..10 {
        uploads.upload(B);
        uploads.give(B, Side::Satellite, 1, Flags::RST, b"");
        uploads.open(B, 1_460);
    }
    uploads.upload(B);
    let carried = uploads.pass(4_000 * MS, MS, |_| {});
    assert!(carried[&A] + carried[&B] > 38_000 && about_equal(&carried), "{carried:?}");
    // All that wait are two.
    assert!(uploads.table.gateway.poll_timeout().is_some_and(|at| at >= uploads.table.now));
}

#[test]
fn what_does_not_wait_leaves_half_of_the_link_to_data() {
    let mut uploads = Uploads::new();
    uploads.open(A, 1_460);
    uploads.upload(A);
    let mut number = 0;
    // Fifteen times what the link carries.
    let flood = |uploads: &mut Uploads| {
        for _ in 0..4 {
            number += 1_u32;
            let ip = IpHeader { src: IpAddr::from(number.to_be_bytes()), ..Table::ip(Side::Lan) };
            let syn = Uploads::segment(A, Side::Lan, 0, Flags::SYN);
            let (now, gateway) = (uploads.table.now, &mut uploads.table.gateway);
            gateway.handle_packet(now, Side::Lan, &ip, &syn, Payload::EMPTY);
        }
    };
    let carried = uploads.pass(2_000 * MS, MS, flood);
    assert!((9_000..=11_500).contains(&carried[&A]), "{carried:?}");
    let carried = uploads.pass(2_000 * MS, MS, |_| {});
    assert!(carried[&A] > 18_500, "the flood is over: {carried:?}");
}

#[test]
fn a_turn_is_not_spent_on_what_goes_to_the_other_side() {
    let mut uploads = Uploads::new();
    for port in [A, B, C] {
        uploads.open(port, 1_460);
        uploads.upload(port);
    }
    let mut at = 1;
    // Whenever there may be a turn, something has come for the client of A.
    let carried = uploads.pass(4_500 * MS, 150 * MS, |uploads| {
        uploads.give(A, Side::Satellite, at, Flags::ACK, &[7; 1_000]);
        at += 1_000;
    });
    assert!(about_equal(&carried), "{carried:?}");
}

/// Shreedhar and Varghese, 1996.
#[test]
fn shares_are_equal_in_bytes_however_small_the_segments() {
    let mut uploads = Uploads::new();
    uploads.open(A, 1_460);
    uploads.open(B, 200);
    uploads.upload(A);
    uploads.upload(B);
    let carried = uploads.pass(4_000 * MS, MS, |_| {});
    assert!(carried[&A] + carried[&B] > 38_000 && about_equal(&carried), "{carried:?}");
}
