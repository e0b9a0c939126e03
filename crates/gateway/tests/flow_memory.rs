//! What a split flow costs that has nothing to do, by what the heap has given: gateways keep
//! thousands of them, as browsers and mail programs leave their connections open.

use bentpipe_core::tcp::buffer::{Chunks, Payload};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset, Rate};
use bentpipe_core::wire::{Flags, IpHeader, SackBlock, SeqNum, TcpHeader, TcpOptions, Timestamps};
use bentpipe_gateway::{Config, Disposition, Gateway, Side};
use std::net::{IpAddr, Ipv4Addr};

const FLOWS: u32 = 1_000;

/// Bytes for each idle flow: its two TCPs at rest, what belongs to them, and its places in the
/// tables.
const LIMIT: i64 = 1_100;

const CLIENT_ISN: SeqNum = SeqNum(1_000);
const SERVER_ISN: SeqNum = SeqNum(77_000);

struct Network {
    gateway: Gateway<Chunks>,
    now: Instant,
    /// What the server reports by SACK.
    sack: Option<SackBlock>,
    /// One past the last offset that the server has been sent, in an upload.
    uploaded: u64,
}

impl Network {
    /// A segment of flow `number`, at offsets of its streams.
    fn segment(&mut self, number: u32, from: Side, seq: u64, ack: u64, flags: Flags, len: usize) {
        let client = IpAddr::from(Ipv4Addr::from(0x0a00_0000 + number));
        let server = IpAddr::from([192, 0, 2, 1]);
        let ((src, dst), (src_port, dst_port), (ours, theirs)) = match from {
            Side::Lan => ((client, server), (40_000, 80), (CLIENT_ISN, SERVER_ISN)),
            Side::Satellite => ((server, client), (80, 40_000), (SERVER_ISN, CLIENT_ISN)),
        };
        let ip = IpHeader { hop_limit: 60, ..IpHeader::between(src, dst) };
        let millis = (self.now.as_nanos() / 1_000_000) as u32;
        let syn = flags.0 & Flags::SYN.0 != 0;
        let options = TcpOptions {
            mss: syn.then_some(1460),
            window_scale: syn.then_some(7),
            sack_permitted: syn,
            timestamps: Some(Timestamps { value: 1 + millis, echo: 0 }),
            sack: self.sack.take().into_iter().collect(),
            ..TcpOptions::default()
        };
        let (seq, ack) = (ours + seq, theirs + ack);
        let window = 60_000;
        let tcp = TcpHeader {
            src_port,
            dst_port,
            seq,
            ack,
            flags,
            window,
            options,
            ..TcpHeader::default()
        };
        let payload = [7; 1460];
        let payload = Payload::Bytes(&payload[..len]);
        let verdict = self.gateway.handle_packet(self.now, from, &ip, &tcp, payload);
        assert_eq!(verdict, Disposition::Consumed, "{tcp:?}");
        self.transmit();
    }

    fn transmit(&mut self) {
        while let Some(sent) = self.gateway.poll_transmit(self.now) {
            let start = sent.tcp.seq.offset_near(CLIENT_ISN, Offset::new(self.uploaded));
            if let Some(start) = start.filter(|_| sent.to == Side::Satellite) {
                self.uploaded =
                    self.uploaded.max((start + Bytes::of_len(sent.payload_len())).get());
            }
        }
    }

    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(at) = self.gateway.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.gateway.handle_timeout(self.now);
            self.transmit();
        }
        self.now = end;
    }

    /// Opens a flow, which carries a request of one segment and a reply of eighty, half of which is
    /// in flight at once.
    fn exchange(&mut self, number: u32) {
        let ack = Flags::ACK;
        self.segment(number, Side::Lan, 0, 0, Flags::SYN, 0);
        self.segment(number, Side::Satellite, 0, 1, Flags::SYN | Flags::ACK, 0);
        self.segment(number, Side::Lan, 1, 1, ack, 400);
        // The link has carried what came before.
        self.wait(Duration::from_millis(10));
        self.segment(number, Side::Satellite, 1, 401, ack, 0);
        let mut acknowledged = 1;
        for at in (0..80).map(|number| 1 + 1_000 * number) {
            self.segment(number, Side::Satellite, at, 401, ack, 1_000);
            if at > 40_000 {
                acknowledged += 2_000;
                self.segment(number, Side::Lan, 401, acknowledged, ack, 0);
            }
        }
        self.segment(number, Side::Lan, 401, 80_001, ack, 0);
    }

    /// An upload of which the satellite loses a segment: the window shrinks, and grows again.
    fn lossy_exchange(&mut self, number: u32) {
        let ack = Flags::ACK;
        self.uploaded = 401;
        for at in (0..50).map(|number| 401 + 1_000 * number) {
            self.segment(number, Side::Lan, at, 80_001, ack, 1_000);
        }
        let (left, right) = (CLIENT_ISN + 2_401, CLIENT_ISN + self.uploaded);
        self.sack = Some(SackBlock { left, right });
        self.segment(number, Side::Satellite, 80_001, 1_401, ack, 0);
        while self.uploaded < 50_401 {
            self.wait(Duration::from_millis(90));
            self.segment(number, Side::Satellite, 80_001, self.uploaded, ack, 0);
        }
        self.segment(number, Side::Satellite, 80_001, 50_401, ack, 0);
    }
}

/// What an idle flow takes after `exchange`, in bytes.
fn idle_flow(config: Config, exchange: impl Fn(&mut Network, u32)) -> i64 {
    let mut left = None;
    let counted = allocation_counter::measure(|| {
        let gateway = Gateway::new(config);
        let mut network = Network { gateway, now: Instant::ZERO, sack: None, uploaded: 1 };
        for number in 0..FLOWS {
            exchange(&mut network, number);
            // Whoever runs a gateway writes them into a log.
            while network.gateway.poll_event().is_some() {}
        }
        network.wait(Duration::from_secs(60));
        assert_eq!((network.gateway.flows(), network.gateway.held()), (FLOWS as usize, 0));
        assert_eq!(network.gateway.summary().split, u64::from(FLOWS));
        left = Some(network);
    });
    let side = left.expect("just made").gateway.summary().side(Side::Satellite);
    println!("{} retransmissions", side.retransmissions);
    counted.bytes_current / i64::from(FLOWS)
}

#[test]
fn an_idle_flow_takes_little() {
    let known = || {
        let mut config = Config::default();
        config.satellite.rate = Some(Rate::from_bits_per_sec(8_000_000));
        config.satellite.round_trip = Some(Duration::from_millis(500));
        config
    };
    let lossy = |network: &mut Network, number| {
        network.exchange(number);
        network.lossy_exchange(number);
    };
    for (name, each) in [
        ("an idle flow", idle_flow(Config::default(), Network::exchange)),
        ("one over a link that is known", idle_flow(known(), Network::exchange)),
        ("one that has lost", idle_flow(Config::default(), lossy)),
    ] {
        println!("{name} takes {each} bytes");
        assert!(each < LIMIT, "{name}: {each} bytes");
    }
}
