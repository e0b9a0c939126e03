//! Remote gateways: what they are known by, and what their flows share.

use super::*;
use crate::announce::{Announcement, Identity, ToldLink};
use crate::config::FoundBy;
use bentpipe_core::tcp::congestion::CongestionAlgorithm;
use bentpipe_core::units::Rate;
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// Identities of peer gateways.
const A: u32 = 0xaaaa_0001;
const B: u32 = 0xbbbb_0002;

const ROUND_TRIP: Duration = Duration::from_millis(500);

/// The options of an acknowledgment with a report of this `version`.
fn report(version: u8, identity: u32) -> TcpOptions {
    let [a, b, c, d] = identity.to_be_bytes();
    let mut options = TcpOptions::default();
    assert!(options.add_experiment(0x6270, &[version, a, b, c, d]));
    options
}

fn host(number: u8) -> IpAddr {
    IpAddr::from(Ipv4Addr::new(10, 9, 9, number))
}

/// What an upload's segments meet behind the hub.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// The link of this number, at 2 Mbit/s, and so long there and back.
    Link(usize, Duration),
    /// A host that acknowledges nothing.
    Silent,
}

/// A client's upload.
#[derive(Debug)]
struct Upload {
    flow: (u16, u8),
    way: Way,
    /// Acknowledgments on their way: when they arrive, and the offsets that they are for.
    acks: VecDeque<(Instant, u64)>,
    /// The last one that has arrived.
    acked: u64,
    written: u64,
    /// Where the gateway's window ends.
    limit: u64,
    /// Nothing more is written.
    is_over: bool,
    /// Acknowledgments report arrivals.
    reports: Option<Telling>,
}

/// Who reports arrivals, how many times the bytes that have come, and by a clock that runs so many
/// times as fast.
#[derive(Debug, Clone, Copy)]
struct Telling {
    identity: u32,
    bytes: f64,
    clock: f64,
}

impl Telling {
    /// The options of an acknowledgment of so many bytes that arrived at this moment.
    fn options(self, at: Instant, bytes: u64) -> TcpOptions {
        let micros = (at.as_nanos() as f64 / 1e3 * self.clock) as u64 as u32;
        let grains = (bytes as f64 * self.bytes / 16.0) as u64 as u32;
        let identity = self.identity.to_be_bytes();
        let body = [&[0x51][..], &identity, &micros.to_be_bytes(), &grains.to_be_bytes()[1..]];
        let mut options = TcpOptions::default();
        assert!(options.add_experiment(0x6270, &body.concat()));
        options
    }
}

/// The hub's gateway, clients on its LAN, and servers, most of them behind peer gateways.
struct Hub {
    table: Table,
    uploads: Vec<Upload>,
    /// When each link has carried what it was given, and at which rate it does.
    idle_at: [Instant; 3],
    rate: Rate,
    /// The longest payload that was handed to any of them of late.
    longest: u64,
    /// Others' queue grows from then on, by a fiftieth of the time.
    rivals: Option<Instant>,
}

impl Hub {
    fn new() -> Hub {
        let mut config = Config { super_segments: false, ..Config::default() };
        config.satellite.found_by = FoundBy::AllFlows;
        let mut table = Table::new(config);
        table.gateway.identify_as(0xcccc_0003);
        let mss = Some(1460);
        table.options =
            TcpOptions { mss, sack_permitted: true, window_scale: Some(7), ..Table::stamped() };
        let rate = Rate::from_bits_per_sec(2_000_000);
        let idle_at = [Instant::ZERO; 3];
        Hub { table, uploads: Vec::new(), idle_at, rate, longest: 0, rivals: None }
    }

    /// A segment of the connection from this port to this server.
    fn give(
        &mut self,
        (port, server): (u16, u8),
        from: Side,
        tcp: TcpHeader,
        payload: &[u8],
    ) -> Vec<Transmit> {
        let ip = Table::ip(from);
        let (ip, tcp) = match from {
            Side::Lan => {
                (IpHeader { dst: host(server), ..ip }, TcpHeader { src_port: port, ..tcp })
            }
            Side::Satellite => {
                (IpHeader { src: host(server), ..ip }, TcpHeader { dst_port: port, ..tcp })
            }
        };
        self.table.give(from, &ip, &tcp, payload)
    }

    /// A connection; `peer`: to a server behind another gateway. What was sent.
    fn open(&mut self, flow: (u16, u8), peer: bool) -> Vec<Transmit> {
        let mut options = self.table.options.clone();
        let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
        let syn = TcpHeader { options: options.clone(), ..syn };
        let mut sent = self.give(flow, Side::Lan, syn, b"");
        if peer {
            assert!(Announcement::default().put(ToldLink::default(), None, &mut options));
        }
        let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
        sent.extend(self.give(flow, Side::Satellite, TcpHeader { options, ..synack }, b""));
        sent.extend(self.give(flow, Side::Lan, self.at(Side::Lan, 1, 1), b""));
        sent
    }

    /// A segment at offsets of the streams.
    fn at(&self, from: Side, seq: u64, ack: u64) -> TcpHeader {
        let value = 600 + (self.table.now.as_nanos() / 1_000_000) as u32;
        self.table.stamp(Table::segment(from, seq, ack, Flags::ACK), value)
    }

    /// An acknowledgment with these options and timestamps comes from the server.
    fn acknowledge(&mut self, flow: (u16, u8), seq: u64, options: TcpOptions) {
        let upload = self.uploads.iter().find(|upload| upload.flow == flow);
        let acked = upload.map_or(1, |upload| upload.acked);
        let ack = self.at(Side::Satellite, seq, acked);
        let options = TcpOptions { timestamps: ack.options.timestamps, ..options };
        self.give(flow, Side::Satellite, TcpHeader { options, ..ack }, b"");
    }

    fn report(&mut self, flow: (u16, u8), identity: u32) {
        self.acknowledge(flow, 1, report(1, identity));
    }

    /// How many flows each remote has.
    fn remotes(&self) -> Vec<(u32, usize)> {
        let bits = |it| [A, B].into_iter().find(|bits| Identity::new(*bits) == Some(it));
        let remotes = self.table.gateway.remotes().into_iter();
        remotes.map(|(identity, flows)| (bits(identity).unwrap_or(0), flows)).collect()
    }

    fn controls(&self) -> Vec<CongestionAlgorithm> {
        self.table.gateway.controls(Side::Satellite)
    }

    /// A connection to a server that is behind this remote, or says so. The client uploads on it.
    fn upload(&mut self, flow: (u16, u8), identity: u32, way: Way) {
        self.upload_unreported(flow, way);
        self.report(flow, identity);
    }

    /// The same, and nothing is reported.
    fn upload_unreported(&mut self, flow: (u16, u8), way: Way) {
        self.open(flow, true);
        let acks = VecDeque::new();
        let limit = 10_000;
        self.uploads.push(Upload {
            flow,
            way,
            acks,
            acked: 1,
            written: 1,
            limit,
            is_over: false,
            reports: None,
        });
    }

    /// Lets so many seconds pass. How many bytes each upload has had acknowledged meanwhile.
    fn pass(&mut self, seconds: u64) -> Vec<u64> {
        self.pass_millis(1_000 * seconds)
    }

    fn pass_millis(&mut self, millis: u64) -> Vec<u64> {
        let before: Vec<u64> = self.uploads.iter().map(|upload| upload.acked).collect();
        for _ in 0..millis {
            let mut sent = Vec::new();
            for number in 0..self.uploads.len() {
                self.go_on(number, &mut sent);
            }
            self.table.gateway.handle_timeout(self.table.now);
            sent.extend(self.table.sent());
            sent.iter().for_each(|sent| self.carry(sent));
            self.table.now += Duration::from_millis(1);
        }
        self.uploads.iter().zip(before).map(|(upload, before)| upload.acked - before).collect()
    }

    /// What has arrived is acknowledged, and the client fills the gateway's window.
    fn go_on(&mut self, number: usize, sent: &mut Vec<Transmit>) {
        let (now, upload) = (self.table.now, &mut self.uploads[number]);
        let flow = upload.flow;
        let before = upload.acked;
        while let Some((_, acked)) = upload.acks.pop_front_if(|(at, _)| *at <= now) {
            upload.acked = upload.acked.max(acked);
        }
        let (acked, from, reports) = (upload.acked, upload.written, upload.reports);
        while !upload.is_over && upload.written + 1_000 <= upload.limit {
            upload.written += 1_000;
        }
        let to = upload.written;
        if acked > before {
            let mut ack = self.at(Side::Satellite, 1, acked);
            if let Some(telling) = reports {
                let options = telling.options(now - ROUND_TRIP / 2, acked);
                ack.options = TcpOptions { timestamps: ack.options.timestamps, ..options };
            }
            sent.extend(self.give(flow, Side::Satellite, ack, b""));
        }
        for seq in (from..to).step_by(1_000) {
            let data = self.at(Side::Lan, seq, 1);
            sent.extend(self.give(flow, Side::Lan, data, &[7; 1_000]));
        }
    }

    fn carry(&mut self, sent: &Transmit) {
        let of = |upload: &&mut Upload| match sent.to {
            Side::Lan => upload.flow.0 == sent.tcp.dst_port,
            Side::Satellite => upload.flow.0 == sent.tcp.src_port,
        };
        let Some(upload) = self.uploads.iter_mut().find(of) else { return };
        if sent.to == Side::Lan {
            let window = u64::from(sent.tcp.window) << 7;
            upload.limit = upload.limit.max(u64::from(sent.tcp.ack.0 - CLIENT_ISN.0) + window);
            return;
        }
        let len = sent.payload_len() as u64;
        let end = u64::from(sent.tcp.seq.0 - CLIENT_ISN.0) + len;
        let arrives = match upload.way {
            _ if len == 0 => return,
            Way::Silent => return,
            Way::Link(number, round_trip) => {
                self.longest = self.longest.max(len);
                let now = self.table.now;
                let queue = self.rivals.map_or(Duration::ZERO, |at| now.saturating_since(at) / 50);
                let idle_at = &mut self.idle_at[number];
                *idle_at = (*idle_at).max(now + queue) + self.rate.time_for(len + 52);
                *idle_at + round_trip
            }
        };
        upload.acks.push_back((arrives, end));
    }
}

/// Whether each pure acknowledgment to the satellite has a report.
fn reports(sent: &[Transmit]) -> Vec<bool> {
    let pure = sent.iter().filter(|it| {
        it.to == Side::Satellite && it.payload_len() == 0 && it.tcp.flags == Flags::ACK
    });
    pure.map(|it| it.tcp.options.experiment(0x6270).is_some()).collect()
}

#[test]
fn our_identity_is_in_three_acknowledgments_of_a_peer_and_in_nothing_else() {
    for (peer, expected) in [(true, [true, false, true, false, true, false]), (false, [false; 6])] {
        let mut hub = Hub::new();
        let opened = hub.open((4000, 1), peer);
        let syns = opened.iter().filter(|it| it.tcp.has(Flags::SYN) && it.to == Side::Satellite);
        // The announcement, with its flags alone.
        let options = |it: &Transmit| it.tcp.options.others().map(<[u8]>::len).collect::<Vec<_>>();
        assert_eq!(syns.map(options).collect::<Vec<_>>(), [[5]]);
        assert!(!reports(&opened).contains(&true), "nothing has come yet");
        let mut sent = Vec::new();
        for number in 0..12 {
            let data = hub.at(Side::Satellite, 1 + 1_000 * number, 1);
            sent.extend(hub.give((4000, 1), Side::Satellite, data, &[7; 1_000]));
            sent.extend(hub.table.wait(Duration::from_millis(40)));
            let ack = hub.at(Side::Lan, 1, 1 + 1_000 * (number + 1));
            sent.extend(hub.give((4000, 1), Side::Lan, ack, b""));
        }
        assert_eq!(reports(&sent)[..6], expected);
        let data = hub.at(Side::Lan, 1, 12_001);
        let data = hub.give((4000, 1), Side::Lan, data, b"hello");
        assert!(data.iter().all(|it| it.tcp.options.experiment(0x6270).is_none()));
        let of_lan = sent.iter().filter(|it| it.to == Side::Lan);
        assert!(of_lan.into_iter().all(|it| it.tcp.options.experiment(0x6270).is_none()));
    }
}

#[test]
fn a_gateway_without_an_identity_or_that_is_silent_reports_none() {
    for (identity, announce) in [(0, true), (7, false)] {
        let mut hub = Hub::new();
        let config = Config { announce, ..hub.table.gateway.config().clone() };
        hub.table.gateway = Gateway::new(config);
        hub.table.gateway.identify_as(identity);
        hub.open((4000, 1), true);
        let data = hub.at(Side::Satellite, 1, 1);
        let mut sent = hub.give((4000, 1), Side::Satellite, data, &[7; 1_000]);
        sent.extend(hub.table.wait(Duration::from_millis(100)));
        assert_eq!(reports(&sent), [false]);
    }
}

#[test]
fn a_remote_is_made_by_what_is_acceptable_and_comes_from_a_peer() {
    let mut hub = Hub::new();
    hub.open((4000, 1), true);
    hub.open((4001, 2), false);
    hub.report((4001, 2), A);
    hub.acknowledge((4000, 1), 1, report(2, A));
    hub.acknowledge((4000, 1), 1, report(1, 0));
    // Outside of the window.
    hub.acknowledge((4000, 1), 1 << 30, report(1, A));
    let ack = hub.at(Side::Lan, 1, 1);
    let options = TcpOptions { timestamps: ack.options.timestamps, ..report(1, A) };
    hub.give((4000, 1), Side::Lan, TcpHeader { options, ..ack }, b"");
    assert_eq!(hub.remotes(), []);
    hub.report((4000, 1), A);
    assert_eq!(hub.remotes(), [(A, 1)]);
    // Where the rate is configured, all share the side's link.
    let mut config = hub.table.gateway.config().clone();
    config.satellite.rate = Some(Rate::from_bits_per_sec(8_000_000));
    hub.table.gateway.reconfigure(config);
    hub.report((4000, 1), B);
    assert_eq!(hub.remotes(), []);
}

#[test]
fn a_flow_is_held_to_lead_where_its_host_is_or_to_the_only_remote() {
    let mut hub = Hub::new();
    hub.open((4000, 1), true);
    hub.report((4000, 1), A);
    hub.open((4001, 2), true);
    hub.open((4002, 3), false);
    assert_eq!(hub.remotes(), [(A, 2)], "to the only one, where a gateway is at the other end");
    hub.report((4001, 2), B);
    assert_eq!(hub.remotes(), [(A, 1), (B, 1)]);
    let gateway = &hub.table.gateway;
    let led: Vec<_> = gateway.flow_views(hub.table.now).map(|view| view.remote).collect();
    let [a, b] = [A, B].map(RemoteName::Gateway);
    assert_eq!(led, [Some(a), Some(b), None]);
    let shown: Vec<_> = gateway.remote_views().map(|remote| (remote.name, remote.flows)).collect();
    assert_eq!(shown, [(a, 1), (b, 1)]);
    assert_eq!(
        (a.to_string(), RemoteName::Carrier.to_string()),
        ("aaaa0001".into(), "carrier".into())
    );
    for (port, server) in [(4003, 2), (4004, 1), (4005, 2), (4006, 4)] {
        hub.open((port, server), true);
    }
    assert_eq!(hub.remotes(), [(A, 2), (B, 3)]);
    for port in [4003, 4005] {
        hub.give((port, 2), Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::RST), b"");
    }
    hub.table.wait(Duration::from_secs(120));
    assert_eq!(hub.remotes(), [(A, 2), (B, 1)]);
}

#[test]
fn a_remote_that_boots_again_takes_the_place_of_the_former_one() {
    let mut hub = Hub::new();
    hub.open((4000, 1), true);
    hub.open((4001, 1), true);
    hub.report((4000, 1), A);
    hub.report((4001, 1), A);
    hub.report((4000, 1), B);
    assert_eq!(hub.remotes(), [(A, 1), (B, 1)]);
    hub.report((4001, 1), B);
    assert_eq!(hub.remotes(), [(B, 2)]);
}

/// The flow of a liar is all that it takes away from others, and one remote is all that it takes.
#[test]
fn a_flow_with_many_identities_has_one_remote() {
    let mut hub = Hub::new();
    hub.open((4000, 1), true);
    hub.report((4000, 1), A);
    hub.open((4001, 2), true);
    for identity in 1..3_000 {
        hub.report((4001, 2), identity);
    }
    assert_eq!(hub.remotes(), [(0, 1), (A, 1)]);
}

#[test]
fn there_are_no_more_remotes_than_1024_and_the_oldest_goes_first() {
    let mut hub = Hub::new();
    for number in 0..1_025_u16 {
        let flow = (4_000 + number, 1);
        hub.open(flow, true);
        let identity = if number == 0 { A } else { u32::from(number) };
        hub.report(flow, identity);
        // In flows that go on nothing changes.
        hub.report(flow, identity);
    }
    let remotes = hub.remotes();
    assert_eq!((remotes.len(), remotes.iter().map(|(_, flows)| flows).sum()), (1_024, 1_024));
    assert!(!remotes.contains(&(A, 1)));
    // Its flow goes on.
    let sent = hub.give((4_000, 1), Side::Lan, hub.at(Side::Lan, 1, 1), &[7; 1_000]);
    assert!(sent.iter().any(|it| it.payload_len() == 1_000));
}

/// A flow that has found its link with others has no window of its own; without that link it has
/// one again, however it loses it.
#[test]
fn a_flow_without_its_link_has_a_window_again() {
    let found = || {
        let mut hub = Hub::new();
        hub.upload((4000, 1), A, Way::Link(0, ROUND_TRIP));
        hub.pass(15);
        assert_eq!(hub.controls(), [CongestionAlgorithm::SharedLink]);
        hub
    };
    // A rate is configured, and taken away.
    let mut hub = found();
    let unconfigured = hub.table.gateway.config().clone();
    let mut config = unconfigured.clone();
    config.satellite.rate = Some(Rate::from_bits_per_sec(8_000_000));
    hub.table.gateway.reconfigure(config);
    assert_eq!((hub.remotes(), hub.controls()), (vec![], vec![CongestionAlgorithm::TolerantCubic]));
    hub.table.gateway.reconfigure(unconfigured);
    assert_eq!(hub.remotes(), [(A, 1)], "the host is known");
    assert_eq!(hub.controls(), [CongestionAlgorithm::SharedLink]);
    // Each flow is to find the link by itself.
    let mut hub = found();
    let mut config = hub.table.gateway.config().clone();
    config.satellite.found_by = FoundBy::EachFlow;
    hub.table.gateway.reconfigure(config);
    assert_eq!((hub.remotes(), hub.controls()), (vec![], vec![CongestionAlgorithm::TolerantCubic]));
    // Losses are to be believed.
    let mut config = found().table.gateway.config().clone();
    let usual = config.satellite.sender.congestion;
    let mut hub = found();
    config.satellite.losses = Losses::Believed;
    hub.table.gateway.reconfigure(config.clone());
    assert_eq!((hub.remotes(), hub.controls()), (vec![], vec![usual]));
    // The same while it hibernates.
    let mut hub = found();
    hub.uploads[0].is_over = true;
    hub.pass(30);
    assert_eq!(hub.table.gateway.hibernated(), 1);
    hub.table.gateway.reconfigure(config);
    hub.report((4000, 1), A);
    assert_eq!(hub.controls(), [usual]);
}

/// Who has not reported may be behind any link, and all behind one.
#[test]
fn before_a_remote_is_known_flows_to_peers_have_one_beginning_together() {
    let mut hub = Hub::new();
    for port in 0..8 {
        hub.upload_unreported((4000 + port, 1), Way::Link(0, ROUND_TRIP));
    }
    hub.open((5000, 2), false);
    assert_eq!(hub.remotes(), []);
    let shared = vec![CongestionAlgorithm::SharedLink; 8];
    assert_eq!(hub.controls(), [&shared[..], &[CongestionAlgorithm::TolerantCubic]].concat());
    let sent = |hub: &Hub| -> u64 {
        hub.uploads.iter().filter_map(|upload| Some(upload.acks.back()?.1 - 1)).sum()
    };
    let mut trains = Vec::new();
    for _ in 0..5 {
        hub.pass_millis(99);
        trains.push(sent(&hub) / 1_448);
    }
    assert!(trains.windows(2).all(|pair| pair[1] - pair[0] <= 13), "{trains:?}");
    assert!((40..=52).contains(&trains[4]), "{trains:?}");
    // The first to report is who the others are as well, until they say something else.
    hub.report((4000, 1), A);
    assert_eq!(hub.remotes(), [(A, 8)]);
    hub.report((4001, 1), B);
    assert_eq!(hub.remotes(), [(A, 7), (B, 1)]);
}

/// What leaves a large initial window is paced, what flows begin together is not.
#[test]
fn a_flow_that_nothing_holds_back_after_a_reload_goes_on_at_once() {
    let mut hub = Hub::new();
    let together = hub.table.gateway.config().clone();
    let mut alone = together.clone();
    alone.satellite.found_by = FoundBy::EachFlow;
    hub.table.gateway.reconfigure(alone);
    hub.upload_unreported((4000, 1), Way::Link(0, ROUND_TRIP));
    hub.pass_millis(5);
    let before = hub.uploads[0].acks.len();
    assert_eq!(hub.table.gateway.unlimited(), None);
    hub.table.gateway.reconfigure(together);
    let sent = hub.table.sent();
    assert_eq!(hub.table.gateway.unlimited(), None);
    assert!(before > 0 && sent.iter().any(|it| it.payload_len() > 0));
}

#[test]
fn a_peer_that_acknowledges_and_does_not_report_is_none_with_whom_a_link_is_shared() {
    let mut hub = Hub::new();
    hub.upload_unreported((4000, 1), Way::Link(0, ROUND_TRIP));
    hub.upload_unreported((4001, 1), Way::Silent);
    hub.pass(2);
    assert_eq!(hub.remotes(), []);
    let [tolerant, shared] = [CongestionAlgorithm::TolerantCubic, CongestionAlgorithm::SharedLink];
    assert_eq!(hub.controls(), [tolerant, shared]);
    hub.report((4000, 1), A);
    assert_eq!((hub.remotes(), hub.controls()), (vec![(A, 1)], vec![shared; 2]));
}

/// Flows that come later from a host whose peer does not report begin by themselves.
#[test]
fn who_was_silent_once_is_not_waited_for_again() {
    let mut hub = Hub::new();
    hub.upload_unreported((4000, 1), Way::Link(0, ROUND_TRIP));
    hub.pass(2);
    let [tolerant, shared] = [CongestionAlgorithm::TolerantCubic, CongestionAlgorithm::SharedLink];
    assert_eq!(hub.controls(), [tolerant]);
    hub.open((4001, 1), true);
    hub.open((4002, 2), true);
    assert_eq!(hub.controls(), [tolerant, tolerant, shared]);
    hub.report((4001, 1), A);
    assert_eq!(hub.controls()[1], shared, "it reports after all");
}

/// A gateway that knows its link reports to whom it helps: who reports does not know his.
#[test]
fn who_knows_the_link_reports_to_those_who_report() {
    let mut hub = Hub::new();
    let mut config = hub.table.gateway.config().clone();
    config.satellite.rate = Some(Rate::from_bits_per_sec(8_000_000));
    hub.table.gateway.reconfigure(config);
    for flow in [(4000, 1), (4001, 2)] {
        hub.open(flow, true);
    }
    hub.report((4000, 1), A);
    let reports = |hub: &mut Hub, flow| {
        let data = hub.at(Side::Satellite, 1, 1);
        let mut sent = hub.give(flow, Side::Satellite, data, &[7; 1_000]);
        sent.extend(hub.table.wait(Duration::from_millis(100)));
        reports(&sent).contains(&true)
    };
    assert!(reports(&mut hub, (4000, 1)) && !reports(&mut hub, (4001, 2)));
}

/// A host on a remote's path can learn its identity and report it. Then its flows count among those
/// of that remote. One that acknowledges nothing is soon not waited for. One whose round trips are
/// not the link's own can lower what is found of that link. No other remote hears of it.
#[test]
fn a_thief_of_an_identity_takes_nothing_from_other_remotes() {
    for way in [Way::Silent, Way::Link(2, Duration::from_millis(1))] {
        let mut hub = Hub::new();
        hub.upload((4000, 1), A, Way::Link(0, ROUND_TRIP));
        hub.upload((4001, 2), B, Way::Link(1, ROUND_TRIP));
        hub.pass(20);
        let [a, b] = hub.pass(20)[..] else { panic!("two uploads") };
        assert!(a.min(b) > 4_500_000, "{a}, {b}");
        hub.upload((4002, 3), A, way);
        assert_eq!(hub.remotes(), [(A, 2), (B, 1)]);
        let [robbed, other, _] = hub.pass(20)[..] else { panic!("three uploads") };
        assert!(other > b * 19 / 20, "{way:?}: {other} of {b}");
        assert!(robbed > a * 3 / 4 || !matches!(way, Way::Silent), "{robbed} of {a}");
    }
}

/// It shares a link with an honest remote: what both have had in 20 s, and the longest queue of
/// these, in milliseconds.
fn next_to(bytes: f64, clock: f64) -> ([u64; 2], f64) {
    let mut hub = fast_hub();
    for (port, server, identity, bytes, clock) in
        [(4000, 1, A, 1.0, 1.0), (4001, 2, B, bytes, clock)]
    {
        hub.upload((port, server), identity, Way::Link(0, ROUND_TRIP));
        hub.uploads.last_mut().expect("it was begun").reports =
            Some(Telling { identity, bytes, clock });
    }
    hub.pass(20);
    let (mut had, mut longest) = ([0; 2], 0.0_f64);
    for _ in 0..2_000 {
        let passed = hub.pass_millis(10);
        had = [had[0] + passed[0], had[1] + passed[1]];
        longest = longest.max(hub.idle_at[0].saturating_since(hub.table.now).as_secs_f64() * 1e3);
    }
    (had, longest)
}

/// Next to an honest remote the queue is 130 ms at the longest.
#[test]
fn a_liar_neither_stops_a_link_nor_fills_its_queue() {
    for (bytes, clock) in [(100.0, 1.0), (0.25, 1.0), (0.0, 1.0), (1.0, 0.5), (1.0, 2.0)] {
        let (had, longest) = next_to(bytes, clock);
        assert!(had[0] + had[1] > 46_000_000, "{bytes} × the bytes, clock {clock}: {had:?}");
        assert!(longest < 600.0, "{bytes} × the bytes, clock {clock}: {longest} ms");
    }
}

/// Also with an identity that another remote had, and after one has booted again.
#[test]
fn behind_one_carrier_all_remotes_count_as_one() {
    let mut hub = Hub::new();
    let mut config = hub.table.gateway.config().clone();
    config.satellite.found_by = FoundBy::AllRemotes;
    hub.table.gateway.reconfigure(config);
    for (flow, identity) in [((4000, 1), A), ((4001, 2), B), ((4002, 1), B)] {
        hub.open(flow, true);
        hub.report(flow, identity);
    }
    let flows = |hub: &Hub| hub.remotes().into_iter().map(|(_, flows)| flows).collect::<Vec<_>>();
    assert_eq!(flows(&hub), [3]);
    let mut config = hub.table.gateway.config().clone();
    config.satellite.found_by = FoundBy::AllFlows;
    hub.table.gateway.reconfigure(config);
    assert_eq!(hub.remotes(), [(B, 3)], "both hosts were last heard of with it");
}

/// A hub whose links carry 20 Mbit/s.
fn fast_hub() -> Hub {
    Hub { rate: Rate::from_bits_per_sec(20_000_000), ..Hub::new() }
}

/// What of a link of 20 Mbit/s is remembered after half a minute, by a gateway that ends then.
fn remembered() -> Vec<RememberedLink> {
    let mut hub = fast_hub();
    hub.upload((4000, 1), A, Way::Link(0, ROUND_TRIP));
    hub.pass(30);
    hub.table.gateway.links_to_remember(hub.table.now)
}

/// An upload on the first link, by a handshake that takes a round trip.
fn begin_upload(hub: &mut Hub) {
    let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    let (flow, mut options) = ((4000, 1), hub.table.options.clone());
    hub.give(flow, Side::Lan, TcpHeader { options: options.clone(), ..syn }, b"");
    hub.table.wait(ROUND_TRIP);
    assert!(Announcement::default().put(ToldLink::default(), None, &mut options));
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    hub.give(flow, Side::Satellite, TcpHeader { options, ..synack }, b"");
    hub.give(flow, Side::Lan, hub.at(Side::Lan, 1, 1), b"");
    let (way, acks, limit) = (Way::Link(0, ROUND_TRIP), VecDeque::new(), 10_000);
    hub.uploads.push(Upload {
        flow,
        way,
        acks,
        acked: 1,
        written: 1,
        limit,
        is_over: false,
        reports: None,
    });
}

/// A gateway that begins with the links that are remembered, and an upload to the remote of this
/// identity. The bytes of its first two seconds.
fn begun_by(links: &[RememberedLink], identity: u32) -> (u64, Hub) {
    let mut hub = fast_hub();
    hub.table.gateway.remember_links(hub.table.now, links);
    begin_upload(&mut hub);
    hub.pass_millis(400);
    hub.report((4000, 1), identity);
    (hub.pass_millis(1_600).iter().sum(), hub)
}

#[test]
fn what_an_earlier_run_has_found_is_begun_with_where_the_round_trip_is_the_same() {
    let links = remembered();
    let [link] = &links[..] else { panic!("{links:?}") };
    assert_eq!((link.identity, &link.hosts[..]), (A, &[][..]), "it is the only one");
    let megabits = link.rate.bits_per_sec() as f64 / 1e6;
    assert!((18.0..=20.5).contains(&megabits), "{megabits}");
    assert!(link.round_trip.as_secs_f64() < 0.52, "{link:?}");

    let (unknown, _) = begun_by(&[], A);
    let (known, _) = begun_by(&links, A);
    assert!(known > unknown * 3 / 2 && known > 2_000_000, "{known} {unknown}");
    // It was found an hour ago, or two days.
    let old = RememberedLink { age: Duration::from_secs(3_600), ..link.clone() };
    let (half, _) = begun_by(&[old], A);
    assert!(half < known * 9 / 10 && half > unknown, "{half} {known} {unknown}");
    let ancient = RememberedLink { age: Duration::from_secs(200_000), ..link.clone() };
    assert_eq!(begun_by(&[ancient], A).0, unknown);
}

/// An operator who says another rate with `follow` knows something that the last run did not.
#[test]
fn what_is_said_of_a_link_since_then_is_begun_with_instead() {
    let links = remembered();
    let rate = |megabits: u64| Some(Rate::from_bits_per_sec(megabits * 1_000_000));
    let begun = |said: u64, then: Option<Rate>| {
        let mut hub = fast_hub();
        let mut config = hub.table.gateway.config().clone();
        (config.satellite.rate, config.satellite.follow) = (rate(said), true);
        hub.table.gateway = Gateway::new(config);
        let link = RememberedLink { guess: then, ..links[0].clone() };
        hub.table.gateway.remember_links(hub.table.now, &[link]);
        let kept = hub.table.gateway.links_to_remember(hub.table.now);
        kept.iter().map(|link| link.guess).collect::<Vec<_>>()
    };
    assert_eq!(begun(5, rate(5)), [rate(5)]);
    assert_eq!((begun(5, rate(12)), begun(5, None)), (vec![], vec![]));
}

#[test]
fn a_remote_that_was_started_again_as_well_keeps_what_is_remembered_of_it() {
    let links = remembered();
    let (same, _) = begun_by(&links, A);
    let (other, hub) = begun_by(&links, B);
    assert_eq!((same, hub.remotes()), (other, vec![(B, 1)]));
    // What is not used yet is remembered as it was, and older.
    let mut hub = fast_hub();
    let far = RememberedLink { identity: 77, hosts: vec![host(9)], ..links[0].clone() };
    hub.table.gateway.remember_links(hub.table.now, &[links[0].clone(), far.clone()]);
    hub.table.wait(Duration::from_secs(60));
    let kept = hub.table.gateway.links_to_remember(hub.table.now);
    let kept = kept.iter().find(|link| link.identity == 77).expect("is remembered");
    assert_eq!((&kept.hosts, kept.age), (&far.hosts, far.age + Duration::from_secs(60)));
    // Where something else is configured, nothing is.
    let mut config = hub.table.gateway.config().clone();
    config.satellite.rate = Some(Rate::from_bits_per_sec(8_000_000));
    hub.table.gateway.reconfigure(config);
    assert_eq!(hub.table.gateway.links_to_remember(hub.table.now), []);
}

/// The megabits a second of an upload over 20 Mbit/s from the tenth to the thirtieth second, where
/// the satellite leg is changed so.
fn uploads_with(change: impl FnOnce(&mut LegConfig)) -> f64 {
    let mut config = fast_hub().table.gateway.config().clone();
    change(&mut config.satellite);
    let mut hub = fast_hub();
    hub.table.gateway = Gateway::new(config);
    hub.table.gateway.identify_as(0xcccc_0003);
    begin_upload(&mut hub);
    hub.report((4000, 1), A);
    hub.pass(10);
    hub.pass(20)[0] as f64 * 8.0 / 20.0 / 1e6
}

/// A deployed gateway hands over as much as 64 KB at once. 20 Mbit/s are 2.5 KB in a millisecond.
#[test]
fn on_a_link_that_was_found_a_burst_is_two_segments_and_next_to_rivals_one() {
    let mut hub = fast_hub();
    let config = Config { super_segments: true, ..hub.table.gateway.config().clone() };
    hub.table.gateway = Gateway::new(config);
    hub.table.gateway.identify_as(0xcccc_0003);
    begin_upload(&mut hub);
    hub.report((4000, 1), A);
    hub.pass(10);
    hub.longest = 0;
    let passed = hub.pass(10)[0];
    assert!(passed > 20_000_000, "{passed}");
    assert!((1_501..3_000).contains(&hub.longest), "{}", hub.longest);
    // Where rivals fill the queue, the second of two would find no room.
    hub.rivals = Some(hub.table.now);
    hub.pass(70);
    hub.longest = 0;
    hub.pass(10);
    assert!((1_000..1_501).contains(&hub.longest), "{}", hub.longest);
}

#[test]
fn a_rate_that_is_followed_is_a_beginning_and_a_maximum_is_kept() {
    let rate = |megabits: u64| Some(Rate::from_bits_per_sec(1_000_000 * megabits));
    let followed = |megabits| {
        uploads_with(|leg| {
            leg.rate = rate(megabits);
            leg.follow = true;
        })
    };
    for megabits in [5, 60] {
        let found = followed(megabits);
        assert!(found > 16.0, "{megabits} Mbit/s: {found}");
    }
    let kept = uploads_with(|leg| leg.rate = rate(5));
    assert!((4.0..5.0).contains(&kept), "it is not to be followed: {kept}");
    let bounded = uploads_with(|leg| leg.max_rate = rate(8));
    assert!((7.0..8.0).contains(&bounded), "{bounded}");
    // Where each flow finds its window there is nothing with which to follow.
    let alone = uploads_with(|leg| {
        (leg.rate, leg.follow, leg.found_by) = (rate(5), true, FoundBy::EachFlow);
    });
    assert!((4.0..5.0).contains(&alone), "{alone}");
}

#[test]
fn a_site_that_reports_first_does_not_take_what_is_remembered_of_another() {
    let found = &remembered()[0];
    let at =
        |identity, number| RememberedLink { identity, hosts: vec![host(number)], ..found.clone() };
    let mut hub = fast_hub();
    hub.table.gateway.remember_links(hub.table.now, &[at(A, 1), at(77, 9)]);
    hub.open((4000, 1), true);
    hub.open((4001, 5), true);
    assert_eq!(hub.remotes(), [(A, 2)], "to the only one that is known");
    hub.report((4001, 5), B);
    assert_eq!(hub.remotes(), [(A, 1), (B, 1)]);
}
