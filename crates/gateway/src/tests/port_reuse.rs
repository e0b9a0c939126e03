//! Aborts, and SYNs from the same ports.

use super::*;

const RST: Flags = Flags::RST;
const SYN: Flags = Flags::SYN;
/// The client's next connection begins there.
const NEXT_ISN: SeqNum = SeqNum(77_000_000);

fn next_syn(options: &TcpOptions) -> TcpHeader {
    TcpHeader {
        seq: NEXT_ISN,
        options: options.clone(),
        ..Table::segment(Side::Lan, 0, 0, Flags::SYN)
    }
}

/// The client has sent 5,000 bytes; the server has closed its window, and answers every probe.
fn stalled(options: TcpOptions) -> Table {
    let mut table = Table::new(Config::default());
    table.options = options;
    table.open();
    let closed = TcpHeader { window: 0, ..Table::segment(Side::Satellite, 1, 1, Flags::ACK) };
    let closed = table.stamp(closed, 600);
    table.send(Side::Satellite, closed, b"");
    for seq in [1, 1001, 2001, 3001, 4001] {
        let data = table.stamp(Table::segment(Side::Lan, seq, 1, Flags::ACK), 502);
        table.send(Side::Lan, data, &[7; 1000]);
    }
    assert!(table.gateway.held() >= 5000);
    table
}

fn abort(table: &mut Table) -> Vec<Transmit> {
    table.send(Side::Lan, Table::segment(Side::Lan, 5001, 1, RST), b"")
}

/// To whom, and with which flags.
fn flags(sent: &[Transmit]) -> Vec<(Side, Flags)> {
    sent.iter().map(|one| (one.to, one.tcp.flags)).collect()
}

fn has_given_way(table: &Table, sent: &[Transmit]) {
    let [.., reset, syn] = sent else { panic!("a RST and a SYN, not {sent:?}") };
    assert_eq!((reset.to, reset.tcp.has(RST)), (Side::Satellite, true), "{sent:?}");
    assert_eq!((syn.to, syn.tcp.flags, syn.tcp.seq), (Side::Satellite, SYN, NEXT_ISN));
    let summary = table.gateway.summary();
    assert_eq!((summary.reset, summary.lost_bytes), (1, 5000));
    assert_eq!(table.gateway.flow_states().collect::<Vec<_>>(), [FlowState::Opening]);
    assert_eq!(table.gateway.held(), 0);
}

#[test]
fn a_syn_from_the_host_that_has_reset_ends_the_drain() {
    for options in [Table::stamped(), TcpOptions { mss: Some(1460), ..TcpOptions::default() }] {
        let mut table = stalled(options.clone());
        assert!(abort(&mut table).iter().all(|one| !one.tcp.has(RST)), "it is behind the data");
        let sent = table.send(Side::Lan, next_syn(&options), b"");
        let [question] = &sent[..] else { panic!("one answer, not {sent:?}") };
        assert_eq!((question.to, question.tcp.flags), (Side::Lan, Flags::ACK));
        // Below what the client expects, so that it answers in any state.
        assert_eq!(question.tcp.seq, SERVER_ISN);
        assert_eq!(question.tcp.options.timestamps.is_some(), options.timestamps.is_some());
        // As hosts do in SYN-SENT, and where there is no connection.
        let answer = TcpHeader { seq: question.tcp.ack, ..Table::segment(Side::Lan, 0, 0, RST) };
        let sent = table.send(Side::Lan, answer, b"");
        has_given_way(&table, &sent);
        let next: Vec<Event> = std::iter::from_fn(|| table.gateway.poll_event()).collect();
        assert!(matches!(next[..], [.., Event::Reset(_, 5000)]), "{next:?}");
    }
}

#[test]
fn where_no_answer_comes_the_syn_is_believed_when_it_comes_again() {
    let mut table = stalled(TcpOptions::default());
    abort(&mut table);
    let syn = next_syn(&TcpOptions::default());
    table.send(Side::Lan, syn.clone(), b"");
    table.wait(Duration::from_millis(300));
    assert!(table.send(Side::Lan, syn.clone(), b"").is_empty(), "not so soon");
    table.wait(Duration::from_millis(700));
    let sent = table.send(Side::Lan, syn, b"");
    has_given_way(&table, &sent);
}

/// Whoever guesses a RST has reset the connection; the bytes before it arrive all the same.
#[test]
fn a_forged_reset_and_a_forged_syn_do_not_end_the_drain() {
    let mut table = stalled(Table::stamped());
    abort(&mut table);
    for round in 0..5 {
        let isn = NEXT_ISN + u64::from(round);
        let forged = TcpHeader { seq: isn, ..next_syn(&Table::stamped()) };
        table.send(Side::Lan, forged.clone(), b"");
        // The client's connection is as it was: it acknowledges what lies below its window.
        let ack = table.stamp(Table::segment(Side::Lan, 5001, 1, Flags::ACK), 700 + 2 * round);
        table.send(Side::Lan, ack, b"");
        table.wait(Duration::from_secs(1));
        table.send(Side::Lan, forged, b"");
        let ack = table.stamp(Table::segment(Side::Lan, 5001, 1, Flags::ACK), 701 + 2 * round);
        table.send(Side::Lan, ack, b"");
    }
    assert_eq!(table.gateway.flow_states().collect::<Vec<_>>(), [FlowState::Draining]);
    assert_eq!(table.gateway.summary().lost_bytes, 0);
}

#[test]
fn only_a_new_syn_of_the_host_that_has_reset_counts() {
    let mut table = stalled(TcpOptions::default());
    abort(&mut table);
    for _ in 0..5 {
        // The old connection's SYN, which was late, and one of the other host.
        table.send(Side::Lan, Table::segment(Side::Lan, 0, 0, SYN), b"");
        let other = Table::segment(Side::Satellite, 9_000, 0, SYN);
        table.send(Side::Satellite, other, b"");
        table.wait(Duration::from_secs(1));
    }
    assert_eq!(table.gateway.flow_states().collect::<Vec<_>>(), [FlowState::Draining]);
}

/// No host listens to such a segment.
#[test]
fn what_is_more_than_a_syn_is_none() {
    for more in [RST, Flags::FIN, Flags::ACK] {
        let mut table = stalled(TcpOptions::default());
        abort(&mut table);
        for _ in 0..2 {
            let syn = next_syn(&TcpOptions::default());
            let sent = table.send(Side::Lan, TcpHeader { flags: SYN | more, ..syn }, b"");
            assert!(sent.is_empty(), "{more:?} is answered by {sent:?}");
            table.wait(Duration::from_secs(1));
        }
        assert!(table.gateway.held() >= 5000, "{more:?}");
    }
}

/// It has crashed, and its first SYN is challenged on an open flow: the RST that answers is both.
#[test]
fn a_host_that_has_forgotten_the_connection_opens_another() {
    let mut table = stalled(Table::stamped());
    let sent = table.send(Side::Lan, next_syn(&Table::stamped()), b"");
    let [challenge] = &sent[..] else { panic!("one answer, not {sent:?}") };
    let answer = TcpHeader { seq: challenge.tcp.ack, ..Table::segment(Side::Lan, 0, 0, RST) };
    let sent = table.send(Side::Lan, answer, b"");
    has_given_way(&table, &sent);
}

/// A SYN of long ago does not open anything when its host resets for another reason.
#[test]
fn a_reset_long_after_a_forged_syn_is_a_reset() {
    let mut table = stalled(Table::stamped());
    table.send(Side::Lan, next_syn(&Table::stamped()), b"");
    table.wait(Duration::from_secs(10));
    abort(&mut table);
    assert_eq!(table.gateway.flow_states().collect::<Vec<_>>(), [FlowState::Draining]);
}

/// Its FIN was acknowledged: it was told that all will arrive.
fn ended_in_order(table: &mut Table) {
    let fin = Table::segment(Side::Lan, 5001, 1, Flags::FIN | Flags::ACK);
    table.send(Side::Lan, fin, b"");
    table.wait(Duration::from_secs(31));
    table.send(Side::Lan, Table::segment(Side::Lan, 5002, 1, RST), b"");
    assert_eq!(table.gateway.flow_states().collect::<Vec<_>>(), [FlowState::Draining]);
}

#[test]
fn the_bytes_of_a_host_that_ended_in_order_are_delivered_first() {
    let mut table = stalled(TcpOptions::default());
    // The server reads.
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 1, Flags::ACK), b"");
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 101, Flags::ACK), b"");
    ended_in_order(&mut table);
    for round in 2..5 {
        table.send(Side::Lan, next_syn(&TcpOptions::default()), b"");
        let reads = Table::segment(Side::Satellite, 1, 100 * round, Flags::ACK);
        table.send(Side::Satellite, reads, b"");
        table.wait(Duration::from_secs(1));
    }
    assert_eq!(table.gateway.flow_states().collect::<Vec<_>>(), [FlowState::Draining]);
    // The next SYN comes after all of it.
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 5002, Flags::ACK), b"");
    let sent = table.send(Side::Lan, next_syn(&TcpOptions::default()), b"");
    assert!(flags(&sent).contains(&(Side::Satellite, SYN)), "{sent:?}");
    assert_eq!(table.gateway.summary().lost_bytes, 0);
}

#[test]
fn the_bytes_of_a_host_that_ended_in_order_do_not_wait_for_one_that_has_stopped_reading() {
    let mut table = stalled(TcpOptions::default());
    ended_in_order(&mut table);
    table.send(Side::Lan, next_syn(&TcpOptions::default()), b"");
    table.wait(Duration::from_secs(1));
    let sent = table.send(Side::Lan, next_syn(&TcpOptions::default()), b"");
    assert!(flags(&sent).contains(&(Side::Satellite, SYN)), "{sent:?}");
}

/// The RST and the SYN come in one burst, before anything was sent.
#[test]
fn a_reset_that_was_not_yet_sent_goes_before_the_syn() {
    let mut table = Table::new(Config::default());
    table.open();
    let ip = Table::ip(Side::Lan);
    for tcp in [Table::segment(Side::Lan, 1, 1, RST), next_syn(&TcpOptions::default())] {
        table.gateway.handle_packet(table.now, Side::Lan, &ip, &tcp, Payload::EMPTY);
    }
    let sent = flags(&table.sent());
    assert_eq!(sent, [(Side::Satellite, RST | Flags::ACK), (Side::Satellite, SYN)]);
}
