//! The gateway packet by packet, where the hosts of the simulator would not go.

mod adoption;
mod answered;
mod benefit;
mod discard;
mod flood;
mod gaps;
mod hibernation;
mod icmp;
mod known;
mod modes;
mod mss;
mod near;
mod observation;
mod opening;
mod over;
mod pair_key;
mod panics;
mod past;
mod policy;
mod pool;
mod port_reuse;
mod probes;
mod promise;
mod recall;
mod reconfigure;
mod release;
mod remotes;
mod silence;
mod told;
mod turns;
mod unsplit;
mod watched;

use super::*;
use bentpipe_core::tcp::buffer::Payload;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{AckRewrite, Flags, IpHeader, SeqNum, TcpHeader, TcpOptions, Timestamps};
use std::net::IpAddr;

const CLIENT_ISN: SeqNum = SeqNum(1_000);
const SERVER_ISN: SeqNum = SeqNum(u32::MAX - 10);

/// A client on the LAN, a server behind the satellite, and the gateway between them.
struct Table {
    gateway: Gateway,
    now: Instant,
    /// The clients' and servers' own options in SYN and SYN-ACK.
    options: TcpOptions,
}

impl Table {
    fn new(config: Config) -> Table {
        let options = TcpOptions { mss: Some(1460), ..TcpOptions::default() };
        Table { gateway: Gateway::new(config), now: Instant::ZERO, options }
    }

    fn stamped() -> TcpOptions {
        TcpOptions {
            mss: Some(1460),
            timestamps: Some(Timestamps { value: 500, echo: 0 }),
            ..TcpOptions::default()
        }
    }

    fn ip(from: Side) -> IpHeader {
        let (client, server) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 9, 9, 9]));
        let (src, dst) = if from == Side::Lan { (client, server) } else { (server, client) };
        IpHeader { hop_limit: 60, ..IpHeader::between(src, dst) }
    }

    /// A header without the number of its packet.
    fn unnumbered(ip: IpHeader) -> IpHeader {
        IpHeader { identification: 0, ..ip }
    }

    /// A segment of the client (`Side::Lan`) or server, at offsets of the streams.
    fn segment(from: Side, seq: u64, ack: u64, flags: Flags) -> TcpHeader {
        let ((src_port, dst_port), (ours, theirs)) = if from == Side::Lan {
            ((4000, 80), (CLIENT_ISN, SERVER_ISN))
        } else {
            ((80, 4000), (SERVER_ISN, CLIENT_ISN))
        };
        let (seq, ack, window) = (ours + seq, theirs + ack, 60_000);
        TcpHeader { src_port, dst_port, seq, ack, flags, window, ..TcpHeader::default() }
    }

    /// Gives the gateway a packet; what it sends then.
    fn give(
        &mut self,
        from: Side,
        ip: &IpHeader,
        tcp: &TcpHeader,
        payload: &[u8],
    ) -> Vec<Transmit> {
        self.gateway.handle_packet(self.now, from, ip, tcp, Payload::Bytes(payload));
        self.sent()
    }

    #[allow(clippy::needless_pass_by_value)]
    fn send(&mut self, from: Side, tcp: TcpHeader, payload: &[u8]) -> Vec<Transmit> {
        self.give(from, &Self::ip(from), &tcp, payload)
    }

    fn sent(&mut self) -> Vec<Transmit> {
        let sent = std::iter::from_fn(|| self.gateway.poll_transmit(self.now)).collect();
        assert_eq!(self.gateway.panicked(), 0, "a flow panicked");
        sent
    }

    /// Lets time pass, timer by timer; what the gateway sends meanwhile.
    fn wait(&mut self, span: Duration) -> Vec<Transmit> {
        let (end, mut sent, mut turns) = (self.now + span, Vec::new(), 0);
        while let Some(at) = self.gateway.poll_timeout().filter(|at| *at <= end) {
            turns += 1;
            assert!(turns < 10_000, "a timer spins at {:?}", self.now);
            self.now = self.now.max(at);
            self.gateway.handle_timeout(self.now);
            sent.extend(self.sent());
        }
        self.now = end;
        sent
    }

    /// The three segments of the handshake.
    fn open(&mut self) {
        let options = self.options.clone();
        let syn = Self::segment(Side::Lan, 0, 0, Flags::SYN);
        self.send(Side::Lan, TcpHeader { options: options.clone(), ..syn }, b"");
        let synack = Self::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
        self.send(Side::Satellite, TcpHeader { options, ..synack }, b"");
        let ack = self.stamp(Self::segment(Side::Lan, 1, 1, Flags::ACK), 501);
        self.send(Side::Lan, ack, b"");
        assert_eq!(self.gateway.summary().split, 1);
    }

    fn stamp(&self, mut tcp: TcpHeader, value: u32) -> TcpHeader {
        tcp.options.timestamps = self.options.timestamps.map(|_| Timestamps { value, echo: 500 });
        tcp
    }
}

#[test]
fn an_idle_flow_is_released() {
    let mut table = Table::new(Config::default());
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"hello");
    assert!(table.gateway.held() > 0);
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 6, Flags::ACK), b"");
    assert_eq!(table.gateway.held(), 0, "an idle flow holds no buffer");
    table.wait(Duration::from_secs(7201));
    assert_eq!(table.gateway.summary().released(Release::Idle), 1);
    assert_eq!(table.gateway.flows(), 0);
}

#[test]
fn the_silence_of_a_flow_that_is_over_spins_no_timer() {
    let config = Config { idle_timeout: Duration::from_secs(1), ..Config::default() };
    let mut table = Table::new(config);
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::RST), b"");
    table.wait(Duration::from_secs(20));
    assert_eq!(table.gateway.flows(), 0);
}

#[test]
fn a_packet_out_of_the_blue_does_not_mark_ours() {
    let mut table = Table::new(Config::default());
    table.options = Table::stamped();
    table.open();
    let ip = IpHeader { hop_limit: 1, ..Table::ip(Side::Lan) };
    let forged = Table::segment(Side::Lan, 1 << 30, 1, Flags::ACK);
    let forged = table.stamp(forged, 1 << 30);
    table.give(Side::Lan, &ip, &forged, b"x");
    let data = table.stamp(Table::segment(Side::Satellite, 1, 1, Flags::ACK), 600);
    let mut sent = table.send(Side::Satellite, data, b"reply");
    sent.extend(table.wait(Duration::from_millis(50)));
    let answer = sent.iter().find(|sent| sent.to == Side::Satellite).expect("an acknowledgment");
    assert_eq!(answer.ip.hop_limit, 60);
    assert_eq!(answer.tcp.options.timestamps.map(|ts| ts.value), Some(501));
}

/// G99-D-6: what the hosts say in the IP header reaches the other one.
#[test]
fn how_a_host_marks_its_packets_is_passed_on_but_for_ecn() {
    let mut table = Table::new(Config::default());
    table.open();
    for (dscp, hop_limit, flow_label) in [(46, 60, 5), (10, 33, 77)] {
        let at = if dscp == 46 { 1 } else { 6 };
        let traffic_class = dscp << 2 | 0b01;
        let ip = IpHeader { hop_limit, traffic_class, flow_label, ..Table::ip(Side::Lan) };
        let data = Table::segment(Side::Lan, at, 1, Flags::ACK);
        let mut sent = table.give(Side::Lan, &ip, &data, b"hello");
        sent.extend(table.wait(Duration::from_millis(100)));
        let data = sent.iter().find(|sent| sent.to == Side::Satellite).expect("sent on");
        // One segment does not lower the hop limit.
        let marked = IpHeader { hop_limit: 60, traffic_class: dscp << 2, flow_label, ..data.ip };
        assert_eq!((data.ip, data.payload_len()), (marked, 5));
        // What is said in the server's name is marked as the server does it.
        for answer in sent.iter().filter(|sent| sent.to == Side::Lan) {
            assert_eq!(Table::unnumbered(answer.ip), Table::ip(Side::Satellite));
        }
        table.send(Side::Satellite, Table::segment(Side::Satellite, 1, at + 5, Flags::ACK), b"");
    }
}

#[test]
fn timestamps_that_we_add_do_not_go_back_however_long_we_run() {
    let config = Config { add_options: AddOptions::Always, ..Config::default() };
    let mut table = Table::new(config);
    // Milliseconds since the beginning have passed half of their 32 bits.
    table.now = Instant::ZERO + Duration::from_secs(30 * 24 * 3600);
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    let sent = table.send(Side::Lan, TcpHeader { options: table.options.clone(), ..syn }, b"");
    let offered = sent[0].tcp.options.timestamps.expect("added").value;
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    table.send(Side::Satellite, TcpHeader { options: Table::stamped(), ..synack }, b"");
    let sent = table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"data");
    let data = sent.iter().find(|sent| sent.payload_len() > 0).expect("passed on");
    let value = data.tcp.options.timestamps.expect("agreed on").value;
    assert!(value.wrapping_sub(offered) as i32 >= 0, "PAWS would drop it");
}

#[test]
fn a_drain_that_fails_resets_the_host_that_has_not_reset() {
    let config = Config { reset_drain: Duration::from_secs(1_000_000), ..Config::default() };
    let mut table = Table::new(config);
    table.open();
    // The server sends, resets, and the client answers nothing.
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 1, Flags::ACK), b"owed");
    table.send(Side::Satellite, Table::segment(Side::Satellite, 5, 1, Flags::RST), b"");
    let sent = table.wait(Duration::from_secs(7000));
    let resets: Vec<Side> =
        sent.iter().filter(|sent| sent.tcp.has(Flags::RST)).map(|sent| sent.to).collect();
    // Once, and repeated three times.
    assert_eq!(resets, [Side::Lan; 4]);
    assert_eq!(table.gateway.summary().lost_bytes, 4);
}

#[test]
fn a_syn_on_an_open_flow_is_challenged_whatever_its_options() {
    let mut table = Table::new(Config::default());
    table.options = Table::stamped();
    table.open();
    // The client has crashed, and begins anew from the same port, without timestamps.
    let again = SeqNum(77_000_000);
    let syn = TcpHeader { seq: again, ..Table::segment(Side::Lan, 0, 0, Flags::SYN) };
    let sent = table.send(Side::Lan, syn, b"");
    let [challenge] = &sent[..] else { panic!("one answer, not {sent:?}") };
    assert_eq!((challenge.to, challenge.tcp.ack), (Side::Lan, CLIENT_ISN + 1));
}

#[test]
fn transactions_are_left_to_the_hosts() {
    // RFC 1644: counts, and data with a SYN.
    let mut table = Table::new(Config::default());
    let counted =
        |options: TcpOptions| TcpHeader { options, ..Table::segment(Side::Lan, 0, 0, Flags::SYN) };
    let (cc, plain) = (Some(7), table.options.clone());
    for (tcp, payload) in [
        (counted(TcpOptions { cc, ..plain.clone() }), &b""[..]),
        (counted(TcpOptions { cc_new: cc, ..plain.clone() }), b"request"),
        (counted(plain), b"request"),
    ] {
        let payload = Payload::Bytes(payload);
        let verdict =
            table.gateway.handle_packet(table.now, Side::Lan, &Table::ip(Side::Lan), &tcp, payload);
        assert_eq!(verdict, Disposition::Forward(Reason::Options));
        assert!(table.sent().is_empty());
    }
    // With its FIN, a SYN asks for nothing that could be split.
    let syn = counted(TcpOptions { cc, ..TcpOptions::default() });
    let syn = TcpHeader { flags: Flags::SYN | Flags::FIN, ..syn };
    let verdict = table.gateway.handle_packet(
        table.now,
        Side::Lan,
        &Table::ip(Side::Lan),
        &syn,
        Payload::EMPTY,
    );
    assert!(matches!(verdict, Disposition::Forward(_)));
    assert_eq!(table.gateway.flows(), 0);
}

#[test]
fn a_repeated_syn_without_timestamps_takes_nothing_back() {
    let mut table = Table::new(Config::default());
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    table.send(Side::Lan, TcpHeader { options: Table::stamped(), ..syn.clone() }, b"");
    // As hosts do whose first SYNs were not answered.
    let options = TcpOptions { mss: Some(1460), ..TcpOptions::default() };
    table.send(Side::Lan, TcpHeader { options, ..syn }, b"");
    // The server has seen the first one.
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    table.send(Side::Satellite, TcpHeader { options: Table::stamped(), ..synack }, b"");
    let mut data = Table::segment(Side::Lan, 1, 1, Flags::ACK);
    data.options.timestamps = Some(Timestamps { value: 501, echo: 500 });
    let sent = table.send(Side::Lan, data, b"hello");
    let onwards = sent.iter().find(|sent| sent.payload_len() == 5).expect("it is sent on");
    assert!(onwards.tcp.options.timestamps.is_some(), "RFC 7323, 3.2: it would be dropped");
}

#[test]
fn what_a_peer_gateway_has_added_does_not_reach_the_host() {
    let mut table = Table::new(Config::default());
    // The server's side calls: what the peer added, and that it did, comes from the satellite.
    let mut syn = Table::segment(Side::Satellite, 0, 0, Flags::SYN);
    syn.options = TcpOptions { window_scale: Some(10), sack_permitted: true, ..Table::stamped() };
    assert!(syn.options.add_experiment(0x6270, &[7]));
    let sent = table.send(Side::Satellite, syn, b"");
    // But for room for the timestamps, which the other leg alone has.
    let expected = TcpOptions { mss: Some(1448), ..TcpOptions::default() };
    assert_eq!(sent[0].tcp.options, expected, "to the host, as its peer had sent it");
}

#[test]
fn the_reset_of_a_host_whose_connection_is_over_takes_nothing_back() {
    let mut table = Table::new(Config::default());
    table.open();
    let ending = Flags::FIN | Flags::ACK;
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, ending), b"hello");
    // The server is slow to acknowledge, so the client's FIN is acknowledged without it.
    table.wait(Duration::from_secs(31));
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 1, ending), b"");
    table.send(Side::Lan, Table::segment(Side::Lan, 7, 2, Flags::ACK), b"");
    // The client has forgotten the connection.
    table.send(Side::Lan, Table::segment(Side::Lan, 7, 2, Flags::RST), b"");
    table.send(Side::Satellite, Table::segment(Side::Satellite, 2, 7, Flags::ACK), b"");
    let summary = table.gateway.summary();
    assert_eq!((summary.closed, summary.reset, summary.lost_bytes), (1, 0, 0));
}
