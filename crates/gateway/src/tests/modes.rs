//! FINs hop by hop, and servers that are answered before their clients have answered.

use super::*;
use crate::{FinMode, Handshake};
use bentpipe_core::units::Rate;

const FIN: Flags = Flags(Flags::FIN.0 | Flags::ACK.0);
const SYN_ACK: Flags = Flags(Flags::SYN.0 | Flags::ACK.0);

/// Segments to a side: sequence number and acknowledgment as offsets, length and flags.
fn to(side: Side, sent: &[Transmit]) -> Vec<(i32, i32, usize, Flags)> {
    let (ours, theirs) =
        if side == Side::Lan { (SERVER_ISN, CLIENT_ISN) } else { (CLIENT_ISN, SERVER_ISN) };
    let offsets = |tcp: &TcpHeader| (tcp.seq.distance_from(ours), tcp.ack.distance_from(theirs));
    sent.iter()
        .filter(|sent| sent.to == side)
        .map(|sent| (offsets(&sent.tcp), sent.payload_len(), sent.tcp.flags))
        .map(|((seq, ack), len, flags)| (seq, ack, len, flags))
        .collect()
}

fn immediate() -> Table {
    Table::new(Config { fin: FinMode::Immediate, ..Config::default() })
}

/// G01-D-10: a FIN is acknowledged at once and follows what is held; a while after both nothing is
/// left of the flow.
#[test]
fn a_fin_is_acknowledged_at_once_where_that_is_asked_for() {
    let mut table = immediate();
    table.open();
    let sent = table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, FIN), b"hello");
    assert_eq!(to(Side::Lan, &sent), [(1, 7, 0, Flags::ACK)], "the data and the FIN");
    let [(1, 1, 5, flags)] = to(Side::Satellite, &sent)[..] else { panic!("{sent:?}") };
    assert!(flags.contains(FIN), "the FIN goes with what precedes it");
    // The server acknowledges, and ends as well.
    let fin = Table::segment(Side::Satellite, 1, 7, FIN);
    let sent = table.send(Side::Satellite, fin, b"");
    assert_eq!(to(Side::Satellite, &sent), [(7, 2, 0, Flags::ACK)]);
    table.send(Side::Lan, Table::segment(Side::Lan, 7, 2, Flags::ACK), b"");
    assert_eq!((table.gateway.summary().closed, table.gateway.held()), (1, 0));
    table.wait(Duration::from_secs(5));
    assert_eq!(table.gateway.flows(), 0, "freed within five seconds");
}

/// G01-D-10: what precedes the FIN is not dropped with it.
#[test]
fn what_precedes_an_acknowledged_fin_is_delivered_or_counted() {
    let mut table = immediate();
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, FIN), b"hello");
    // Lost; the client's connection is over for it.
    let sent = table.wait(Duration::from_secs(3));
    assert!(to(Side::Satellite, &sent).iter().any(|&(seq, _, len, _)| (seq, len) == (1, 5)));
    // A server that never answers: nobody ends in order, and the bytes are in the log.
    table.wait(Duration::from_secs(7000));
    let summary = table.gateway.summary();
    assert_eq!((summary.closed, summary.reset, summary.lost_bytes), (0, 1, 5));
}

/// H-D-19: by default a FIN is acknowledged when the far host has done so.
#[test]
fn a_fin_is_acknowledged_end_to_end_by_default() {
    let mut table = Table::new(Config::default());
    table.open();
    let sent = table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, FIN), b"hello");
    assert_eq!(to(Side::Lan, &sent), [(1, 6, 0, Flags::ACK)], "the data, not the FIN");
    let ack = Table::segment(Side::Satellite, 1, 7, Flags::ACK);
    let sent = table.send(Side::Satellite, ack, b"");
    assert_eq!(to(Side::Lan, &sent), [(1, 7, 0, Flags::ACK)]);
}

/// The client on the LAN, as `from`, has sent a SYN to a server, which answers.
fn answered(client_behind_peer: bool) -> (Table, Vec<Transmit>, [Side; 2]) {
    let config = Config { handshake: Handshake::DownstreamFirst, ..Config::default() };
    let mut table = Table::new(config);
    let sides = if client_behind_peer {
        [Side::Satellite, Side::Lan]
    } else {
        [Side::Lan, Side::Satellite]
    };
    let mut options = table.options.clone();
    if client_behind_peer {
        assert!(options.add_experiment(0x6270, &[8]));
    }
    table.give(sides[0], &Table::ip(Side::Lan), &syn(options), b"");
    let options = table.options.clone();
    let synack = Table::segment(Side::Satellite, 0, 1, SYN_ACK);
    let synack = TcpHeader { options, ..synack };
    let sent = table.give(sides[1], &Table::ip(Side::Satellite), &synack, b"");
    (table, sent, sides)
}

fn syn(options: TcpOptions) -> TcpHeader {
    TcpHeader { options, ..Table::segment(Side::Lan, 0, 0, Flags::SYN) }
}

/// What goes to the client and to the server, whatever their sides.
fn by_leg(sent: &[Transmit]) -> [Vec<(usize, Flags)>; 2] {
    [4000, 80].map(|port| {
        sent.iter()
            .filter(|sent| sent.tcp.dst_port == port)
            .map(|sent| (sent.payload_len(), sent.tcp.flags))
            .collect()
    })
}

/// G01-D-7: all downstream connections are complete before the client hears of it.
#[test]
fn the_server_is_answered_with_the_syn_ack_still_on_its_way() {
    let (mut table, sent, _) = answered(false);
    assert_eq!(by_leg(&sent), [vec![(0, SYN_ACK)], vec![(0, Flags::ACK)]]);
    // It speaks first, and a host is not sent that before it has answered.
    let hello = Table::segment(Side::Satellite, 1, 1, Flags::ACK);
    let sent = table.send(Side::Satellite, hello, b"220 ready");
    assert_eq!(by_leg(&sent)[0], []);
    let ack = Table::segment(Side::Lan, 1, 1, Flags::ACK);
    let sent = table.send(Side::Lan, ack, b"");
    assert!(matches!(by_leg(&sent)[0][..], [(9, _)]), "{sent:?}");
}

#[test]
fn a_gateway_that_takes_it_is_sent_data_before_the_client_has_answered() {
    let (mut table, _, sides) = answered(true);
    let hello = Table::segment(Side::Satellite, 1, 1, Flags::ACK);
    let sent = table.give(sides[1], &Table::ip(Side::Satellite), &hello, b"220 ready");
    assert!(matches!(by_leg(&sent)[0][..], [(9, _)]), "{sent:?}");
}

#[test]
fn the_syn_ack_is_repeated_in_the_servers_stead() {
    let (mut table, _, _) = answered(false);
    let sent = table.wait(Duration::from_secs(4));
    assert_eq!(by_leg(&sent)[0], [(0, SYN_ACK); 2], "after one second and two more");
    // The client's SYN comes again: it has not seen the answer.
    let again = syn(table.options.clone());
    assert_eq!(by_leg(&table.send(Side::Lan, again, b""))[0], [(0, SYN_ACK)]);
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"");
    assert_eq!(by_leg(&table.wait(Duration::from_secs(60)))[0], []);
    assert_eq!(table.gateway.flows(), 1);
}

/// A burst of losses swallows all that the client's side says for more than a minute. A host that
/// had sent the SYN-ACK itself would go on for three (RFC 9293, 3.8.3, MUST-23).
#[test]
fn a_client_that_is_silent_for_two_minutes_keeps_its_connection() {
    let (mut table, _, _) = answered(false);
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 1, Flags::ACK), b"220 ready");
    let sent = table.wait(Duration::from_secs(150));
    let [to_client, to_server] = by_leg(&sent);
    assert!(to_client.len() > 18 && to_client.iter().all(|it| *it == (0, SYN_ACK)));
    assert!(to_server.iter().all(|(_, flags)| !flags.contains(Flags::RST)));
    let ack = Table::segment(Side::Lan, 1, 1, Flags::ACK);
    let sent = table.send(Side::Lan, ack, b"");
    assert!(matches!(by_leg(&sent)[0][..], [(9, _)]), "{sent:?}");
    table.wait(Duration::from_secs(200));
    assert_eq!((table.gateway.flows(), table.gateway.summary().reset), (1, 0));
}

#[test]
fn a_client_that_is_not_there_costs_the_server_a_reset() {
    // It never answers.
    let (mut table, _, _) = answered(false);
    let hello = Table::segment(Side::Satellite, 1, 1, Flags::ACK);
    table.send(Side::Satellite, hello, b"220 ready");
    let sent = table.wait(Duration::from_secs(181));
    assert!(matches!(by_leg(&sent)[1][..], [.., (0, flags)] if flags.contains(Flags::RST)));
    assert!(by_leg(&sent)[0].iter().all(|(len, _)| *len == 0), "nothing was sent to it");
    assert_eq!(table.gateway.summary().lost_bytes, 9);
    table.wait(Duration::from_secs(20));
    assert_eq!((table.gateway.flows(), table.gateway.held()), (0, 0));
    // Its address was forged, and it says so.
    let (mut table, _, _) = answered(false);
    let sent = table.send(Side::Lan, Table::segment(Side::Lan, 1, 0, Flags::RST), b"");
    assert!(matches!(by_leg(&sent)[1][..], [(0, flags)] if flags.contains(Flags::RST)));
    assert_eq!(by_leg(&table.wait(Duration::from_secs(10)))[0], [], "no SYN-ACK any more");
}

#[test]
fn data_that_a_peer_sends_early_is_not_passed_on_before_the_handshake() {
    let mut table = Table::new(Config::default());
    let options = table.options.clone();
    table.send(Side::Lan, syn(options.clone()), b"");
    let synack = Table::segment(Side::Satellite, 0, 1, SYN_ACK);
    table.send(Side::Satellite, TcpHeader { options, ..synack }, b"");
    let hello = Table::segment(Side::Satellite, 1, 1, Flags::ACK);
    let verdict = table.gateway.handle_packet(
        table.now,
        Side::Satellite,
        &Table::ip(Side::Satellite),
        &hello,
        Payload::Bytes(b"220 ready"),
    );
    assert_eq!(verdict, Disposition::Consumed, "it comes again");
    assert!(table.sent().is_empty());
}

/// The end of what the server says overtakes the handshake, too: the client is not to hear of it
/// past us.
#[test]
fn a_fin_that_a_peer_sends_early_is_not_passed_on_before_the_handshake() {
    let mut table = Table::new(Config::default());
    let options = table.options.clone();
    table.send(Side::Lan, syn(options.clone()), b"");
    let synack = Table::segment(Side::Satellite, 0, 1, SYN_ACK);
    table.send(Side::Satellite, TcpHeader { options, ..synack }, b"");
    let fin = Table::segment(Side::Satellite, 1, 1, FIN);
    let ip = Table::ip(Side::Satellite);
    let verdict =
        table.gateway.handle_packet(table.now, Side::Satellite, &ip, &fin, Payload::EMPTY);
    assert_eq!(verdict, Disposition::Consumed, "it comes again");
}

/// A gateway near the client has added options to its SYN, which the server does not have.
struct Added {
    table: Table,
    bare: TcpOptions,
}

impl Added {
    /// The server has answered, and speaks first.
    fn new(hello: Flags) -> Added {
        let config = Config { handshake: Handshake::DownstreamFirst, ..Config::default() };
        Added::with(config, hello)
    }

    fn with(config: Config, hello: Flags) -> Added {
        let mut table = Table::new(config);
        let bare = TcpOptions { mss: Some(1460), ..TcpOptions::default() };
        let mut added = TcpOptions { window_scale: Some(7), sack_permitted: true, ..bare.clone() };
        added.timestamps = Table::stamped().timestamps;
        assert!(added.add_experiment(0x6270, &[0b1111]));
        let [near, far] = [Side::Lan, Side::Satellite].map(Table::ip);
        table.give(Side::Satellite, &near, &syn(added), b"");
        let synack = Table::segment(Side::Satellite, 0, 1, SYN_ACK);
        let synack = TcpHeader { options: bare.clone(), ..synack };
        assert_eq!(Added::accepted(&table.give(Side::Lan, &far, &synack, b"")), [true; 3]);
        let hello = Table::segment(Side::Satellite, 1, 1, hello);
        table.give(Side::Lan, &far, &hello, b"220 ready");
        Added { table, bare }
    }

    /// The client's side sends.
    fn send(&mut self, tcp: &TcpHeader) -> Vec<Transmit> {
        self.table.give(Side::Satellite, &Table::ip(Side::Lan), tcp, b"")
    }

    /// The SYN comes again without what was added.
    fn bare_syn(&mut self) -> Vec<Transmit> {
        self.send(&syn(self.bare.clone()))
    }

    /// Which of the added options a SYN-ACK has.
    fn accepted(sent: &[Transmit]) -> [bool; 3] {
        let synack = sent.iter().find(|sent| sent.tcp.flags == SYN_ACK).expect("one");
        let options = &synack.tcp.options;
        [options.timestamps.is_some(), options.window_scale.is_some(), options.sack_permitted]
    }
}

fn line(sent: &[Transmit]) -> &Transmit {
    sent.iter().find(|sent| sent.payload_len() == 9).expect("the server's line")
}

/// The peer leaves before the handshake is over: the client's host never offered what was added,
/// and is served without. What the server has said by then stays, its end included.
#[test]
fn a_peer_that_leaves_early_takes_its_options_with_it() {
    for (syn_comes_again, hello) in
        [(true, Flags::ACK), (false, Flags::ACK), (true, FIN), (false, FIN)]
    {
        let mut added = Added::new(hello);
        if syn_comes_again {
            assert_eq!(Added::accepted(&added.bare_syn()), [false; 3]);
        }
        let sent = added.send(&Table::segment(Side::Lan, 1, 1, Flags::ACK));
        assert_eq!(line(&sent).tcp.options, TcpOptions::default());
        let ends = hello.contains(Flags::FIN);
        assert_eq!(line(&sent).tcp.has(Flags::FIN), ends);
        added.send(&Table::segment(Side::Lan, 1, 10 + u64::from(ends), Flags::ACK));
        let gateway = &mut added.table.gateway;
        assert_eq!((gateway.flows(), gateway.held()), (1, 0));
        added.table.wait(Duration::from_secs(80));
        assert_eq!(added.table.gateway.flows(), 1, "it is confirmed");
    }
}

/// Fault seed 1846668: it leaves when the client has answered, and its host takes some of what the
/// server has said early before it is heard here.
#[test]
fn what_a_host_has_taken_by_itself_is_not_sent_without_its_peers_options() {
    for (acked, left) in [(5, 5), (10, 0)] {
        let mut added = Added::new(Flags::ACK);
        let sent = added.send(&Table::segment(Side::Lan, 1, acked, Flags::ACK));
        let data: usize = sent.iter().map(Transmit::payload_len).sum();
        assert_eq!(data, left, "{sent:?}");
        assert_eq!(added.table.gateway.held() > 0, left > 0);
        let more = Table::segment(Side::Satellite, 10, 1, Flags::ACK);
        let sent = added.table.give(Side::Lan, &Table::ip(Side::Satellite), &more, b"250 fine.");
        assert_eq!(line(&sent).tcp.options, TcpOptions::default());
        assert_eq!(line(&sent).tcp.seq, SERVER_ISN + 10);
        added.send(&Table::segment(Side::Lan, 1, 19, Flags::ACK));
        assert_eq!((added.table.gateway.flows(), added.table.gateway.held()), (1, 0));
    }
}

/// What was sent early is retransmitted on the client's own terms, and called so; and of that no
/// more than the client has not acknowledged until its turn comes.
#[test]
fn what_was_sent_early_is_not_new_to_a_leg_that_begins_again() {
    let mut config = Config { handshake: Handshake::DownstreamFirst, ..Config::default() };
    config.satellite.rate = Some(Rate::from_bits_per_sec(500_000));
    let mut added = Added::with(config, Flags::ACK);
    let mut early = Vec::new();
    for number in 0..9 {
        let more = Table::segment(Side::Satellite, 10 + 1_000 * number, 1, Flags::ACK);
        early.extend(added.table.give(Side::Lan, &Table::ip(Side::Satellite), &more, &[7; 1_000]));
    }
    early.extend(added.table.wait(Duration::from_millis(500)));
    assert_eq!(early.iter().map(Transmit::payload_len).sum::<usize>(), 9_000, "{early:?}");
    let mut sent = added.send(&Table::segment(Side::Lan, 1, 1, Flags::ACK));
    // The client's acknowledgments come one behind the other.
    sent.extend(added.send(&Table::segment(Side::Lan, 1, 8_010, Flags::ACK)));
    sent.extend(added.table.wait(Duration::from_millis(500)));
    let data: Vec<_> = sent.iter().filter(|sent| sent.payload_len() > 0).collect();
    assert!(data.iter().all(|sent| sent.cause.is_retransmission()), "{data:?}");
    let bytes: usize = data.iter().map(|sent| sent.payload_len()).sum();
    assert!((1_000..4_000).contains(&bytes), "{bytes} of 9,009");
    added.send(&Table::segment(Side::Lan, 1, 9_010, Flags::ACK));
    assert_eq!((added.table.gateway.flows(), added.table.gateway.held()), (1, 0));
}

/// The same where it has all, the server's end included: that is sent once more, or the hosts go on
/// by themselves.
#[test]
fn a_host_that_has_taken_all_by_itself_is_not_reset() {
    for syn_comes_again in [false, true] {
        let mut added = Added::new(FIN);
        if syn_comes_again {
            added.bare_syn();
        }
        let all = Table::segment(Side::Lan, 1, 11, Flags::ACK);
        let mut sent = added.send(&all);
        for _ in 0..30 {
            sent.extend(added.table.wait(Duration::from_secs(3)));
            if sent.last().is_some_and(|sent| sent.to == Side::Satellite) {
                sent.extend(added.send(&all));
            }
        }
        assert!(sent.iter().all(|sent| !sent.tcp.has(Flags::RST)), "{sent:?}");
        assert_eq!(added.table.gateway.held(), 0);
    }
}

/// A bare copy of the SYN crosses the SYN-ACK that accepts all, and the peer goes by that.
#[test]
fn options_that_the_peer_uses_are_not_taken_back_by_an_old_syn() {
    let mut added = Added::new(Flags::ACK);
    assert_eq!(Added::accepted(&added.bare_syn()), [false; 3]);
    let mut ack = Table::segment(Side::Lan, 1, 1, Flags::ACK);
    ack.options.timestamps = Some(Timestamps { value: 501, echo: 500 });
    let sent = added.send(&ack);
    assert_eq!(Added::accepted(&sent), [true; 3], "whoever keeps account of windows hears it");
    let more = Table::segment(Side::Satellite, 10, 1, Flags::ACK);
    let sent = added.table.give(Side::Lan, &Table::ip(Side::Satellite), &more, b"250 fine.");
    assert!(line(&sent).tcp.options.timestamps.is_some());
}

/// Fault seed 1682600: somebody has added timestamps to the SYN without saying so, and then goes
/// without them. The server keeps to them, and would drop what its client sends without us.
#[test]
fn a_server_that_keeps_what_its_client_goes_without_is_bound_to_us() {
    let config = Config { handshake: Handshake::DownstreamFirst, ..Config::default() };
    let mut table = Table::new(config);
    let bare = table.options.clone();
    let [near, far] = [Side::Lan, Side::Satellite].map(Table::ip);
    table.give(Side::Satellite, &near, &syn(Table::stamped()), b"");
    let synack = Table::segment(Side::Satellite, 0, 1, SYN_ACK);
    table.give(Side::Lan, &far, &TcpHeader { options: Table::stamped(), ..synack }, b"");
    table.give(Side::Satellite, &near, &syn(bare), b"");
    table.gateway.drain(table.now);
    for (seq, data) in [(1, b"hello"), (6, b"again")] {
        let data_in = Table::segment(Side::Lan, seq, 1, Flags::ACK);
        let sent = table.give(Side::Satellite, &near, &data_in, data);
        let onwards = sent.iter().find(|sent| sent.payload_len() == 5).expect("it is sent on");
        assert!(onwards.tcp.options.timestamps.is_some());
        let mut ack = Table::segment(Side::Satellite, 1, seq + 5, Flags::ACK);
        ack.options.timestamps = Some(Timestamps { value: 501, echo: 500 });
        table.give(Side::Lan, &far, &ack, b"");
        assert_eq!((table.gateway.flows(), table.gateway.held()), (1, 0));
    }
}

/// The server has been told that its FIN was taken, and has reset since.
#[test]
fn what_a_server_has_ended_with_is_owed_without_a_peers_options_too() {
    let (handshake, fin) = (Handshake::DownstreamFirst, FinMode::Immediate);
    let mut table = Table::new(Config { handshake, fin, ..Config::default() });
    let bare = table.options.clone();
    let mut added = TcpOptions { sack_permitted: true, ..bare.clone() };
    assert!(added.add_experiment(0x6270, &[0b1111]));
    let [near, far] = [Side::Lan, Side::Satellite].map(Table::ip);
    table.give(Side::Satellite, &near, &syn(added), b"");
    let synack = Table::segment(Side::Satellite, 0, 1, SYN_ACK);
    table.give(Side::Lan, &far, &TcpHeader { options: bare.clone(), ..synack }, b"");
    table.give(Side::Lan, &far, &Table::segment(Side::Satellite, 1, 1, FIN), b"220 ready");
    table.give(Side::Lan, &far, &Table::segment(Side::Satellite, 11, 1, Flags::RST), b"");
    // The client's SYN comes once more, without what the peer had added.
    table.give(Side::Satellite, &near, &syn(bare), b"");
    let ack = Table::segment(Side::Lan, 1, 1, Flags::ACK);
    let sent = table.give(Side::Satellite, &near, &ack, b"");
    let [(9, flags)] = by_leg(&sent)[0][..] else { panic!("{sent:?}") };
    assert!(flags.contains(FIN), "{flags:?}");
    let ack = Table::segment(Side::Lan, 1, 11, Flags::ACK);
    let sent = table.give(Side::Satellite, &near, &ack, b"");
    assert!(matches!(by_leg(&sent)[0][..], [(0, flags)] if flags.contains(Flags::RST)));
}
