//! A flood of SYNs that a live server answers, and whose clients never do; and honest clients in
//! it.

use super::*;
use crate::Handshake;
use bentpipe_core::units::Bytes;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;

/// From a SYN-ACK to its acknowledgment, over a geostationary satellite.
const ROUND_TRIP: Duration = Duration::from_millis(600);

const SYN_ACK: Flags = Flags(Flags::SYN.0 | Flags::ACK.0);

/// Forged SYNs, each of which is answered at once.
struct Flood {
    per_second: u32,
    seconds: u32,
    options: TcpOptions,
    /// All of them, and the honest ones, come from one address, as from behind a NAT.
    one_client: bool,
}

/// What became of the honest connections, ten a second, in the second half of the flood.
#[derive(Debug, Default)]
struct Outcome {
    split: u32,
    forwarded: u32,
}

impl Outcome {
    fn share_split(&self) -> f64 {
        f64::from(self.split) / f64::from(self.split + self.forwarded)
    }
}

impl Flood {
    fn run(&self, config: Config) -> Outcome {
        let mut table = Table::new(config);
        table.options.window_scale = Some(7);
        table.options.sack_permitted = true;
        table.options.timestamps = Some(Timestamps { value: 500, echo: 0 });
        let (count, every) = (self.per_second * self.seconds, self.per_second / 10);
        let honest = IpAddr::from([10, 0, 0, 1]);
        let (mut outcome, mut answers) = (Outcome::default(), VecDeque::new());
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut moment = |number: u32, every: u32| {
            let number = f64::from(number) + rng.random::<f64>();
            Instant::ZERO
                + Duration::from_secs(1)
                    .mul_f64(number * f64::from(every) / f64::from(self.per_second))
        };
        let mut next_honest = (moment(0, every), 0);
        for number in 0..count {
            let forged_at = moment(number, 1);
            while next_honest.0 <= forged_at {
                let (at, turn) = next_honest;
                table.now = at;
                table.gateway.handle_timeout(at);
                table.sent();
                let client = (honest, 61_000 + (turn % 4_000) as u16);
                let hand = table.begin(client, &table.options.clone());
                answers.push_back((at + ROUND_TRIP, hand));
                next_honest = (moment(turn + 1, every), turn + 1);
            }
            table.now = forged_at;
            table.gateway.handle_timeout(table.now);
            table.sent();
            while answers.front().is_some_and(|(due, _)| *due <= table.now) {
                let (due, hand) = answers.pop_front().unwrap();
                let is_split = table.conclude(&hand);
                if due >= Instant::ZERO + Duration::from_secs(u64::from(self.seconds) / 2) {
                    outcome.split += u32::from(is_split);
                    outcome.forwarded += u32::from(!is_split);
                }
            }
            let forged = if self.one_client {
                (honest, 1_000 + (number % 60_000) as u16)
            } else {
                // No two alike (Knuth's multiplicative hash), as from anywhere.
                (IpAddr::from(number.wrapping_mul(2_654_435_761).to_be_bytes()), 7)
            };
            table.begin(forged, &self.options);
        }
        outcome
    }
}

/// An honest client's handshake up to the SYN-ACK.
struct Hand {
    client: (IpAddr, u16),
    /// The SYN or the SYN-ACK was forwarded.
    forwarded: bool,
}

impl Table {
    /// A SYN, and the server's answer to it.
    fn begin(&mut self, client: (IpAddr, u16), options: &TcpOptions) -> Hand {
        let near = IpHeader { src: client.0, ..Self::ip(Side::Lan) };
        let far = IpHeader { dst: client.0, ..Self::ip(Side::Satellite) };
        let syn = Self::segment(Side::Lan, 0, 0, Flags::SYN);
        let syn = TcpHeader { src_port: client.1, options: options.clone(), ..syn };
        let synack = Self::segment(Side::Satellite, 0, 1, SYN_ACK);
        let synack = TcpHeader { dst_port: client.1, options: options.clone(), ..synack };
        let mut forwarded = false;
        for (from, ip, tcp) in [(Side::Lan, &near, &syn), (Side::Satellite, &far, &synack)] {
            let verdict = self.gateway.handle_packet(self.now, from, ip, tcp, Payload::EMPTY);
            let sent = self.sent();
            if verdict == Disposition::Consumed {
                let onwards = sent.iter().any(|it| it.to != from && it.tcp.seq == tcp.seq);
                assert!(onwards && !forwarded, "{tcp:?} became {sent:?}");
            } else {
                assert!(matches!(verdict, Disposition::Forward(_)) && sent.is_empty());
                forwarded = true;
            }
        }
        Hand { client, forwarded }
    }

    /// The client's acknowledgment and its first data; whether the connection is split. It is over
    /// then.
    fn conclude(&mut self, hand: &Hand) -> bool {
        let ip = IpHeader { src: hand.client.0, ..Self::ip(Side::Lan) };
        let mut verdicts = Vec::new();
        for (seq, flags, payload) in
            [(1, Flags::ACK, &b""[..]), (1, Flags::ACK, b"request"), (8, Flags::RST, b"")]
        {
            let tcp = self.stamp(Self::segment(Side::Lan, seq, 1, flags), 501);
            let tcp = TcpHeader { src_port: hand.client.1, ..tcp };
            let payload = Payload::Bytes(payload);
            verdicts.push(self.gateway.handle_packet(self.now, Side::Lan, &ip, &tcp, payload));
            let sent = self.sent();
            assert!(sent.is_empty() || verdicts[0] == Disposition::Consumed, "{sent:?}");
        }
        let taken = verdicts.iter().filter(|verdict| **verdict == Disposition::Consumed).count();
        assert!(taken == 0 || taken == 3, "neither split nor forwarded: {verdicts:?}");
        assert!(taken == 0 || !hand.forwarded);
        taken == 3
    }
}

#[test]
fn honest_clients_are_split_in_a_flood_that_is_answered() {
    let all = TcpOptions { window_scale: Some(7), sack_permitted: true, ..Table::stamped() };
    let bare = bare();
    let always = Config { add_options: AddOptions::Always, ..Config::default() };
    let early = Config { handshake: Handshake::DownstreamFirst, ..Config::default() };
    let small = Config { memory: Bytes::new(64 << 20), ..Config::default() };
    for (name, config, options, one_client, per_second, seconds, min) in [
        ("default", &Config::default(), &all, false, 1_000, 40, 0.99),
        ("default", &Config::default(), &all, false, 15_000, 7, 0.15),
        ("bare, options added", &always, &bare, false, 1_000, 40, 0.99),
        ("bare, options added", &always, &bare, false, 15_000, 7, 0.15),
        ("downstream first", &early, &all, false, 1_000, 40, 0.99),
        ("downstream first", &early, &all, false, 15_000, 7, 0.15),
        ("2048 flows", &small, &all, false, 500, 40, 0.99),
        ("one client", &Config::default(), &all, true, 1_000, 40, 0.99),
    ] {
        let flood = Flood { per_second, seconds, options: options.clone(), one_client };
        let outcome = flood.run(config.clone());
        println!("{name}, {per_second} SYN/s: {:.3} are split", outcome.share_split());
        assert!(outcome.share_split() >= min, "{name}, {per_second} SYN/s: {outcome:?}");
    }
}

/// A gateway that has room for few flows, and the SYNs and answers of as many clients.
fn crowded(config: Config, flows: u16) -> (Table, Vec<Hand>) {
    let mut table = Table::new(Config { max_flows: usize::from(flows), ..config });
    let client = IpAddr::from([10, 0, 0, 1]);
    let hands = (1..=flows).map(|port| table.begin((client, port), &bare())).collect();
    assert_eq!(table.gateway.flows(), usize::from(flows));
    (table, hands)
}

fn bare() -> TcpOptions {
    TcpOptions { mss: Some(1460), ..TcpOptions::default() }
}

/// The client of [`crowded`] on another port.
const NEWCOMER: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 99);

#[test]
fn who_has_not_answered_gives_way_and_is_forwarded_when_it_does() {
    let (mut table, hands) = crowded(Config::default(), 2);
    table.wait(Duration::from_millis(2_999));
    assert!(table.begin(NEWCOMER, &bare()).forwarded, "they may still answer");
    table.wait(Duration::from_millis(1));
    let late = table.begin(NEWCOMER, &bare());
    assert!(!late.forwarded);
    assert_eq!(table.gateway.flows(), 2);
    assert!(!table.conclude(&hands[0]), "forwarded, and whole");
    assert!(table.conclude(&hands[1]) && table.conclude(&late));
}

#[test]
fn without_need_nobody_gives_way() {
    let (mut table, hands) = crowded(Config::default(), 2);
    table.wait(Duration::from_secs(60));
    assert!(hands.iter().all(|hand| table.conclude(hand)));
}

#[test]
fn a_client_gives_way_to_itself_where_it_has_too_many_connections() {
    let mut table = Table::new(Config { max_flows_per_client: 2, ..Config::default() });
    let other = (IpAddr::from([10, 0, 0, 2]), 1);
    for client in [other, (NEWCOMER.0, 1), (NEWCOMER.0, 2)] {
        assert!(!table.begin(client, &bare()).forwarded);
    }
    assert!(table.begin(NEWCOMER, &bare()).forwarded);
    table.wait(Duration::from_secs(3));
    assert!(!table.begin(NEWCOMER, &bare()).forwarded);
    assert_eq!(table.gateway.flows(), 3);
}

/// Options that we have added would stay with the hosts.
#[test]
fn who_could_not_go_on_without_us_does_not_give_way() {
    let config = Config { add_options: AddOptions::Always, ..Config::default() };
    let mut table = Table::new(Config { max_flows: 2, ..config });
    // The server accepts what we have added to the first one; the next one goes out as it came.
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    for (port, added) in [(1, true), (2, false)] {
        let sent = table.send(
            Side::Lan,
            TcpHeader { src_port: port, options: bare(), ..syn.clone() },
            b"",
        );
        assert_eq!(sent[0].tcp.options.timestamps.is_some(), added);
        let options = if added { Table::stamped() } else { bare() };
        let synack = Table::segment(Side::Satellite, 0, 1, SYN_ACK);
        table.send(Side::Satellite, TcpHeader { dst_port: port, options, ..synack }, b"");
    }
    table.wait(Duration::from_secs(60));
    assert!(!table.begin(NEWCOMER, &bare()).forwarded, "the second one gives way");
    assert!(table.begin((NEWCOMER.0, 98), &bare()).forwarded);
    assert_eq!(table.gateway.flows(), 2);
}

/// So would those that we accept for a gateway in the server's stead.
#[test]
fn what_a_peer_adds_is_accepted_while_there_is_room_for_those_who_need_us() {
    let mut table = Table::new(Config { max_flows: 2, ..Config::default() });
    let mut options = bare();
    options.sack_permitted = true;
    assert!(options.add_experiment(0x6270, &[2]));
    for (port, accepted) in [(1, true), (2, false)] {
        let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
        let syn = TcpHeader { src_port: port, options: options.clone(), ..syn };
        table.give(Side::Satellite, &Table::ip(Side::Lan), &syn, b"");
        let synack = Table::segment(Side::Satellite, 0, 1, SYN_ACK);
        let synack = TcpHeader { dst_port: port, options: bare(), ..synack };
        let sent = table.give(Side::Lan, &Table::ip(Side::Satellite), &synack, b"");
        let said = &sent[0].tcp.options;
        assert_eq!((said.sack_permitted, said.experiment(0x6270).is_some()), (accepted, true));
    }
}

/// Where the server has been answered already it would have to be reset: such a flow keeps its
/// place, and beyond a quarter of the table servers are answered by their clients.
#[test]
fn a_flow_whose_server_was_answered_keeps_its_place() {
    let config = Config { handshake: Handshake::DownstreamFirst, ..Config::default() };
    let mut table = Table::new(Config { max_flows: 2, ..config });
    let answer = |table: &mut Table, port| {
        let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
        table.send(Side::Lan, TcpHeader { src_port: port, options: bare(), ..syn }, b"");
        let synack = Table::segment(Side::Satellite, 0, 1, SYN_ACK);
        let synack = TcpHeader { dst_port: port, options: bare(), ..synack };
        let sent = table.send(Side::Satellite, synack, b"");
        sent.iter().any(|it| it.tcp.dst_port == 80)
    };
    assert!(answer(&mut table, 1));
    assert!(!answer(&mut table, 2), "one is a quarter of the table, or more");
    table.wait(Duration::from_secs(60));
    // The one that nobody has answered goes.
    assert!(!answer(&mut table, 3));
    assert_eq!(table.gateway.flows(), 2);
    let ack = TcpHeader { src_port: 1, ..Table::segment(Side::Lan, 1, 1, Flags::ACK) };
    let sent = table.send(Side::Lan, ack, b"hello");
    assert!(sent.iter().any(|it| it.payload_len() == 5), "{sent:?}");
}
