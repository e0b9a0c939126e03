//! What is promised to a client in an acknowledgment right behind the SYN-ACK, as its window is too
//! narrow a field.

use super::*;
use crate::announce::{Announcement, ToldLink};
use bentpipe_core::units::{Bytes, Rate};

/// What fills 15 Mbit/s and 600 ms, and a quarter.
const WINDOW: u64 = 1_406_250;

fn known() -> Config {
    let mut config = Config::default();
    config.satellite.rate = Some(Rate::from_bits_per_sec(15_000_000));
    config.satellite.round_trip = Some(Duration::from_millis(600));
    config
}

fn options() -> TcpOptions {
    TcpOptions { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..Table::stamped() }
}

fn announced() -> TcpOptions {
    let mut options = options();
    assert!(Announcement::default().put(ToldLink::default(), None, &mut options));
    options
}

/// A segment of the client, which comes over the satellite here, or of the server.
fn give(table: &mut Table, from: Side, tcp: &TcpHeader, payload: &[u8]) -> Vec<Transmit> {
    table.give(from.other(), &Table::ip(from), tcp, payload)
}

/// What is sent when a client's SYN with these options, over the satellite, is answered.
fn answered(table: &mut Table, options: TcpOptions, scale: Option<u8>) -> Vec<Transmit> {
    let syn = TcpHeader { options, ..Table::segment(Side::Lan, 0, 0, Flags::SYN) };
    give(table, Side::Lan, &syn, b"");
    let options = TcpOptions { window_scale: scale, ..self::options() };
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    give(table, Side::Satellite, &TcpHeader { options, ..synack }, b"")
}

#[allow(clippy::needless_pass_by_value)]
fn stamped(tcp: TcpHeader) -> TcpHeader {
    let options = TcpOptions {
        timestamps: Some(Timestamps { value: 501, echo: 500 }),
        ..TcpOptions::default()
    };
    TcpHeader { options, ..tcp }
}

#[test]
fn a_peer_gateway_hears_of_the_window_right_behind_the_synack() {
    let mut table = Table::new(known());
    let sent = answered(&mut table, announced(), Some(7));
    let [synack, ack] = &sent[..] else { panic!("two segments, not {sent:?}") };
    assert_eq!((synack.to, synack.tcp.flags), (Side::Satellite, Flags::SYN | Flags::ACK));
    assert_eq!((ack.to, ack.tcp.flags), (Side::Satellite, Flags::ACK));
    assert_eq!((ack.tcp.seq, ack.tcp.ack), (synack.tcp.seq + 1, synack.tcp.ack));
    assert_eq!(ack.tcp.options.timestamps, synack.tcp.options.timestamps);
    let promised = u64::from(ack.tcp.window) << 7;
    assert_eq!(promised, WINDOW >> 7 << 7);
    // Where the SYN-ACK was lost, so was this, as good as.
    let options = TcpOptions { window_scale: Some(7), ..options() };
    let repeated = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    let again = give(&mut table, Side::Satellite, &TcpHeader { options, ..repeated }, b"");
    let windows = |sent: &[Transmit]| sent.iter().map(|sent| sent.tcp.window).collect::<Vec<_>>();
    assert_eq!(windows(&again), windows(&sent));
    // The first segment that arrives is the last one within it: the promise is kept.
    let last = stamped(Table::segment(Side::Lan, promised - 999, 1, Flags::ACK));
    give(&mut table, Side::Lan, &last, &[7; 1000]);
    assert_eq!(table.gateway.summary().split, 1);
    assert!(table.gateway.held() > 0);
}

#[test]
fn nothing_is_promised_where_nobody_could_take_it() {
    let small = Config { max_stream: Some(Bytes::new(60_000)), ..known() };
    let poor = Config { memory: Bytes::new(1 << 20), ..known() };
    let early = Config { handshake: Handshake::DownstreamFirst, ..known() };
    for (what, config, options, scale) in [
        ("no peer", known(), options(), Some(7)),
        ("no scale", known(), announced(), None),
        ("no known link", Config::default(), announced(), Some(7)),
        ("small streams", small, announced(), Some(7)),
        ("no memory", poor, announced(), Some(7)),
        ("the SYN-ACK may come again", early, announced(), Some(7)),
    ] {
        let mut table = Table::new(config);
        let sent = answered(&mut table, options, scale);
        let behind = sent.iter().filter(|sent| sent.to == Side::Satellite).count();
        assert_eq!(behind, 1, "{what}: {sent:?}");
    }
}

/// Opens a connection to a server behind a peer gateway, with that acknowledgment behind the
/// SYN-ACK; how much is sent before anything is acknowledged.
fn first_flight(ack: Option<TcpHeader>) -> i32 {
    let mut table = Table::new(known());
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    table.send(Side::Lan, TcpHeader { options: options(), ..syn }, b"");
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    table.send(Side::Satellite, TcpHeader { options: announced(), ..synack }, b"");
    if let Some(ack) = ack {
        let sent = table.send(Side::Satellite, ack, b"");
        assert!(sent.is_empty(), "{sent:?} goes on");
    }
    let mut sent = Vec::new();
    for number in 0..200 {
        let data = stamped(Table::segment(Side::Lan, 1 + number * 1000, 1, Flags::ACK));
        sent.extend(table.send(Side::Lan, data, &[7; 1000]));
        sent.extend(table.wait(Duration::from_millis(1)));
    }
    let to_server = sent.iter().filter(|sent| sent.to == Side::Satellite);
    let ends = to_server
        .map(|sent| sent.tcp.seq.distance_from(CLIENT_ISN + 1) + sent.payload_len() as i32);
    ends.max().unwrap_or(0)
}

#[test]
fn the_first_flight_is_as_large_as_the_peer_gateway_promises() {
    let behind = || stamped(Table::segment(Side::Satellite, 1, 1, Flags::ACK));
    let wide = TcpHeader { window: (WINDOW >> 7) as u16, ..behind() };
    let [without, with] = [None, Some(wide)].map(first_flight);
    assert!(without <= 60_000, "{without}: the window of a SYN-ACK is not scaled");
    assert!(with > 190_000, "{with}");
}
