//! Connections that are split in mid-life (G01-W-1): forwarded while they are short, copied once
//! they prove long, and split when we have whatever a host may still ask for.

use super::*;
use bentpipe_core::units::Bytes;

const SHORT: Disposition = Disposition::Forward(Reason::Short);
const UNKNOWN: Disposition = Disposition::Forward(Reason::UnknownFlow);

fn config(after: u64) -> Config {
    Config { adopt_after: Some(Bytes::new(after)), ..Config::default() }
}

impl Table {
    /// What becomes of a packet, and what is sent then.
    fn offer(&mut self, from: Side, tcp: &TcpHeader, data: &[u8]) -> (Disposition, Vec<Transmit>) {
        let payload = Payload::Bytes(data);
        let fate = self.gateway.handle_packet(self.now, from, &Self::ip(from), tcp, payload);
        (fate, self.sent())
    }

    /// It is forwarded, as one of a connection that may be split later, and that is all.
    fn forwards(&mut self, from: Side, tcp: &TcpHeader, data: &[u8]) {
        let (fate, sent) = self.offer(from, tcp, data);
        assert_eq!((fate, sent.len()), (SHORT, 0), "{tcp:?}");
    }

    /// A handshake passes.
    fn pass_handshake(&mut self) {
        let options = self.options.clone();
        let syn = Self::segment(Side::Lan, 0, 0, Flags::SYN);
        self.forwards(Side::Lan, &TcpHeader { options: options.clone(), ..syn }, b"");
        let synack = Self::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
        self.forwards(Side::Satellite, &TcpHeader { options, ..synack }, b"");
        let ack = self.stamp(Self::segment(Side::Lan, 1, 1, Flags::ACK), 501);
        self.forwards(Side::Lan, &ack, b"");
    }

    /// A connection whose client has sent 3000 bytes, of which the server has acknowledged 1000:
    /// that is enough.
    fn copied() -> Table {
        let mut table = Table::new(config(1000));
        table.pass_handshake();
        table.forwards(Side::Lan, &data(1), &[1; 3000]);
        table.forwards(Side::Satellite, &ack(1001), b"");
        assert_eq!((table.gateway.flows(), table.gateway.held()), (0, 0));
        // From here on it is copied.
        table.forwards(Side::Lan, &data(3001), &[2; 1000]);
        assert!(table.gateway.held() >= 1000);
        table
    }

    fn adopted(&self) -> (u64, u64, usize) {
        let summary = self.gateway.summary();
        (summary.split, summary.adopted, self.gateway.flows())
    }

    /// The payloads of what goes to a side, put together.
    fn payload_to(&self, side: Side, sent: &[Transmit]) -> Vec<(u32, Vec<u8>)> {
        let base = if side == Side::Satellite { CLIENT_ISN } else { SERVER_ISN };
        let of = |transmit: &Transmit| {
            let bytes = self.gateway.payload_slices(transmit).flatten().copied().collect();
            (transmit.tcp.seq.distance_from(base) as u32, bytes)
        };
        sent.iter().filter(|sent| sent.to == side && sent.payload_len() > 0).map(of).collect()
    }
}

/// Data of the client's, from an offset on.
fn data(from: u64) -> TcpHeader {
    Table::segment(Side::Lan, from, 1, Flags::ACK)
}

/// The server has all of the client's up to an offset.
fn ack(to: u64) -> TcpHeader {
    Table::segment(Side::Satellite, 1, to, Flags::ACK)
}

#[test]
fn a_short_connection_is_forwarded() {
    let mut table = Table::new(config(1000));
    table.pass_handshake();
    assert_eq!(table.gateway.candidates(), 1);
    table.forwards(Side::Lan, &data(1), &[1; 999]);
    table.forwards(Side::Satellite, &ack(1000), b"");
    assert_eq!(table.gateway.held(), 0);
    let fin = Table::segment(Side::Lan, 1000, 1, Flags::FIN | Flags::ACK);
    table.forwards(Side::Lan, &fin, b"");
    // It is nearly over, so it is none of ours.
    assert_eq!(table.offer(Side::Satellite, &ack(1001), b"").0, UNKNOWN);
    assert_eq!((table.adopted(), table.gateway.candidates()), ((0, 0, 0), 0));
    assert_eq!(table.gateway.summary().forwarded_flows(Reason::Short), 1);
}

#[test]
fn a_connection_that_has_proved_long_is_split_where_nothing_is_in_flight() {
    let mut table = Table::new(config(1000));
    table.pass_handshake();
    table.forwards(Side::Lan, &data(1), &[1; 1000]);
    let (fate, _) = table.offer(Side::Satellite, &ack(1001), b"");
    assert_eq!((fate, table.adopted()), (SHORT, (1, 1, 1)));
    let events: Vec<Event> = std::iter::from_fn(|| table.gateway.poll_event()).collect();
    let [Event::NotSplit(_, Reason::Short, 0), Event::Adopted(_, 1000)] = events[..] else {
        panic!("{events:?}");
    };
    // It goes on as any flow.
    let (fate, sent) = table.offer(Side::Lan, &data(1001), &[2; 500]);
    assert_eq!(fate, Disposition::Consumed);
    assert_eq!(table.payload_to(Side::Satellite, &sent), [(1001, vec![2; 500])]);
    let (_, sent) = table.offer(Side::Satellite, &ack(1501), b"reply");
    assert_eq!(table.payload_to(Side::Lan, &sent), [(1, b"reply".to_vec())]);
}

/// What is in flight when the connection is split was forwarded; we have a copy of what is not
/// acknowledged.
#[test]
fn a_connection_is_split_amid_a_transfer() {
    let mut table = Table::copied();
    table.forwards(Side::Satellite, &ack(2001), b"");
    assert_eq!(table.adopted(), (0, 0, 0), "the server may still ask for what is not here");
    let (fate, sent) = table.offer(Side::Satellite, &ack(3001), b"");
    assert_eq!((fate, table.adopted()), (SHORT, (1, 1, 1)));
    let to_client: Vec<_> = sent.iter().filter(|sent| sent.to == Side::Lan).collect();
    assert_eq!(to_client.len(), 1, "{sent:?}");
    assert_eq!(to_client[0].tcp.ack, CLIENT_ISN + 4001, "it is ours to deliver now");
    assert_eq!(table.payload_to(Side::Satellite, &sent), [], "it is in flight");
    // What the client repeats it needs not.
    let (fate, sent) = table.offer(Side::Lan, &data(3001), &[2; 1000]);
    assert_eq!((fate, table.payload_to(Side::Satellite, &sent)), (Disposition::Consumed, vec![]));
    // It is lost behind us: the server gets it from us.
    let sent = table.wait(Duration::from_secs(3));
    let (at, bytes) = &table.payload_to(Side::Satellite, &sent)[0];
    assert_eq!((*at, bytes.iter().all(|byte| *byte == 2)), (3001, true));
    table.send(Side::Satellite, ack(4001), b"");
    assert_eq!(table.gateway.held(), 0);
    assert_eq!(table.gateway.summary().lost_bytes, 0);
}

#[test]
fn a_hole_in_what_has_passed_is_waited_for() {
    let mut table = Table::copied();
    table.forwards(Side::Lan, &data(5001), &[4; 1000]);
    table.forwards(Side::Satellite, &ack(4001), b"");
    assert_eq!(table.adopted(), (0, 0, 0), "4001 to 5000 have not come here");
    let (fate, _) = table.offer(Side::Lan, &data(4001), &[3; 1000]);
    assert_eq!((fate, table.adopted()), (SHORT, (1, 1, 1)));
    let sent = table.wait(Duration::from_secs(3));
    let sent = table.payload_to(Side::Satellite, &sent);
    assert_eq!((sent[0].0, sent[0].1[0]), (4001, 3));
}

#[test]
fn who_has_got_something_on_another_path_is_left_alone() {
    let mut table = Table::copied();
    // It has passed here, but for a part of it.
    table.forwards(Side::Lan, &data(5001), &[4; 1000]);
    table.forwards(Side::Satellite, &ack(6001), b"");
    assert_eq!((table.adopted(), table.gateway.held()), ((0, 0, 0), 0));
    assert_eq!(table.offer(Side::Satellite, &ack(6001), b"").0, UNKNOWN);
    // So is one of which a segment comes from the wrong side.
    let mut table = Table::copied();
    let ip = Table::ip(Side::Lan);
    table.give(Side::Satellite, &ip, &data(4001), b"x");
    assert_eq!(table.offer(Side::Satellite, &ack(3001), b"").0, UNKNOWN);
    assert_eq!(table.gateway.held(), 0);
}

/// Fault seed 513179: its window is not known here any more.
#[test]
fn who_has_got_something_on_another_path_is_left_alone_before_it_is_long() {
    let mut table = Table::new(config(1000));
    table.pass_handshake();
    table.forwards(Side::Lan, &data(1), &[1; 500]);
    assert_eq!(table.offer(Side::Satellite, &ack(1001), b"").0, SHORT);
    assert_eq!(table.gateway.candidates(), 0);
}

/// RFC 5961, 5, and RFC 7323, 5.3: what its receiver drops is not copied either.
#[test]
fn a_forged_segment_is_not_copied() {
    let mut table = Table::copied();
    let held = table.gateway.held();
    let wrong_ack = Table::segment(Side::Lan, 4001, 1 << 28, Flags::ACK);
    let far_away = Table::segment(Side::Lan, 1 << 28, 1, Flags::ACK);
    for forged in [wrong_ack, far_away] {
        table.forwards(Side::Lan, &forged, &[9; 1000]);
    }
    assert_eq!(table.gateway.held(), held);
    let (_, sent) = table.offer(Side::Satellite, &ack(3001), b"");
    let answer = sent.iter().find(|sent| sent.to == Side::Lan).expect("an acknowledgment");
    assert_eq!((table.adopted(), answer.tcp.ack), ((1, 1, 1), CLIENT_ISN + 4001));
}

/// RFC 7323, 3.2: its receiver takes it, and hears of the window (fault seed 123088106).
#[test]
fn timestamps_that_were_not_agreed_on_mean_nothing() {
    let mut table = Table::copied();
    let held = table.gateway.held();
    let options = TcpOptions { mss: None, ..Table::stamped() };
    let stamped = TcpHeader { options, window: 61_000, ..data(4001) };
    table.forwards(Side::Lan, &stamped, &[9; 1000]);
    assert!(table.gateway.held() > held);
    let (_, sent) = table.offer(Side::Satellite, &ack(3001), b"");
    let to = |side| sent.iter().find(|sent| sent.to == side).expect("one").tcp.clone();
    assert_eq!((table.adopted(), to(Side::Lan).ack), ((1, 1, 1), CLIENT_ISN + 5001));
    assert_eq!(to(Side::Satellite).window, 61_000);
}

/// Fault seed 97427243: a window that somebody else has opened, on another path, lets the client go
/// on. The server has promised less by us, and so do we.
#[test]
fn what_lies_beyond_the_window_is_not_copied() {
    let mut table = Table::copied();
    // The server has promised 60,000 bytes behind 1001.
    for at in (4001..=60_501).step_by(500) {
        table.forwards(Side::Lan, &data(at), &[3; 1000]);
    }
    let (_, sent) = table.offer(Side::Satellite, &ack(3001), b"");
    let answer = sent.iter().find(|sent| sent.to == Side::Lan).expect("an acknowledgment");
    assert_eq!((table.adopted(), answer.tcp.ack), ((1, 1, 1), CLIENT_ISN + 61_001));
}

/// What ends before its receiver, or is not taken by it, as a signature shows that the SYN had not.
#[test]
fn a_fake_is_not_copied() {
    let signed = TcpOptions { other: [&[19, 18][..], &[1; 16]].concat(), ..TcpOptions::default() };
    for (hop_limit, options) in [(4, TcpOptions::default()), (60, signed)] {
        let mut table = Table::copied();
        let ip = IpHeader { hop_limit, ..Table::ip(Side::Lan) };
        for flags in [Flags::ACK, Flags::RST] {
            let fake = TcpHeader { flags, options: options.clone(), ..data(4001) };
            assert!(table.give(Side::Lan, &ip, &fake, &[9; 1000]).is_empty());
        }
        table.forwards(Side::Lan, &data(4001), &[3; 1000]);
        let (_, sent) = table.offer(Side::Satellite, &ack(4001), b"");
        let answer = sent.iter().find(|sent| sent.to == Side::Lan).expect("an acknowledgment");
        assert_eq!((table.adopted(), answer.tcp.ack), ((1, 1, 1), CLIENT_ISN + 5001));
        let sent = table.wait(Duration::from_secs(3));
        let (at, bytes) = &table.payload_to(Side::Satellite, &sent)[0];
        assert_eq!((*at, bytes.iter().all(|byte| *byte == 3)), (4001, true), "{hop_limit}");
    }
}

/// Also where its receiver takes only a part of it (fault seed 114973572).
#[test]
fn what_we_say_looks_no_older_than_what_has_passed() {
    let stamped = |tcp: TcpHeader, value, echo| {
        let timestamps = Some(Timestamps { value, echo });
        TcpHeader { options: TcpOptions { timestamps, ..TcpOptions::default() }, ..tcp }
    };
    for is_cut in [false, true] {
        let mut table = Table::new(config(1000));
        table.options = Table::stamped();
        table.pass_handshake();
        table.forwards(Side::Lan, &stamped(data(1), 700, 500), &[1; 2000]);
        table.forwards(Side::Satellite, &stamped(ack(1001), 900, 700), b"");
        table.forwards(Side::Lan, &stamped(data(2001), 800, 900), &[1; 500]);
        if is_cut {
            table.forwards(Side::Lan, &stamped(data(60_501), 850, 900), &[1; 1000]);
        }
        let (_, sent) = table.offer(Side::Satellite, &stamped(ack(2001), 950, 700), b"");
        let stamps = |side| {
            let sent = sent.iter().find(|sent| sent.to == side).expect("an acknowledgment");
            sent.tcp.options.timestamps.expect("they were agreed on")
        };
        // The server's clock, and what of the client's came in order.
        assert_eq!(stamps(Side::Lan), Timestamps { value: 950, echo: 700 });
        let newest = if is_cut { 850 } else { 800 };
        assert_eq!(stamps(Side::Satellite), Timestamps { value: newest, echo: 950 });
        assert_eq!(table.adopted(), (1, 1, 1));
    }
}

/// What the hosts have promised each other stays, in their units.
#[test]
fn windows_go_on_where_they_were() {
    let mut table = Table::new(Config { max_stream: Some(Bytes::new(100_000)), ..config(1000) });
    table.options.window_scale = Some(3);
    table.pass_handshake();
    table.forwards(Side::Lan, &data(1), &[1; 1000]);
    let (_, sent) = table.offer(Side::Satellite, &ack(1001), b"");
    let to_server = sent.iter().find(|sent| sent.to == Side::Satellite).expect("one");
    // The client has promised 60,000 units of 8 bytes, more than a stream holds.
    assert_eq!(to_server.tcp.window, 60_000);
    let (fate, _) = table.offer(Side::Lan, &data(1001), &[2; 1000]);
    assert_eq!(fate, Disposition::Consumed);
}

/// Fault seed 122223200: what its receiver cuts has promised more, and the gateway keeps to it.
#[test]
fn what_is_cut_has_opened_the_window() {
    let mut table = Table::new(config(1000));
    table.pass_handshake();
    table.forwards(Side::Lan, &data(1), &[1; 2000]);
    table.forwards(Side::Satellite, &ack(1001), b"");
    table.forwards(Side::Lan, &data(2001), &[1; 500]);
    table.forwards(Side::Lan, &TcpHeader { window: 61_000, ..data(60_501) }, &[1; 1000]);
    let (_, sent) = table.offer(Side::Satellite, &ack(2001), b"");
    let to_server = sent.iter().find(|sent| sent.to == Side::Satellite).expect("one");
    assert_eq!((table.adopted(), to_server.tcp.window), ((1, 1, 1), 61_000));
}

/// Fault seed 289708: what its receiver has acknowledged already, it takes no window of.
#[test]
fn old_data_moves_no_window() {
    for (from, window) in [(1, 60_000), (501, u16::MAX)] {
        let mut table = Table::new(Config { max_stream: Some(Bytes::new(10_000)), ..config(1000) });
        table.pass_handshake();
        table.forwards(Side::Lan, &data(1), &[1; 1000]);
        table.forwards(Side::Lan, &data(1001), &[1; 1000]);
        table.forwards(Side::Satellite, &ack(1001), b"");
        table.forwards(Side::Lan, &TcpHeader { window: u16::MAX, ..data(from) }, &[1; 500]);
        let (_, sent) = table.offer(Side::Satellite, &ack(2001), b"");
        let to_server = sent.iter().find(|sent| sent.to == Side::Satellite).expect("one");
        assert_eq!((table.adopted(), to_server.tcp.window), ((1, 1, 1), window), "{from}");
    }
}

#[test]
fn a_gateway_that_leaves_keeps_nothing() {
    for leave in [Gateway::drain, Gateway::release_all] {
        let mut table = Table::copied();
        leave(&mut table.gateway, table.now);
        assert_eq!((table.gateway.held(), table.gateway.candidates()), (0, 0));
        assert_eq!(table.offer(Side::Satellite, &ack(3001), b"").0, UNKNOWN);
        assert_eq!(table.adopted(), (0, 0, 0));
    }
}

/// It is tried again when the connection has proved twice as long.
#[test]
fn copies_are_given_up_after_a_while() {
    let mut table = Table::copied();
    table.wait(Duration::from_secs(11));
    assert_eq!((table.gateway.held(), table.gateway.candidates()), (0, 1));
    table.forwards(Side::Satellite, &ack(1500), b"");
    assert_eq!(table.adopted(), (0, 0, 0));
    // 4000 were sent, so 4000 are the hosts' own.
    table.forwards(Side::Satellite, &ack(3001), b"");
    let (_, _) = table.offer(Side::Satellite, &ack(4001), b"");
    assert_eq!(table.adopted(), (1, 1, 1));
}

#[test]
fn without_room_a_connection_is_forwarded() {
    let mut table = Table::new(Config { memory: Bytes::new(40_000), ..config(1000) });
    table.pass_handshake();
    table.forwards(Side::Lan, &data(1), &[1; 3000]);
    table.forwards(Side::Satellite, &ack(1001), b"");
    for segment in 0..40 {
        table.forwards(Side::Lan, &data(3001 + 1000 * segment), &[2; 1000]);
        assert!(table.gateway.held() <= 40_000);
    }
    assert_eq!(table.gateway.held(), 0, "given up");
    // Nor is there a place for a flow.
    let mut table = Table::new(Config { max_flows: 1, max_flows_per_client: 0, ..config(1000) });
    table.pass_handshake();
    table.forwards(Side::Lan, &data(1), &[1; 1000]);
    table.forwards(Side::Satellite, &ack(1001), b"");
    assert_eq!((table.adopted(), table.gateway.candidates()), ((0, 0, 0), 1));
}

/// Our legs do not speak it.
#[test]
fn hosts_do_not_agree_on_ecn() {
    let mut table = Table::new(config(1000));
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN | Flags::ECE | Flags::CWR);
    let (fate, sent) = table.offer(Side::Lan, &syn, b"");
    assert_eq!((fate, sent.len()), (Disposition::Consumed, 1));
    assert_eq!((sent[0].to, sent[0].tcp.flags), (Side::Satellite, Flags::SYN));
    assert_eq!(table.gateway.candidates(), 1);
}

#[test]
fn a_handshake_that_contradicts_itself_is_not_noted() {
    let full = TcpOptions { window_scale: Some(7), ..Table::stamped() };
    // The answer accepts what was not offered; or a copy says something else.
    for (syn, synacks) in [
        (Table::stamped(), vec![full.clone()]),
        (full.clone(), vec![full.clone(), Table::stamped()]),
    ] {
        let mut table = Table::new(config(1000));
        let segment = Table::segment(Side::Lan, 0, 0, Flags::SYN);
        table.forwards(Side::Lan, &TcpHeader { options: syn, ..segment }, b"");
        for options in synacks {
            let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
            table.forwards(Side::Satellite, &TcpHeader { options, ..synack }, b"");
        }
        assert_eq!(table.gateway.candidates(), 0);
    }
}

/// G01-15-E: forged SYNs, answered or not, take no more places than there are.
#[test]
fn a_flood_has_an_end() {
    let mut table = Table::new(Config { max_half_open: 100, ..config(1000) });
    table.pass_handshake();
    for port in 5_000..10_000_u16 {
        table.now += Duration::from_millis(1);
        let syn = TcpHeader { src_port: port, ..Table::segment(Side::Lan, 0, 0, Flags::SYN) };
        table.offer(Side::Lan, &syn, b"");
        if port % 2 == 0 {
            let (seq, ack) = (SERVER_ISN, CLIENT_ISN + 1);
            let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
            let synack = TcpHeader { dst_port: port, seq, ack, ..synack };
            table.offer(Side::Satellite, &synack, b"");
        }
        assert!(table.gateway.candidates() <= 101);
    }
    // Who was there before is still known.
    table.forwards(Side::Lan, &data(1), &[1; 1000]);
    table.offer(Side::Satellite, &ack(1001), b"");
    assert_eq!(table.adopted(), (1, 1, 1));
}
