//! Segments that the far host would not take, or that would not reach it.

use super::*;

/// A fake of the client's first segment in an open flow, and how it is told from the true one.
#[derive(Debug, Clone, Copy)]
enum Fake {
    LowHopLimit,
    Md5,
    Ao,
}

impl Fake {
    const ALL: [Fake; 3] = [Fake::LowHopLimit, Fake::Md5, Fake::Ao];

    fn make(self, tcp: TcpHeader) -> (IpHeader, TcpHeader) {
        let ip = Table::ip(Side::Lan);
        let signed = |kind: u8| {
            let mut other = vec![kind, 18];
            other.extend([1; 16]);
            let options = TcpOptions { other, ..tcp.options.clone() };
            (ip, TcpHeader { options, ..tcp.clone() })
        };
        match self {
            Fake::LowHopLimit => (IpHeader { hop_limit: 4, ..ip }, tcp),
            Fake::Md5 => signed(19),
            Fake::Ao => signed(29),
        }
    }
}

impl Table {
    /// What becomes of a fake of a segment of the client; nothing is sent because of it.
    fn fake(&mut self, fake: Fake, tcp: TcpHeader, payload: &[u8]) -> Disposition {
        let (ip, tcp) = fake.make(tcp);
        let payload = Payload::Bytes(payload);
        let verdict = self.gateway.handle_packet(self.now, Side::Lan, &ip, &tcp, payload);
        assert!(self.sent().is_empty(), "{fake:?} is answered");
        verdict
    }

    /// The bytes that are sent towards the server.
    fn towards_server(&self, sent: &[Transmit]) -> Vec<u8> {
        let data = sent.iter().filter(|sent| sent.to == Side::Satellite);
        data.flat_map(|sent| self.gateway.payload_slices(sent).collect::<Vec<_>>().concat())
            .collect()
    }
}

#[test]
fn a_fake_is_forwarded_and_not_believed() {
    for fake in Fake::ALL {
        for options in [TcpOptions { mss: Some(1460), ..TcpOptions::default() }, Table::stamped()] {
            let mut table = Table::new(Config::default());
            table.options = options;
            table.open();
            for flags in [Flags::ACK, Flags::ACK | Flags::FIN, Flags::RST, Flags::ACK | Flags::PSH]
            {
                let tcp = table.stamp(Table::segment(Side::Lan, 1, 1, flags), 600);
                let verdict = table.fake(fake, tcp, b"fake");
                assert_eq!(verdict, Disposition::Forward(Reason::Past), "{fake:?} {flags:?}");
            }
            assert_eq!(table.gateway.held(), 0, "{fake:?}");
            let truth = table.stamp(Table::segment(Side::Lan, 1, 1, Flags::ACK), 502);
            let sent = table.send(Side::Lan, truth, b"true");
            assert_eq!(table.towards_server(&sent), b"true", "{fake:?}");
            let data = sent.iter().find(|sent| sent.to == Side::Satellite).unwrap();
            assert_eq!(data.ip.hop_limit, 60, "{fake:?}");
            assert_eq!(data.tcp.options.timestamps.map_or(502, |ts| ts.value), 502, "{fake:?}");
            assert_eq!(table.gateway.summary().forwarded_packets(Reason::Past), 4);
        }
    }
}

#[test]
fn a_host_that_takes_a_fake_is_heard_at_once() {
    for fake in Fake::ALL {
        let mut table = Table::new(Config { hibernate_after: Duration::ZERO, ..Config::default() });
        table.open();
        let tcp = Table::segment(Side::Lan, 1, 1, Flags::ACK);
        assert_eq!(table.fake(fake, tcp, b"fake"), Disposition::Forward(Reason::Past));
        // It may acknowledge what it has of the client: that shows nothing yet.
        table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 1, Flags::ACK), b"");
        assert_eq!(table.gateway.flows(), 1);
        let answer = Table::segment(Side::Satellite, 1, 5, Flags::ACK);
        let payload = Payload::Bytes(b"echo");
        let ip = Table::ip(Side::Satellite);
        let verdict =
            table.gateway.handle_packet(table.now, Side::Satellite, &ip, &answer, payload);
        assert_eq!(verdict, Disposition::Forward(Reason::Past), "{fake:?}");
        assert!(table.sent().is_empty(), "{fake:?}: the hosts go on between themselves");
        let summary = table.gateway.summary();
        assert_eq!((summary.released(Release::Past), table.gateway.flows()), (1, 0), "{fake:?}");
    }
}

#[test]
fn what_is_held_when_a_host_takes_a_fake_is_still_delivered() {
    let mut table = Table::new(Config::default());
    table.open();
    let fake = Table::segment(Side::Lan, 1, 1, Flags::ACK);
    assert_eq!(table.fake(Fake::Md5, fake, b"fake"), Disposition::Forward(Reason::Past));
    // The server has answered something before, which the client has not acknowledged.
    let data = Table::segment(Side::Satellite, 1, 1, Flags::ACK);
    table.send(Side::Satellite, data, b"before");
    let answer = Table::segment(Side::Satellite, 7, 5, Flags::ACK);
    table.give(Side::Satellite, &Table::ip(Side::Satellite), &answer, b"echo");
    assert!(table.gateway.held() > 0);
    let sent = table.wait(Duration::from_secs(3));
    let again: Vec<usize> = sent.iter().map(Transmit::payload_len).filter(|len| *len > 0).collect();
    assert!(again.iter().all(|len| *len == 6) && !again.is_empty(), "{again:?}");
    table.send(Side::Lan, Table::segment(Side::Lan, 5, 7, Flags::ACK), b"");
    assert_eq!((table.gateway.held(), table.gateway.flows()), (0, 0));
    assert_eq!(table.gateway.summary().lost_bytes, 0);
}

/// Its host knows of options that the client has not: forwarded, the segment would mean another
/// thing.
#[test]
fn a_fake_in_a_flow_with_options_of_ours_is_dropped() {
    let mut table = Table::new(Config { add_options: AddOptions::Always, ..Config::default() });
    let options = table.options.clone();
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    let sent = table.send(Side::Lan, TcpHeader { options, ..syn }, b"");
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    let offered = sent[0].tcp.options.clone();
    let echo = offered.timestamps.expect("added").value;
    let timestamps = Some(Timestamps { value: 9, echo });
    let options = TcpOptions { timestamps, other: Vec::new(), ..offered };
    table.send(Side::Satellite, TcpHeader { options, ..synack }, b"");
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"");
    assert_eq!(table.gateway.summary().split, 1);
    for fake in Fake::ALL {
        let tcp = Table::segment(Side::Lan, 1, 1, Flags::ACK);
        assert_eq!(table.fake(fake, tcp, b"fake"), Disposition::Consumed, "{fake:?}");
    }
    let sent = table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"true");
    assert_eq!(table.towards_server(&sent), b"true");
}

/// A peer gateway knows that it is alone by a client's segment without the timestamps that it has
/// added, and a fake has none: nobody adds them to what is forwarded.
#[test]
fn a_fake_takes_nothing_back_in_a_handshake() {
    for fake in Fake::ALL {
        let mut table = Table::new(Config::default());
        let [near, far] = [Side::Lan, Side::Satellite].map(Table::ip);
        let mut options = TcpOptions { window_scale: Some(10), ..Table::stamped() };
        assert!(options.add_experiment(0x6270, &[0b101]));
        let syn = TcpHeader { options, ..Table::segment(Side::Lan, 0, 0, Flags::SYN) };
        table.give(Side::Satellite, &near, &syn, b"");
        let mut synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
        synack.options = table.options.clone();
        table.give(Side::Lan, &far, &synack, b"");
        for flags in [Flags::ACK | Flags::PSH, Flags::RST] {
            let (ip, tcp) = fake.make(Table::segment(Side::Lan, 1, 1, flags));
            let payload = Payload::Bytes(b"fake");
            let verdict =
                table.gateway.handle_packet(table.now, Side::Satellite, &ip, &tcp, payload);
            assert_eq!(verdict, Disposition::Consumed, "{fake:?}");
            assert!(table.sent().is_empty(), "{fake:?} is answered");
        }
        let mut data = Table::segment(Side::Lan, 1, 1, Flags::ACK);
        data.options.timestamps = Some(Timestamps { value: 501, echo: 500 });
        let mut sent = table.give(Side::Satellite, &near, &data, b"true");
        sent.extend(table.wait(Duration::from_millis(50)));
        let onwards = sent.iter().find(|sent| sent.to == Side::Lan && sent.payload_len() == 4);
        assert!(onwards.is_some(), "{fake:?}: {sent:?}");
        let back: Vec<_> = sent.iter().filter(|sent| sent.to == Side::Satellite).collect();
        let whole = back
            .iter()
            .all(|sent| !sent.tcp.has(Flags::SYN) && sent.tcp.options.timestamps.is_some());
        assert!(whole && !back.is_empty(), "{fake:?}: {back:?}");
    }
}

#[test]
fn a_fake_of_a_reset_does_not_end_a_handshake() {
    for fake in Fake::ALL {
        let mut table = Table::new(Config::default());
        let options = table.options.clone();
        let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
        table.send(Side::Lan, TcpHeader { options: options.clone(), ..syn }, b"");
        let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
        table.send(Side::Satellite, TcpHeader { options, ..synack }, b"");
        let verdict = table.fake(fake, Table::segment(Side::Lan, 1, 0, Flags::RST), b"");
        assert_eq!(verdict, Disposition::Forward(Reason::NotOpened), "{fake:?}");
        table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"");
        assert_eq!(table.gateway.summary().split, 1, "{fake:?}");
    }
}

/// It has taken the fake behind a peer gateway, which has left because of that: its timestamps are
/// missing at once, and not only after it has been silent for long.
#[test]
fn a_peer_gateway_that_leaves_because_of_a_fake_is_believed() {
    for fake in Fake::ALL {
        for expected in [true, false] {
            let mut table = Table::new(Config::default());
            table.options = Table::stamped();
            table.open();
            let tcp = table.stamp(Table::segment(Side::Lan, 1, 1, Flags::ACK), 502);
            if expected {
                assert_eq!(table.fake(fake, tcp, b"fake"), Disposition::Forward(Reason::Past));
            }
            let truth = table.stamp(Table::segment(Side::Lan, 1, 1, Flags::ACK), 502);
            table.send(Side::Lan, truth, b"true");
            let mut bare = Table::segment(Side::Satellite, 1, 5, Flags::ACK);
            bare.options.timestamps = None;
            for _ in 0..2 {
                table.send(Side::Satellite, bare.clone(), b"");
            }
            let payload = Payload::Bytes(b"echo");
            let ip = Table::ip(Side::Satellite);
            let verdict =
                table.gateway.handle_packet(table.now, Side::Satellite, &ip, &bare, payload);
            assert_eq!(verdict != Disposition::Consumed, expected, "{fake:?}: {verdict:?}");
        }
    }
}

#[test]
fn a_path_that_has_become_longer_is_followed_after_some_segments() {
    let mut table = Table::new(Config::default());
    table.open();
    let ip = IpHeader { hop_limit: 40, ..Table::ip(Side::Lan) };
    let mut limits = Vec::new();
    for number in 0..20 {
        let data = Table::segment(Side::Lan, 1 + number, 1, Flags::ACK);
        let sent = table.give(Side::Lan, &ip, &data, b"x");
        limits
            .extend(sent.iter().filter(|sent| sent.to == Side::Satellite).map(|s| s.ip.hop_limit));
    }
    assert_eq!((limits[0], limits.last()), (60, Some(&40)), "{limits:?}");
}

/// Hosts take such a segment, and so does the gateway, whether or not timestamps were agreed on.
#[test]
fn data_with_malformed_options_is_taken() {
    for options in [TcpOptions { mss: Some(1460), ..TcpOptions::default() }, Table::stamped()] {
        let mut table = Table::new(Config::default());
        table.options = options;
        table.open();
        let mut tcp = Table::segment(Side::Lan, 1, 1, Flags::ACK);
        tcp.options.malformed = true;
        let sent = table.send(Side::Lan, tcp, b"hello");
        assert_eq!(table.towards_server(&sent), b"hello");
        assert_eq!(table.gateway.flows(), 1);
    }
}

/// The client has reset, and what it had sent is being delivered: what looks as if it came from the
/// server, and may not, is not heard.
#[test]
fn a_fake_does_not_touch_a_drain() {
    for hop_limit in [60, 4] {
        let mut table = Table::new(Config::default());
        table.open();
        table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), &[7; 1000]);
        table.send(Side::Lan, Table::segment(Side::Lan, 1001, 1, Flags::RST), b"");
        let ip = IpHeader { hop_limit, ..Table::ip(Side::Satellite) };
        let ack = Table::segment(Side::Satellite, 1, 1001, Flags::ACK);
        table.give(Side::Satellite, &ip, &ack, b"");
        let is_heard = table.gateway.held() == 0;
        assert_eq!(is_heard, hop_limit == 60, "{hop_limit}");
    }
}
