//! Beliefs and reports of a gateway with a key.

use super::*;
use crate::PairKey;
use crate::announce::{Announcement, Identity, Report, ReportSchedule, Seal, ToldLink};
use crate::config::FoundBy;
use bentpipe_core::units::Rate;

const IDENTITY: u32 = 0xaaaa_0001;

fn key() -> PairKey {
    "000102030405060708090a0b0c0d0e0f".parse().unwrap()
}

fn another() -> PairKey {
    "f00102030405060708090a0b0c0d0e0f".parse().unwrap()
}

/// A gateway with the key, unconfigured.
fn table() -> Table {
    let mut config = Config { pair_key: Some(key()), super_segments: false, ..Config::default() };
    config.satellite.found_by = FoundBy::AllFlows;
    let mut table = Table::new(config);
    table.gateway.identify_as(0xcccc_0003);
    table.options = options();
    table
}

fn options() -> TcpOptions {
    let mss = Some(1460);
    TcpOptions { mss, window_scale: Some(7), sack_permitted: true, ..Table::stamped() }
}

fn told() -> ToldLink {
    let rate = |megabits: u64| Some(Rate::from_bits_per_sec(megabits * 1_000_000));
    let round_trip = Some(Duration::from_millis(600));
    ToldLink { rate: rate(250), return_rate: rate(3), round_trip }
}

/// A client here opens a connection to a server whose gateway has this key, and tells `link`. What
/// is sent.
fn open(table: &mut Table, key: Option<PairKey>, link: ToldLink) -> Vec<Transmit> {
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    let mut sent = table.send(Side::Lan, TcpHeader { options: options(), ..syn }, b"");
    let mut synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    synack.options = options();
    let seal = key.map(|key| key.in_handshake(&synack));
    assert!(Announcement::default().put(link, seal, &mut synack.options));
    sent.extend(table.send(Side::Satellite, synack, b""));
    let ack = table.stamp(Table::segment(Side::Lan, 1, 1, Flags::ACK), 600);
    sent.extend(table.send(Side::Lan, ack, b""));
    sent
}

/// Seals reports of the server's gateway, in the connection that is there.
fn seal(key: PairKey) -> Seal {
    key.in_connection(SERVER_ISN, CLIENT_ISN)
}

/// The server's gateway reports this identity.
fn report(table: &mut Table, identity: u32, seal: Option<Seal>) {
    let mut ack = table.stamp(Table::segment(Side::Satellite, 1, 1, Flags::ACK), 600);
    let report = Report::of(Identity::new(identity).unwrap());
    ReportSchedule::new().report(report, seal, &mut ack.options).expect("there is room");
    table.send(Side::Satellite, ack, b"");
}

fn remotes(table: &Table) -> Vec<(Identity, usize)> {
    table.gateway.remotes()
}

fn events(table: &mut Table) -> Vec<String> {
    std::iter::from_fn(|| table.gateway.poll_event())
        .filter(|event| matches!(event, Event::ForeignAnnouncement | Event::LinkTold(_)))
        .map(|event| event.to_string())
        .collect()
}

#[test]
fn a_syn_is_sealed_and_has_room_for_the_link() {
    let mut table = table();
    table.gateway.reconfigure({
        let mut config = table.gateway.config().clone();
        config.satellite.rate = told().return_rate;
        config.satellite.return_rate = told().rate;
        config.satellite.round_trip = told().round_trip;
        config
    });
    let sent = open(&mut table, Some(key()), told());
    let syn = &sent.iter().find(|sent| sent.tcp.flags == Flags::SYN).expect("a SYN").tcp;
    assert!(syn.options.fits());
    let in_syn = |key: PairKey| Some(key.in_handshake(syn));
    assert_eq!(Announcement::told_link(&syn.options, in_syn(key())), told().mirrored());
    assert!(Announcement::find(&syn.options, in_syn(key())).is_some());
    assert_eq!(Announcement::find(&syn.options, in_syn(another())), None);
    let without = Announcement::find(&syn.options, None);
    assert_eq!(without, None, "who has no key is not believed, and does not believe");
}

#[test]
fn who_has_not_the_key_is_no_gateway_and_is_named_once() {
    for wrong in [None, Some(another())] {
        let mut table = table();
        open(&mut table, wrong, told());
        assert!(!table.gateway.peer_known());
        assert_eq!(table.gateway.summary().foreign_announcements, 1);
        let lines = events(&mut table);
        assert!(lines.len() == 1 && lines[0].contains("splitting.pair-key"), "{lines:?}");
        report(&mut table, IDENTITY, Some(seal(key())));
        assert_eq!(remotes(&table), [], "it has not announced itself");
    }
    let mut table = table();
    open(&mut table, Some(key()), told());
    assert!(table.gateway.peer_known());
    assert_eq!(table.gateway.summary().foreign_announcements, 0);
    assert_eq!(table.gateway.in_force().satellite.rate, told().return_rate);
}

#[test]
fn an_identity_is_believed_with_a_seal_of_this_connection_and_behind_one() {
    let mut table = table();
    open(&mut table, Some(key()), ToldLink::default());
    let overheard = key().in_connection(SERVER_ISN, CLIENT_ISN + 1);
    for wrong in [None, Some(seal(another())), Some(overheard)] {
        report(&mut table, IDENTITY, wrong);
        assert_eq!(remotes(&table), []);
    }
    report(&mut table, IDENTITY, Some(seal(key())));
    let known = [(Identity::new(IDENTITY).unwrap(), 1)];
    assert_eq!(remotes(&table), known);
    report(&mut table, IDENTITY, None);
    // Another one has to prove itself.
    report(&mut table, IDENTITY + 1, None);
    assert_eq!(remotes(&table), known);
}

#[test]
fn what_is_reported_is_sealed_for_this_connection() {
    let mut table = table();
    open(&mut table, Some(key()), ToldLink::default());
    let mut reports = Vec::new();
    for number in 0..8 {
        let (from, to) = (1 + 1_000 * number, 1 + 1_000 * (number + 1));
        let data = table.stamp(Table::segment(Side::Satellite, from, 1, Flags::ACK), 600);
        let mut sent = table.send(Side::Satellite, data, &[7; 1_000]);
        sent.extend(table.wait(Duration::from_millis(40)));
        let ack = table.stamp(Table::segment(Side::Lan, 1, to, Flags::ACK), 600);
        sent.extend(table.send(Side::Lan, ack, b""));
        let to_peer = sent.iter().filter(|sent| sent.to == Side::Satellite);
        reports.extend(to_peer.filter_map(|sent| Report::find(&sent.tcp.options)));
    }
    let sealed = key().in_connection(CLIENT_ISN, SERVER_ISN);
    assert!(reports.first().is_some_and(|first| first.is_sealed_by(sealed)), "{reports:?}");
    assert!(!reports[0].is_sealed_by(seal(key())), "a reflected one is of no use");
    assert!(reports.iter().any(|report| report.arrivals.is_some()), "{reports:?}");
}
