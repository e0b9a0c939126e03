//! Flows that have nothing to do, and what restores them.

use super::*;
use bentpipe_core::units::Rate;

/// After `hibernate_after`; by default two seconds.
fn table(hibernate_after: Duration) -> Table {
    let mut config = Config { hibernate_after, ..Config::default() };
    config.satellite.rate = Some(Rate::from_bits_per_sec(8_000_000));
    config.satellite.round_trip = Some(Duration::from_millis(500));
    let mut table = Table::new(config);
    table.options = TcpOptions { sack_permitted: true, window_scale: Some(7), ..Table::stamped() };
    table
}

fn data(table: &Table, from: Side, seq: u64, ack: u64, value: u32) -> TcpHeader {
    table.stamp(Table::segment(from, seq, ack, Flags::ACK), value)
}

/// A request, a reply that is retransmitted once, half of a goodbye, and silences between them;
/// what is sent and seen meanwhile.
fn story(hibernate_after: Duration) -> Vec<String> {
    let mut table = table(hibernate_after);
    let mut told = Vec::new();
    table.open();
    let segments: [(Side, u64, u64, &[u8]); 7] = [
        (Side::Lan, 1, 1, b"hello"),
        (Side::Satellite, 1, 6, b""),
        (Side::Satellite, 1, 6, b"good evening"),
        (Side::Satellite, 1, 6, b"good evening"),
        (Side::Lan, 6, 13, b""),
        (Side::Lan, 6, 13, b"bye"),
        (Side::Satellite, 13, 9, b""),
    ];
    for (number, (from, seq, ack, payload)) in segments.into_iter().enumerate() {
        let tcp = data(&table, from, seq, ack, 600 + number as u32);
        let mut sent = table.send(from, tcp, payload);
        sent.extend(table.wait(Duration::from_secs(5)));
        told.extend(sent.iter().map(|it| format!("{:?} {:?} {:?}", it.to, it.ip, it.tcp)));
        told.push(format!("{:?}", table.gateway.flow_views(table.now).collect::<Vec<_>>()));
        told.push(format!("{:?}", table.gateway.flow_states().collect::<Vec<_>>()));
        told.push(format!("{:?}", table.gateway.summary()));
    }
    let fin = table.stamp(Table::segment(Side::Lan, 9, 13, Flags::FIN | Flags::ACK), 700);
    table.send(Side::Lan, fin, b"");
    let ack = data(&table, Side::Satellite, 13, 10, 701);
    table.send(Side::Satellite, ack, b"");
    table.wait(Duration::from_secs(5));
    told.push(format!("{:?}", table.gateway.flow_views(table.now).collect::<Vec<_>>()));
    told.push(format!("{:?}", table.gateway.flow_states().collect::<Vec<_>>()));
    told
}

/// What an operator sees of a flow and what its hosts are sent does not depend on its resting.
#[test]
fn a_flow_that_rests_is_seen_and_goes_on_as_any_other() {
    let never = story(Duration::from_secs(1 << 30));
    assert!(never.iter().any(|told| told.contains("HalfClosed")));
    for hibernate_after in
        [Duration::ZERO, Duration::from_secs(1), Config::default().hibernate_after]
    {
        assert_eq!(story(hibernate_after), never);
    }
}

#[test]
fn a_flow_rests_until_something_happens_to_it() {
    let mut table = table(Config::default().hibernate_after);
    table.open();
    assert_eq!(table.gateway.hibernated(), 0);
    table.wait(Duration::from_secs(3));
    assert_eq!(table.gateway.hibernated(), 1);
    // A segment that is not of this connection changes nothing.
    let stray = TcpHeader { src_port: 4001, ..data(&table, Side::Lan, 1, 1, 602) };
    table.send(Side::Lan, stray, b"");
    assert_eq!(table.gateway.hibernated(), 1);
    // One that is far off is answered, and the flow rests on.
    let forged = data(&table, Side::Lan, 1 << 30, 1, 602);
    assert_eq!(table.send(Side::Lan, forged, b"").len(), 1);
    assert_eq!(table.gateway.hibernated(), 1);
    // The connection's own restores it, for as long as there is something to do and two seconds
    // more.
    let request = data(&table, Side::Lan, 1, 1, 603);
    table.send(Side::Lan, request, b"hello");
    table.wait(Duration::from_millis(500));
    assert_eq!(table.gateway.hibernated(), 0);
    let reply = data(&table, Side::Satellite, 1, 6, 604);
    table.send(Side::Satellite, reply, b"");
    table.wait(Duration::from_millis(1_900));
    assert_eq!(table.gateway.hibernated(), 0);
    table.wait(Duration::from_millis(200));
    assert_eq!(table.gateway.hibernated(), 1);
    // Two hours later it is released.
    table.wait(Duration::from_secs(7_200));
    assert_eq!(table.gateway.summary().released(Release::Idle), 1);
    assert_eq!(table.gateway.flows(), 0);
}

#[test]
fn a_drain_and_a_cut_find_flows_at_rest() {
    for cut in [false, true] {
        let mut table = table(Config::default().hibernate_after);
        table.open();
        table.wait(Duration::from_secs(60));
        if cut {
            table.gateway.reset_all(table.now);
        } else {
            table.gateway.drain(table.now);
            assert!(table.gateway.is_drained());
        }
        let resets = table.sent().len();
        let summary = table.gateway.summary();
        assert_eq!(resets, if cut { 2 } else { 0 });
        let (back, reset) = (summary.released(Release::Drain), summary.reset);
        assert_eq!((back, reset), if cut { (0, 1) } else { (1, 0) });
    }
}
