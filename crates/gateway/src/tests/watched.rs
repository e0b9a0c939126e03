//! What is shown of the satellite link, and what follows when it is not what it was held for.

use super::*;
use crate::announce::{Announcement, ToldLink};
use bentpipe_core::tcp::congestion::CongestionAlgorithm;
use bentpipe_core::units::Rate;
use bentpipe_core::wire::SackBlock;

const RATE: Rate = Rate::from_bits_per_sec(8_000_000);

fn known() -> Config {
    let mut config = Config::default();
    config.satellite.rate = Some(RATE);
    config.satellite.round_trip = Some(Duration::from_millis(500));
    config
}

/// A connection whose server is behind another gateway.
fn open(config: Config) -> Table {
    let mut table = Table::new(config);
    table.options = TcpOptions { sack_permitted: true, window_scale: Some(7), ..Table::stamped() };
    let options = table.options.clone();
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    table.send(Side::Lan, TcpHeader { options: options.clone(), ..syn }, b"");
    let mut options = options;
    assert!(Announcement::default().put(ToldLink::default(), None, &mut options));
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    table.send(Side::Satellite, TcpHeader { options, ..synack }, b"");
    say(&mut table, Side::Lan, 1, 1, b"");
    table
}

fn say(table: &mut Table, from: Side, seq: u64, ack: u64, payload: &[u8]) {
    let tcp = table.stamp(Table::segment(from, seq, ack, Flags::ACK), 600);
    table.send(from, tcp, payload);
}

fn link(losses: TakenFor, rate: Option<Rate>) -> LinkView {
    let (told, contradiction) = (false, None);
    LinkView { losses, circuit_broken: false, rate, told, contradiction, used_at: rate }
}

#[test]
fn losses_are_taken_for_what_configuration_and_peer_allow() {
    let view = |config| Table::new(config).gateway.satellite_link();
    assert_eq!(view(Config::default()), link(TakenFor::ToldApart, None));
    // Of a gateway at the other end nothing is known yet.
    assert_eq!(view(known()), link(TakenFor::ToldApart, Some(RATE)));
    assert_eq!(open(known()).gateway.satellite_link(), link(TakenFor::Link, Some(RATE)));
    let mut believed = known();
    believed.satellite.losses = Losses::Believed;
    assert_eq!(open(believed).gateway.satellite_link(), link(TakenFor::Believed, Some(RATE)));
}

/// A gateway with servers on its side alone hears of the other one in SYNs.
#[test]
fn losses_are_the_links_own_for_servers_here_too() {
    let mut table = Table::new(known());
    let client = TcpOptions { sack_permitted: true, window_scale: Some(7), ..Table::stamped() };
    table.options = client.clone();
    let mut announced = client.clone();
    assert!(Announcement::default().put(ToldLink::default(), None, &mut announced));
    // The table's client is behind the satellite here, and its server on the LAN.
    let send = |table: &mut Table, client: bool, tcp: TcpHeader, payload: &[u8]| {
        let (from, name) = match client {
            true => (Side::Satellite, Side::Lan),
            false => (Side::Lan, Side::Satellite),
        };
        table.give(from, &Table::ip(name), &tcp, payload)
    };
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    send(&mut table, true, TcpHeader { options: announced, ..syn }, b"");
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    send(&mut table, false, TcpHeader { options: client, ..synack }, b"");
    table.wait(Duration::from_millis(500));
    let ack = table.stamp(Table::segment(Side::Lan, 1, 1, Flags::ACK), 501);
    send(&mut table, true, ack, b"");
    assert_eq!(
        table.gateway.controls(Side::Satellite),
        [CongestionAlgorithm::KnownLink { rate: RATE }]
    );
    assert_eq!(table.gateway.satellite_link().losses, TakenFor::ToldApart, "nothing is sent yet");
    let said = table.stamp(Table::segment(Side::Satellite, 1, 1, Flags::ACK), 502);
    let mut sent = send(&mut table, false, said, b"good evening");
    sent.extend(table.wait(Duration::from_millis(500)));
    assert!(sent.iter().any(|transmit| transmit.payload_len() == 12), "{sent:?}");
    let ack = table.stamp(Table::segment(Side::Lan, 1, 13, Flags::ACK), 503);
    send(&mut table, true, ack, b"");
    assert_eq!(table.gateway.satellite_link().losses, TakenFor::Link);
}

#[test]
fn a_circuit_that_is_broken_is_shown_and_heard_of_by_all_flows() {
    let mut table = open(known());
    assert_eq!(
        table.gateway.controls(Side::Satellite),
        [CongestionAlgorithm::KnownLink { rate: RATE }]
    );
    let usual = table.gateway.config().satellite.sender.congestion;
    let broken = LinkView { circuit_broken: true, ..link(TakenFor::Believed, Some(RATE)) };
    table.gateway.believe_losses(Side::Satellite);
    assert_eq!(table.gateway.satellite_link(), broken);
    assert_eq!(table.gateway.controls(Side::Satellite), [usual]);
    // What the operator has set is another thing than what is in force.
    assert_eq!(*table.gateway.config(), known());
    assert_eq!(table.gateway.in_force().satellite.losses, Losses::Believed);
}

#[test]
fn a_flow_that_rested_when_the_circuit_broke_believes_its_losses_too() {
    let mut table = open(known());
    table.wait(Duration::from_secs(5));
    assert_eq!(table.gateway.hibernated(), 1);
    table.gateway.believe_losses(Side::Satellite);
    say(&mut table, Side::Lan, 1, 1, b"hello");
    let usual = table.gateway.config().satellite.sender.congestion;
    assert_eq!(table.gateway.controls(Side::Satellite), [usual]);
}

/// The first of a few segments is lost, and nothing follows them: how often that is retransmitted.
/// `broken`: once the link has turned out to be another one.
fn copies(config: Config, broken: bool) -> usize {
    let mut table = open(config);
    say(&mut table, Side::Lan, 1, 1, &[7; 10_000]);
    table.wait(Duration::from_millis(500));
    if broken {
        table.gateway.believe_losses(Side::Satellite);
    }
    let mut ack = table.stamp(Table::segment(Side::Satellite, 1, 1, Flags::ACK), 700);
    let (left, right) = (CLIENT_ISN + 2001, CLIENT_ISN + 10_001);
    ack.options.sack.push(SackBlock { left, right });
    let mut sent = table.send(Side::Satellite, ack, b"");
    // Less than a probe's timer.
    sent.extend(table.wait(Duration::from_millis(10)));
    sent.iter().filter(|sent| sent.tcp.seq == CLIENT_ISN + 1).count()
}

/// What else it is lost by than congestion, nobody need make room for; where it may be that, one is
/// enough.
#[test]
fn a_retransmission_leaves_twice_where_losses_are_the_links() {
    assert_eq!(copies(known(), false), 2);
    assert_eq!(copies(Config::default(), false), 1);
    assert_eq!(copies(known(), true), 1);
    let mut off = known();
    off.satellite.set("spare-copies", "off").expect("it is a key");
    assert_eq!(copies(off, false), 1);
}

/// A host that is down has its connections send again and again, a segment each: that fills no
/// link. Fault seed 123231653.
#[test]
fn who_does_not_answer_keeps_nobody_from_the_link() {
    const DEAF: u16 = 40;
    const HEARD: u16 = 5000;
    let mut config = known();
    config.satellite.rate = Some(Rate::from_bits_per_sec(800_000));
    let mut table = Table::new(config);
    let client = TcpOptions { sack_permitted: true, window_scale: Some(7), ..Table::stamped() };
    table.options = client.clone();
    let mut announced = client.clone();
    assert!(Announcement::default().put(ToldLink::default(), None, &mut announced));
    let at = |port: u16, from: Side, tcp: TcpHeader| match from {
        Side::Lan => TcpHeader { src_port: port, ..tcp },
        Side::Satellite => TcpHeader { dst_port: port, ..tcp },
    };
    let say = |table: &mut Table, port: u16, from: Side, [seq, ack]: [u64; 2], payload: &[u8]| {
        let tcp = table.stamp(Table::segment(from, seq, ack, Flags::ACK), 600);
        table.send(from, at(port, from, tcp), payload)
    };
    for port in (1..=DEAF).chain([HEARD]) {
        let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
        let syn = TcpHeader { options: client.clone(), ..at(port, Side::Lan, syn) };
        table.send(Side::Lan, syn, b"");
        let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
        let synack = TcpHeader { options: announced.clone(), ..at(port, Side::Satellite, synack) };
        table.send(Side::Satellite, synack, b"");
        say(&mut table, port, Side::Lan, [1, 1], b"");
    }
    // Ten kilobytes are the product.
    say(&mut table, HEARD, Side::Lan, [1, 1], &[1; 1000]);
    table.wait(Duration::from_millis(100));
    say(&mut table, HEARD, Side::Satellite, [1, 1001], b"");
    for port in 1..=DEAF {
        say(&mut table, port, Side::Lan, [1, 1], &[1; 1000]);
    }
    let leaves =
        |sent: &[Transmit]| sent.iter().any(|it| it.tcp.src_port == HEARD && it.payload_len() > 0);
    table.wait(Duration::from_secs(20));
    for round in 0..5 {
        let mut sent = say(&mut table, HEARD, Side::Lan, [1001 + 100 * round, 1], &[1; 100]);
        sent.extend(table.wait(Duration::from_millis(900)));
        assert!(leaves(&sent), "{round}");
        say(&mut table, HEARD, Side::Satellite, [1, 1101 + 100 * round], b"");
    }
}
