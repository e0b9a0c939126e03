//! What an operator is shown.

use super::*;
use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::units::Bytes;

fn bytes(a: u64, b: u64, c: u64) -> (Bytes, Bytes, Bytes) {
    (Bytes::new(a), Bytes::new(b), Bytes::new(c))
}

fn only_view(table: &Table) -> FlowView {
    let mut views = table.gateway.flow_views(table.now);
    let view = views.next().unwrap();
    assert!(views.next().is_none());
    view
}

/// G01-D-1: each connection has an endpoint towards either host.
#[test]
fn a_flow_is_shown_from_its_first_syn_to_its_end() {
    let mut table = Table::new(Config::default());
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    table.send(Side::Lan, TcpHeader { options: table.options.clone(), ..syn }, b"");
    table.wait(Duration::from_millis(200));
    // Without a SYN-ACK it is counted only.
    assert!(table.gateway.flow_views(table.now).next().is_none());
    assert_eq!(table.gateway.flow_states().collect::<Vec<_>>(), [FlowState::Opening]);
    table.send(
        Side::Satellite,
        TcpHeader {
            options: table.options.clone(),
            ..Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK)
        },
        b"",
    );
    let view = only_view(&table);
    assert_eq!((view.state, view.legs), (FlowState::Opening, None));
    assert_eq!(view.client, "10.0.0.1:4000".parse().unwrap());
    assert_eq!(view.server, "10.9.9.9:80".parse().unwrap());
    assert_eq!(view.age, Duration::from_millis(200));

    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"hello");
    table.wait(Duration::from_millis(800));
    let view = only_view(&table);
    assert_eq!(view.state, FlowState::Open);
    assert_eq!((view.age, view.idle), (Duration::from_secs(1), Duration::from_millis(800)));
    assert!(view.held >= Bytes::new(5));
    let [client, server] = view.legs.unwrap();
    assert_eq!((client.side, server.side), (Side::Lan, Side::Satellite));
    assert_eq!((client.received, client.delivered), (Bytes::new(5), Bytes::new(0)));
    assert_eq!((server.delivered, server.backlog, server.in_flight), bytes(0, 5, 5));
    assert_eq!(server.goodput.bits_per_sec(), 0);
    // Neither leg has anything more to send.
    assert_eq!([client.limiter, server.limiter], [Some(Limiter::Application); 2]);
    assert_eq!((server.srtt, server.min_rtt), (None, None));

    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 6, Flags::ACK), b"");
    let [_, server] = only_view(&table).legs.unwrap();
    assert_eq!((server.delivered, server.backlog, server.in_flight), bytes(5, 0, 0));
    assert_eq!(server.goodput.bits_per_sec(), 40, "five bytes in a second");
    assert_eq!(server.min_rtt, server.srtt, "measured once");

    let fin = Table::segment(Side::Lan, 6, 1, Flags::FIN | Flags::ACK);
    table.send(Side::Lan, fin, b"");
    assert_eq!(only_view(&table).state, FlowState::HalfClosed);
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 7, Flags::ACK), b"");
    let [client, server] = only_view(&table).legs.unwrap();
    assert_eq!((client.received, server.delivered), (Bytes::new(5), Bytes::new(5)), "no FIN");
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 7, Flags::RST), b"");
    // When it is over it is counted only.
    assert!(table.gateway.flow_views(table.now).next().is_none());
    assert_eq!(table.gateway.flow_states().collect::<Vec<_>>(), [FlowState::Over]);
}

#[test]
fn a_retransmission_shows_on_its_leg() {
    let mut table = Table::new(Config::default());
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"hello");
    table.wait(Duration::from_secs(5));
    let [client, server] = only_view(&table).legs.unwrap();
    assert!(server.retransmissions > 0 && server.timeouts > 0);
    assert_eq!(server.retransmitted, Bytes::new(5 * server.retransmissions));
    assert_eq!((client.retransmissions, client.timeouts), (0, 0));
}

#[test]
fn what_is_taken_and_what_is_forwarded_add_up_to_what_came() {
    let mut table = Table::new(Config::default());
    table.open();
    // Three segments of handshake with their options (MSS on two of them).
    let taken = table.gateway.summary().split_traffic;
    assert_eq!((taken.packets, taken.bytes), (3, 3 * 40 + 2 * 4));
    let unknown = TcpHeader { src_port: 9, ..Table::segment(Side::Lan, 1, 1, Flags::ACK) };
    table.send(Side::Lan, unknown, &[0; 100]);
    table.gateway.count_foreign(1_500);
    let summary = table.gateway.summary();
    assert_eq!(summary.forwarded(Reason::UnknownFlow), Traffic { packets: 1, bytes: 140 });
    assert_eq!(summary.forwarded(Reason::NotTcp), Traffic { packets: 1, bytes: 1_500 });
    assert_eq!(summary.all_forwarded(), Traffic { packets: 2, bytes: 1_640 });
    assert_eq!(summary.split_traffic, taken);
}
