//! SYNs and their table.

use super::*;

/// A SYN from the client's port `port`.
fn syn(table: &Table, port: u16) -> TcpHeader {
    let options = table.options.clone();
    TcpHeader { src_port: port, options, ..Table::segment(Side::Lan, 0, 0, Flags::SYN) }
}

/// The server's SYN-ACK to that port.
fn synack(table: &Table, port: u16) -> TcpHeader {
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    TcpHeader { dst_port: port, options: table.options.clone(), ..synack }
}

fn disposition(table: &mut Table, from: Side, tcp: &TcpHeader) -> Disposition {
    table.gateway.handle_packet(table.now, from, &Table::ip(from), tcp, Payload::EMPTY)
}

#[test]
fn half_open_connections_have_a_limit_of_their_own() {
    let mut table = Table::new(Config { max_half_open: 2, ..Config::default() });
    for port in [1, 2] {
        let tcp = syn(&table, port);
        assert_eq!(disposition(&mut table, Side::Lan, &tcp), Disposition::Consumed);
    }
    let third = syn(&table, 3);
    let beyond = Disposition::Forward(Reason::HalfOpen);
    assert_eq!(disposition(&mut table, Side::Lan, &third), beyond);
    // Those that are there go on: the SYN comes again, and its SYN-ACK.
    let again = syn(&table, 1);
    assert_eq!(disposition(&mut table, Side::Lan, &again), Disposition::Consumed);
    let answer = synack(&table, 1);
    assert_eq!(disposition(&mut table, Side::Satellite, &answer), Disposition::Consumed);
    assert_eq!((table.gateway.half_open(), table.gateway.flows()), (1, 2));
    // That made room for another.
    assert_eq!(disposition(&mut table, Side::Lan, &third), Disposition::Consumed);
}

#[test]
fn half_open_connections_take_a_flows_room() {
    let mut table = Table::new(Config { max_flows: 1, ..Config::default() });
    for (port, verdict) in [(1, Disposition::Consumed), (2, Disposition::Forward(Reason::NoRoom))] {
        let tcp = syn(&table, port);
        assert_eq!(disposition(&mut table, Side::Lan, &tcp), verdict);
    }
}

/// G01-D-15: of a connection whose SYN-ACK takes another path nothing is left after a while.
#[test]
fn a_syn_is_forgotten_and_one_that_came_again_later() {
    let mut table = Table::new(Config::default());
    for port in [1, 2] {
        let tcp = syn(&table, port);
        table.send(Side::Lan, tcp, b"");
    }
    table.wait(Duration::from_secs(40));
    let again = syn(&table, 2);
    table.send(Side::Lan, again.clone(), b"");
    table.wait(Duration::from_secs(30));
    assert_eq!(table.gateway.half_open(), 1);
    let late = synack(&table, 1);
    let unknown = Disposition::Forward(Reason::UnknownFlow);
    assert_eq!(disposition(&mut table, Side::Satellite, &late), unknown);
    table.wait(Duration::from_secs(41));
    assert_eq!((table.gateway.flows(), table.gateway.poll_timeout()), (0, None));
}

#[test]
fn a_syn_that_comes_back_from_the_other_side_is_not_the_servers() {
    let mut table = Table::new(Config::default());
    let tcp = syn(&table, 1);
    table.send(Side::Lan, tcp.clone(), b"");
    let looped = table.gateway.handle_packet(
        table.now,
        Side::Satellite,
        &Table::ip(Side::Lan),
        &tcp,
        Payload::EMPTY,
    );
    assert_eq!(looped, Disposition::Forward(Reason::Route));
    assert_eq!(table.gateway.half_open(), 1);
}

#[test]
fn a_refusal_ends_a_half_open_connection_and_a_forged_one_does_not() {
    let mut table = Table::new(Config::default());
    let tcp = syn(&table, 4000);
    table.send(Side::Lan, tcp, b"");
    let refusal = Table::segment(Side::Satellite, 0, 1, Flags::RST | Flags::ACK);
    let forged = TcpHeader { ack: refusal.ack + 1, ..refusal.clone() };
    for (tcp, left, reason) in [(forged, 1, Reason::NotOpened), (refusal, 0, Reason::Refused)] {
        let verdict = disposition(&mut table, Side::Satellite, &tcp);
        assert_eq!(verdict, Disposition::Forward(reason));
        assert_eq!(table.gateway.half_open(), left);
        assert_eq!(table.gateway.summary().forwarded_packets(reason), 1);
    }
}

/// The client gives up before it has been answered.
#[test]
fn a_client_ends_its_half_open_connection_and_a_forger_does_not() {
    for at in [0, 1] {
        let mut table = Table::new(Config::default());
        let tcp = syn(&table, 4000);
        table.send(Side::Lan, tcp, b"");
        let resets = |seq: u64| Table::segment(Side::Lan, seq, 0, Flags::RST);
        for (tcp, left) in [(resets(2), 1), (resets(1 << 31), 1), (resets(at), 0)] {
            disposition(&mut table, Side::Lan, &tcp);
            assert_eq!(table.gateway.half_open(), left, "{tcp:?}");
        }
    }
}

#[test]
fn the_third_syn_goes_out_bare_and_the_first_two_alike() {
    let config = Config { add_options: AddOptions::Always, ..Config::default() };
    let mut table = Table::new(config);
    let tcp = syn(&table, 1);
    let mut sent = || {
        let mut sent = table.send(Side::Lan, tcp.clone(), b"");
        sent.pop().expect("it is sent on").tcp.options
    };
    let (first, second, third) = (sent(), sent(), sent());
    assert_eq!(first, second);
    assert_eq!((first.window_scale, first.sack_permitted), (Some(10), true));
    assert!(first.timestamps.is_some() && first.experiment(0x6270) == Some(&[7]));
    assert_eq!(third, tcp.options);
}

/// There was no room for the client's first SYN, to which a gateway before us had added options;
/// the second one came bare. The server still answers the first.
#[test]
fn a_synack_that_answers_another_syn_than_ours_opens_nothing() {
    let plain = TcpOptions { mss: Some(1460), ..TcpOptions::default() };
    for (opens, answered) in [
        (true, plain.clone()),
        (false, Table::stamped()),
        (false, TcpOptions { window_scale: Some(7), ..plain.clone() }),
        (false, TcpOptions { sack_permitted: true, ..plain }),
    ] {
        let mut table = Table::new(Config::default());
        let bare = syn(&table, 4000);
        assert_eq!(disposition(&mut table, Side::Lan, &bare), Disposition::Consumed);
        let answer = TcpHeader { options: answered, ..synack(&table, 4000) };
        let taken = disposition(&mut table, Side::Satellite, &answer) == Disposition::Consumed;
        assert_eq!(taken, opens, "{answer:?}");
        let ack = Table::segment(Side::Lan, 1, 1, Flags::ACK);
        disposition(&mut table, Side::Lan, &ack);
        assert_eq!(table.gateway.summary().split, u64::from(opens));
    }
}

/// A gateway that adds options to SYNs for port 4000, which a peer has accepted.
fn accepted() -> Table {
    let mut table = Table::new(Config { add_options: AddOptions::Always, ..Config::default() });
    let tcp = syn(&table, 4000);
    for _ in 0..2 {
        table.send(Side::Lan, tcp.clone(), b"");
    }
    let options = TcpOptions { window_scale: Some(10), ..Table::stamped() };
    let answer = TcpHeader { options, ..synack(&table, 4000) };
    table.send(Side::Satellite, answer, b"");
    table
}

/// The client's SYN comes a third time because the SYN-ACK to it was lost: a bare copy would make
/// the peer take the options back.
#[test]
fn a_syn_that_was_answered_goes_out_with_what_was_accepted() {
    let mut table = accepted();
    let tcp = syn(&table, 4000);
    let sent = table.send(Side::Lan, tcp, b"");
    assert_eq!(sent[0].tcp.options.window_scale, Some(10));
    assert!(sent[0].tcp.options.timestamps.is_some());
}

/// Fault seed 1944787: a SYN with other numbers, forged in the name of a host, before the client
/// has answered the SYN-ACK, or before that has come. The hosts cannot go on by themselves with
/// what we have added.
#[test]
fn a_forged_syn_does_not_part_us_from_a_connection_with_added_options() {
    for flags in [Flags::SYN, Flags::SYN | Flags::FIN, Flags::SYN | Flags::ACK] {
        for (from, answered) in [
            (Side::Lan, false),
            (Side::Lan, true),
            (Side::Satellite, false),
            (Side::Satellite, true),
        ] {
            let mut table = Table::new(Config {
                add_options: AddOptions::Always,
                announce: false,
                ..Config::default()
            });
            let forged = Table::segment(from, 1 << 30, 1 << 30, flags);
            let tcp = syn(&table, 4000);
            table.send(Side::Lan, tcp, b"");
            if !answered {
                assert!(matches!(disposition(&mut table, from, &forged), Disposition::Forward(_)));
            }
            let answer = TcpHeader { options: Table::stamped(), ..synack(&table, 4000) };
            table.send(Side::Satellite, answer, b"");
            if answered {
                assert!(matches!(disposition(&mut table, from, &forged), Disposition::Forward(_)));
            }
            let data = Table::segment(Side::Lan, 1, 1, Flags::ACK);
            let sent = table.send(Side::Lan, data, b"hello");
            let onwards = sent.iter().find(|sent| sent.payload_len() == 5).expect("it is sent on");
            assert!(onwards.tcp.options.timestamps.is_some());
        }
    }
}

/// A client that begins anew is challenged by the server, which it then resets.
#[test]
fn a_client_may_begin_anew_where_options_were_added() {
    let mut table = accepted();
    let anew = TcpHeader { seq: CLIENT_ISN + (1 << 30), ..syn(&table, 4000) };
    assert!(matches!(disposition(&mut table, Side::Lan, &anew), Disposition::Forward(_)));
    let challenge = table.stamp(Table::segment(Side::Satellite, 1, 1, Flags::ACK), 501);
    let forwarded = Disposition::Forward(Reason::NotOpened);
    assert_eq!(disposition(&mut table, Side::Satellite, &challenge), forwarded);
    let reset = Table::segment(Side::Lan, 1, 0, Flags::RST);
    let given_up = Disposition::Forward(Reason::Aborted);
    assert_eq!(disposition(&mut table, Side::Lan, &reset), given_up);
    assert_eq!(disposition(&mut table, Side::Lan, &anew), Disposition::Consumed);
}

/// A bare copy that was on its way makes the peer take the options back, before the client has
/// answered.
#[test]
fn options_that_the_peer_takes_back_are_not_used() {
    for (taken_back, stamped) in [(false, true), (true, false)] {
        let mut table = accepted();
        if taken_back {
            let answer = synack(&table, 4000);
            table.send(Side::Satellite, answer, b"");
        }
        let data = Table::segment(Side::Lan, 1, 1, Flags::ACK);
        let sent = table.send(Side::Lan, data, b"hello");
        let onwards = sent.iter().find(|sent| sent.payload_len() == 5).expect("it is sent on");
        assert_eq!(onwards.tcp.options.timestamps.is_some(), stamped);
    }
}

/// Fault seed 1805356: there was no room here for the client's first SYN. The answer to it reaches
/// the peer before ours, and has nothing of what the peer offers by now: so it goes without.
#[test]
fn a_peer_that_has_taken_another_synack_goes_without_what_it_added() {
    for stamped in [true, false] {
        let mut table = Table::new(Config::default());
        let [near, far] = [Side::Lan, Side::Satellite].map(Table::ip);
        let mut added = TcpOptions { window_scale: Some(10), ..Table::stamped() };
        assert!(added.add_experiment(0x6270, &[0b101]));
        let tcp = TcpHeader { options: added, ..syn(&table, 4000) };
        table.give(Side::Satellite, &near, &tcp, b"");
        let answer = synack(&table, 4000);
        let sent = table.give(Side::Lan, &far, &answer, b"");
        assert_eq!(sent[0].tcp.options.window_scale, Some(10));
        let mut data = Table::segment(Side::Lan, 1, 1, Flags::ACK);
        data.options.timestamps = stamped.then_some(Timestamps { value: 501, echo: 500 });
        let mut sent = table.give(Side::Satellite, &near, &data, b"hello");
        sent.extend(table.wait(Duration::from_millis(50)));
        assert!(sent.iter().any(|sent| sent.payload_len() == 5), "{sent:?}");
        // Whoever keeps account of windows on the way hears what counts.
        let again = sent.iter().find(|sent| sent.tcp.has(Flags::SYN));
        assert_eq!(again.map(|sent| sent.tcp.options.window_scale), (!stamped).then_some(None));
        let mut acks = sent.iter().filter(|sent| !sent.tcp.has(Flags::SYN));
        let ack = acks.find(|sent| sent.to == Side::Satellite).expect("it is acknowledged");
        assert_eq!(ack.tcp.options.timestamps.is_some(), stamped);
        assert_eq!(ack.tcp.window < 1_000, stamped, "in units of 1 KiB or of a byte: {ack:?}");
    }
}

/// Without timestamps a peer would not notice that this gateway has left, and go on with scaled
/// windows.
#[test]
fn a_window_scale_is_added_only_together_with_timestamps() {
    let mut table = Table::new(Config { add_options: AddOptions::Always, ..Config::default() });
    table.options = Table::stamped();
    let tcp = syn(&table, 4000);
    let sent = table.send(Side::Lan, tcp, b"");
    assert_eq!(
        (sent[0].tcp.options.window_scale, sent[0].tcp.options.sack_permitted),
        (None, true)
    );
}

/// Fault seed 365525: a peer that did not hear us for long sends what it holds, and its first
/// segments are lost. The server would have answered the others without our timestamps.
#[test]
fn what_lies_beyond_a_syn_acks_window_does_not_reach_the_server() {
    let mut table = Table::new(Config::default());
    let tcp = syn(&table, 1);
    table.send(Side::Lan, tcp, b"");
    let answer = synack(&table, 1);
    table.send(Side::Satellite, answer, b"");
    let data = |seq, ack| TcpHeader {
        src_port: 1,
        ..table.stamp(Table::segment(Side::Lan, seq, ack, Flags::ACK), 1)
    };
    let (beyond, other, within) = (data(70_000, 1), data(70_000, 2), data(5_000, 1));
    assert_eq!(disposition(&mut table, Side::Lan, &beyond), Disposition::Consumed);
    assert_eq!(table.gateway.held(), 0);
    let unknown = Disposition::Forward(Reason::NotOpened);
    assert_eq!(disposition(&mut table, Side::Lan, &other), unknown);
    assert_eq!(disposition(&mut table, Side::Lan, &within), Disposition::Consumed);
    assert_eq!(table.gateway.half_open(), 0);
}

/// Fault seed 60188547: the client's segments take another path by now, and the server acknowledges
/// them. What it has said by way of us has later timestamps than our own would, so that its client
/// would drop these.
#[test]
fn a_handshake_that_goes_on_past_us_is_left_alone() {
    for (acked, leaves) in [(1, false), (101, true), (70_000, false)] {
        let mut table = Table::new(Config::default());
        table.send(Side::Lan, Table::segment(Side::Lan, 0, 0, Flags::SYN), b"");
        let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
        table.send(Side::Satellite, synack, b"");
        assert_eq!(table.gateway.flows(), 1);
        let ack = Table::segment(Side::Satellite, 1, acked, Flags::ACK);
        let ip = Table::ip(Side::Satellite);
        let verdict =
            table.gateway.handle_packet(table.now, Side::Satellite, &ip, &ack, Payload::EMPTY);
        let reason = if leaves { Reason::OneWay } else { Reason::NotOpened };
        assert_eq!(verdict, Disposition::Forward(reason), "{acked}");
        assert_eq!(table.gateway.flows(), usize::from(!leaves), "{acked}");
    }
}

/// Fault seed 70086552: the client's data reaches the server before its acknowledgment of the
/// SYN-ACK, on another path, and the server answers by way of us. The flow's first segment is not
/// older than that, for which its client would drop it.
#[test]
fn a_flow_begins_with_the_latest_clock_that_was_forwarded() {
    for (seq, ack, later, first) in
        [(1, 1, 500, 500), (1, 1, 5, 7), (101, 1, 500, 7), (1, 70_000, 500, 7)]
    {
        let mut table = Table::new(Config::default());
        let stamped = |tcp: TcpHeader, value| TcpHeader {
            options: TcpOptions {
                timestamps: Some(Timestamps { value, echo: 0 }),
                ..tcp.options.clone()
            },
            ..tcp
        };
        table.send(Side::Lan, stamped(Table::segment(Side::Lan, 0, 0, Flags::SYN), 3), b"");
        let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
        table.send(Side::Satellite, stamped(synack, 7), b"");
        table.send(
            Side::Satellite,
            stamped(Table::segment(Side::Satellite, seq, ack, Flags::ACK), later),
            b"",
        );
        table.send(Side::Lan, stamped(Table::segment(Side::Lan, 1, 1, Flags::ACK), 3), b"");
        let sent =
            table.send(Side::Lan, stamped(Table::segment(Side::Lan, 1, 1, Flags::ACK), 4), b"data");
        let to_client = sent.iter().find(|sent| sent.to == Side::Lan).expect("it is acknowledged");
        let value = to_client.tcp.options.timestamps.map(|ts| ts.value);
        assert_eq!(value, Some(first), "{seq} {ack} {later}");
    }
}
