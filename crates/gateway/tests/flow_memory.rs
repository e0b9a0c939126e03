//! What a split flow costs that has nothing to do, by what the heap has given: gateways keep
//! thousands of them, as browsers and mail programs leave their connections open.

use bentpipe_core::tcp::buffer::{Chunks, Payload};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Flags, IpHeader, SeqNum, TcpHeader, TcpOptions, Timestamps};
use bentpipe_gateway::{Config, Disposition, Gateway, Side};
use std::net::{IpAddr, Ipv4Addr};

const FLOWS: u32 = 1_000;

/// Bytes for each idle flow: two TCPs of 1.3 KB each, and what belongs to them.
const LIMIT: i64 = 4_608;

const CLIENT_ISN: SeqNum = SeqNum(1_000);
const SERVER_ISN: SeqNum = SeqNum(77_000);

struct Network {
    gateway: Gateway<Chunks>,
    now: Instant,
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
        let ip = IpHeader { src, dst, hop_limit: 60, traffic_class: 0, flow_label: 0 };
        let millis = (self.now.as_nanos() / 1_000_000) as u32;
        let syn = flags.0 & Flags::SYN.0 != 0;
        let options = TcpOptions {
            mss: syn.then_some(1460),
            window_scale: syn.then_some(7),
            sack_permitted: syn,
            timestamps: Some(Timestamps { value: 1 + millis, echo: 0 }),
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
        assert_eq!(verdict, Disposition::Taken);
        while self.gateway.poll_transmit(self.now).is_some() {}
    }

    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(at) = self.gateway.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.gateway.handle_timeout(self.now);
            while self.gateway.poll_transmit(self.now).is_some() {}
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
}

#[test]
fn an_idle_flow_takes_little() {
    let mut left = None;
    let counted = allocation_counter::measure(|| {
        let mut network = Network { gateway: Gateway::new(Config::default()), now: Instant::ZERO };
        for number in 0..FLOWS {
            network.exchange(number);
        }
        network.wait(Duration::from_secs(60));
        assert_eq!((network.gateway.flows(), network.gateway.held()), (FLOWS as usize, 0));
        assert_eq!(network.gateway.summary().split, u64::from(FLOWS));
        left = Some(network);
    });
    let each = counted.bytes_current / i64::from(FLOWS);
    println!("an idle flow takes {each} bytes");
    assert!(each < LIMIT, "{each} bytes");
    drop(left);
}
