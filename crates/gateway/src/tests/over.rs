//! Flows that are over, and who has not heard of it.

use super::*;

const FIN: Flags = Flags(Flags::FIN.0 | Flags::ACK.0);

/// A connection that both hosts have ended; what the client and the server were told last.
fn closed(options: TcpOptions) -> (Table, [TcpHeader; 2]) {
    let mut table = Table::new(Config::default());
    table.options = options;
    table.open();
    let mut sent = Vec::new();
    for (from, seq, ack, flags) in
        [(Side::Lan, 1, 1, FIN), (Side::Satellite, 1, 2, FIN), (Side::Lan, 2, 2, Flags::ACK)]
    {
        let tcp = table.stamp(Table::segment(from, seq, ack, flags), 600 + seq as u32);
        sent.extend(table.send(from, tcp, b""));
    }
    sent.extend(table.wait(Duration::from_millis(100)));
    assert_eq!(table.gateway.summary().closed, 1);
    assert_eq!(table.gateway.flow_states().collect::<Vec<_>>(), [FlowState::Over]);
    let last = |to| sent.iter().rfind(|one| one.to == to).expect("acknowledged").tcp.clone();
    (table, [last(Side::Lan), last(Side::Satellite)])
}

#[test]
fn a_fin_that_comes_again_is_acknowledged_as_before() {
    for options in [Table::stamped(), TcpOptions { mss: Some(1460), ..TcpOptions::default() }] {
        let (mut table, last) = closed(options);
        for ((from, seq), last) in [(Side::Lan, 1), (Side::Satellite, 1)].into_iter().zip(&last) {
            let fin = table.stamp(Table::segment(from, seq, 1, FIN), 601);
            let sent = table.send(from, fin, b"");
            let [answer] = &sent[..] else { panic!("one answer, not {sent:?}") };
            assert_eq!((answer.to, Table::unnumbered(answer.ip)), (from, Table::ip(from.other())));
            let next = last.seq + u64::from(last.has(Flags::FIN));
            assert_eq!((answer.tcp.seq, answer.tcp.flags), (next, Flags::ACK), "{from:?}");
            assert_eq!((answer.tcp.ack, answer.tcp.window), (last.ack, last.window));
            let ports = (answer.tcp.src_port, answer.tcp.dst_port);
            assert_eq!(ports, (last.src_port, last.dst_port));
            assert_eq!(answer.tcp.options.timestamps.is_some(), last.options.timestamps.is_some());
        }
        // What is acceptable says nothing new; what is not is challenged twice a second.
        let ack = table.stamp(Table::segment(Side::Lan, 2, 2, Flags::ACK), 602);
        assert!(table.send(Side::Lan, ack, b"").is_empty());
        let far = table.stamp(Table::segment(Side::Lan, 1 << 30, 2, Flags::ACK), 603);
        let mut answers = || table.send(Side::Lan, far.clone(), b"").len();
        assert_eq!((answers(), answers()), (1, 0));
        table.wait(Duration::from_secs(17));
        assert_eq!((table.gateway.flows(), table.gateway.poll_timeout()), (0, None));
    }
}

#[test]
fn a_port_that_is_used_again_is_another_connection() {
    let (mut table, _) = closed(Table::stamped());
    // From the wrong side it is nobody's.
    let syn =
        TcpHeader { options: Table::stamped(), ..Table::segment(Side::Lan, 0, 0, Flags::SYN) };
    let verdict = table.gateway.handle_packet(
        table.now,
        Side::Satellite,
        &Table::ip(Side::Lan),
        &syn,
        Payload::EMPTY,
    );
    assert_eq!(verdict, Disposition::Forward(Reason::Route));
    let sent = table.send(Side::Lan, syn, b"");
    assert_eq!((sent.len(), sent[0].to, sent[0].tcp.flags), (1, Side::Satellite, Flags::SYN));
    assert_eq!(table.gateway.flow_states().collect::<Vec<_>>(), [FlowState::Opening]);
}

#[test]
fn who_has_not_taken_a_reset_is_told_again_where_it_says() {
    let mut table = Table::new(Config::default());
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::RST), b"");
    assert_eq!(table.gateway.flow_states().collect::<Vec<_>>(), [FlowState::Over]);
    let data = Table::segment(Side::Satellite, 1, 1, Flags::ACK);
    let sent = table.send(Side::Satellite, data.clone(), b"x");
    assert_eq!((sent.len(), sent[0].to, sent[0].tcp.seq), (1, Side::Satellite, data.ack));
    assert!(sent[0].tcp.has(Flags::RST));
    // Resets are not answered, or two gateways would go on for ever.
    let reset = Table::segment(Side::Satellite, 1, 1, Flags::RST);
    assert!(table.send(Side::Satellite, reset, b"").is_empty());
    table.wait(Duration::from_secs(17));
    assert_eq!(table.gateway.flows(), 0);
}

/// Fault seed 94514114: the client has called again while nothing was known yet of its reset, and
/// that SYN was forwarded. A RST for the answer would end what the client waits for.
#[test]
fn the_answer_to_another_syn_is_not_reset() {
    let mut table = Table::new(Config::default());
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::RST), b"");
    assert_eq!(table.gateway.flow_states().collect::<Vec<_>>(), [FlowState::Over]);
    // The flow's own is.
    let own = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    assert!(table.send(Side::Satellite, own, b"")[0].tcp.has(Flags::RST));
    let synack = Table::segment(Side::Satellite, 90_000, 70_001, Flags::SYN | Flags::ACK);
    let ack = Table::segment(Side::Lan, 70_001, 90_001, Flags::ACK);
    for (from, tcp) in [(Side::Satellite, synack), (Side::Lan, ack)] {
        let ip = Table::ip(from);
        let verdict = table.gateway.handle_packet(table.now, from, &ip, &tcp, Payload::EMPTY);
        assert_eq!(verdict, Disposition::Forward(Reason::UnknownFlow));
        assert!(table.sent().is_empty());
    }
    assert_eq!(table.gateway.flows(), 0);
}

/// When after the client's reset the server is sent one, in seconds.
fn resets_to_the_server(table: &mut Table) -> Vec<u64> {
    let mut at = Vec::new();
    for second in 1..=16 {
        let sent = table.wait(Duration::from_secs(1));
        for one in &sent {
            assert_eq!((one.to, one.tcp.has(Flags::RST)), (Side::Satellite, true));
            at.push(second);
        }
    }
    assert_eq!((table.gateway.flows(), table.gateway.poll_timeout()), (0, None));
    at
}

#[test]
fn a_reset_is_repeated_as_it_may_be_lost_and_nothing_would_bring_another() {
    let mut table = Table::new(Config::default());
    table.open();
    let sent = table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::RST), b"");
    assert_eq!((sent.len(), sent[0].to), (1, Side::Satellite));
    // After 1, 2 and 4 s more; not to the client, which has reset.
    assert_eq!(resets_to_the_server(&mut table), [1, 3, 7]);
}

#[test]
fn who_resets_in_turn_is_not_told_again() {
    let mut table = Table::new(Config::default());
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::RST), b"");
    table.wait(Duration::from_millis(1500));
    let reset = Table::segment(Side::Satellite, 1, 1, Flags::RST);
    assert!(table.send(Side::Satellite, reset, b"").is_empty());
    assert_eq!(resets_to_the_server(&mut table), []);
}

#[test]
fn flows_that_are_over_take_no_place() {
    let config = Config { max_flows: 1, max_flows_per_client: 1, ..Config::default() };
    let mut table = Table::new(config);
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::RST), b"");
    let other = TcpHeader { src_port: 4001, ..Table::segment(Side::Lan, 0, 0, Flags::SYN) };
    assert_eq!(table.send(Side::Lan, other, b"").len(), 1);
    assert_eq!(table.gateway.flows(), 2);
}
