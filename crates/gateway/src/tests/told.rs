//! What gateways tell each other of their link.

use super::*;
use crate::announce::{Announcement, ToldLink};
use bentpipe_core::units::Rate;

fn megabits(rate: u64) -> Option<Rate> {
    (rate > 0).then(|| Rate::from_bits_per_sec(rate * 1_000_000))
}

fn link(rate: u64, return_rate: u64) -> ToldLink {
    let [rate, return_rate] = [rate, return_rate].map(megabits);
    ToldLink { rate, return_rate, round_trip: Some(Duration::from_millis(600)) }
}

fn config(link: ToldLink) -> Config {
    let mut config = Config::default();
    let leg = &mut config.satellite;
    (leg.rate, leg.return_rate) = (link.rate, link.return_rate);
    leg.round_trip = link.round_trip;
    config
}

fn options() -> TcpOptions {
    TcpOptions { window_scale: Some(7), sack_permitted: true, ..Table::stamped() }
}

fn telling(link: ToldLink) -> TcpOptions {
    let mut options = options();
    assert!(Announcement::default().put(link, None, &mut options));
    options
}

/// What the gateway goes by.
fn known(table: &Table) -> ToldLink {
    let leg = &table.gateway.in_force().satellite;
    ToldLink { rate: leg.rate, return_rate: leg.return_rate, round_trip: leg.round_trip }
}

fn nothing() -> Table {
    Table::new(Config::default())
}

/// A client here opens a connection on port `port` to a server whose gateway tells `link`; what is
/// sent.
fn call(table: &mut Table, port: u16, link: ToldLink) -> Vec<Transmit> {
    let with = |tcp: TcpHeader, options| TcpHeader { options, ..tcp };
    let syn = with(Table::segment(Side::Lan, 0, 0, Flags::SYN), options());
    let mut sent = table.send(Side::Lan, TcpHeader { src_port: port, ..syn }, b"");
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    let synack = with(synack, telling(link));
    sent.extend(table.send(Side::Satellite, TcpHeader { dst_port: port, ..synack }, b""));
    let ack = table.stamp(Table::segment(Side::Lan, 1, 1, Flags::ACK), 600);
    sent.extend(table.send(Side::Lan, TcpHeader { src_port: port, ..ack }, b""));
    sent
}

/// The SYN of a client behind the satellite, whose gateway tells `link`, and the server's answer
/// here; what is sent.
fn begin(table: &mut Table, link: ToldLink) -> Vec<Transmit> {
    let syn = TcpHeader { options: telling(link), ..Table::segment(Side::Lan, 0, 0, Flags::SYN) };
    let mut sent = table.give(Side::Satellite, &Table::ip(Side::Lan), &syn, b"");
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    let synack = TcpHeader { options: options(), ..synack };
    sent.extend(table.give(Side::Lan, &Table::ip(Side::Satellite), &synack, b""));
    sent
}

fn events(table: &mut Table) -> Vec<String> {
    std::iter::from_fn(|| table.gateway.poll_event())
        .filter(|event| matches!(event, Event::LinkTold(_) | Event::LinkContradicted { .. }))
        .map(|event| event.to_string())
        .collect()
}

#[test]
fn a_gateway_that_knows_nothing_goes_by_what_the_servers_gateway_tells() {
    let mut table = nothing();
    let sent = call(&mut table, 4000, link(250, 3));
    assert_eq!(known(&table), link(3, 250));
    assert!(table.gateway.satellite_link().told);
    // The first connection has it already: it is promised what fills the link.
    let ack = sent.iter().find(|sent| sent.to == Side::Satellite && !sent.tcp.has(Flags::SYN));
    let window = u64::from(ack.expect("an acknowledgment").tcp.window) << 7;
    assert!(window > 4 << 20, "{window}");
    // It does not tell others what it has been told.
    let sent = call(&mut table, 4001, link(250, 3));
    let syn = sent.iter().find(|sent| sent.tcp.has(Flags::SYN)).expect("a SYN");
    assert!(Announcement::find(&syn.tcp.options, None).is_some());
    assert!(Announcement::told_link(&syn.tcp.options, None).is_empty());
    assert_eq!(
        events(&mut table),
        [
            "told of the link by the other gateway rate=3Mbit/s return-rate=250Mbit/s round-trip=600ms"
        ]
    );
}

#[test]
fn what_a_syn_tells_counts_when_its_client_has_seen_the_answer() {
    let mut table = nothing();
    let sent = begin(&mut table, link(3, 250));
    assert_eq!(known(&table), ToldLink::default(), "anybody can send a SYN");
    let synack = sent.iter().find(|sent| sent.to == Side::Satellite).expect("a SYN-ACK");
    assert!(Announcement::find(&synack.tcp.options, None).is_some());
    // To itself it may be promised what it says, behind the SYN-ACK.
    let behind = sent.iter().filter(|sent| sent.to == Side::Satellite).nth(1).expect("a promise");
    assert!(u64::from(behind.tcp.window) << 7 > 200_000, "{behind:?}");
    let ack = table.stamp(Table::segment(Side::Lan, 1, 1, Flags::ACK), 600);
    let wrong = TcpHeader { ack: ack.ack + 1, ..ack.clone() };
    table.give(Side::Satellite, &Table::ip(Side::Lan), &wrong, b"");
    assert_eq!(known(&table), ToldLink::default());
    table.give(Side::Satellite, &Table::ip(Side::Lan), &ack, b"");
    assert_eq!(known(&table), link(250, 3));
}

#[test]
fn what_the_operator_has_said_is_told_and_stays() {
    let mut table = Table::new(config(ToldLink { return_rate: None, ..link(3, 0) }));
    let sent = call(&mut table, 4000, link(250, 4));
    let syn = sent.iter().find(|sent| sent.tcp.has(Flags::SYN)).expect("a SYN");
    let told = Announcement::told_link(&syn.tcp.options, None);
    assert_eq!(told, ToldLink { return_rate: None, ..link(3, 0) });
    assert_eq!(known(&table), link(3, 250), "what nobody has said here");
    assert!(!table.gateway.satellite_link().told);
    assert_eq!(table.gateway.satellite_link().contradiction, Some(link(4, 250)));
    call(&mut table, 4001, link(250, 4));
    let said = events(&mut table);
    assert_eq!(said.len(), 2, "once: {said:?}");
    assert!(said[0].contains("rate=3Mbit/s round-trip=600ms are configured"), "{said:?}");
    // The other operator mends it, or this one.
    let mut mended = Table::new(config(link(3, 250)));
    call(&mut mended, 4000, link(250, 4));
    assert!(mended.gateway.satellite_link().contradiction.is_some());
    call(&mut mended, 4001, link(250, 3));
    assert_eq!(mended.gateway.satellite_link().contradiction, None);
    table.gateway.reconfigure(config(ToldLink { return_rate: None, ..link(4, 0) }));
    assert_eq!(table.gateway.satellite_link().contradiction, None);
    assert_eq!(known(&table), link(4, 250), "what was told counts after a reload");
    table.gateway.reconfigure(Config::default());
    assert_eq!(known(&table), link(4, 250));
}

/// Several terminals behind a hub that knows nothing, and an operator who has changed his mind.
#[test]
fn peers_that_contradict_each_other_are_not_believed() {
    let mut table = nothing();
    call(&mut table, 4000, link(250, 3));
    call(&mut table, 4001, link(100, 3));
    assert_eq!(known(&table), link(3, 100), "it may have been changed");
    call(&mut table, 4002, link(250, 3));
    assert_eq!(known(&table), ToldLink::default());
    call(&mut table, 4003, link(100, 3));
    assert_eq!(known(&table), ToldLink::default());
    let last = events(&mut table).pop().expect("a line");
    assert_eq!(last, "other gateways tell different things of the link: none is believed");
}

#[test]
fn forged_syns_keep_nothing_and_change_nothing() {
    let mut table = nothing();
    for port in 5000..5100_u16 {
        let syn = TcpHeader {
            src_port: port,
            options: telling(link(1 + u64::from(port), 1)),
            ..Table::segment(Side::Lan, 0, 0, Flags::SYN)
        };
        table.give(Side::Satellite, &Table::ip(Side::Lan), &syn, b"");
    }
    call(&mut table, 4000, link(250, 3));
    assert_eq!(known(&table), link(3, 250));
    // From the LAN nobody tells anything.
    let mut table = nothing();
    let syn =
        TcpHeader { options: telling(link(9, 9)), ..Table::segment(Side::Lan, 0, 0, Flags::SYN) };
    table.send(Side::Lan, syn, b"");
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    table.send(Side::Satellite, TcpHeader { options: options(), ..synack }, b"");
    let ack = table.stamp(Table::segment(Side::Lan, 1, 1, Flags::ACK), 600);
    table.send(Side::Lan, ack, b"");
    assert_eq!(known(&table), ToldLink::default());
}

/// A middlebox, or a host's own options, leave room for the flags alone.
#[test]
fn without_room_for_the_link_the_gateway_is_known_all_the_same() {
    let mut options = options();
    options.other = vec![30, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert!(Announcement::default().put(link(3, 250), None, &mut options));
    assert_eq!(Announcement::find(&options, None), Some(Announcement::default()));
    assert!(Announcement::told_link(&options, None).is_empty());
}
