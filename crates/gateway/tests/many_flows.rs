//! As many connections as a gateway has to bear: new ones by the ten thousand a second, and a
//! hundred thousand that are idle, by its defaults; and what each costs, by what the heap has
//! given.

use bentpipe_core::tcp::buffer::{Chunks, Payload};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Flags, IpHeader, SeqNum, TcpHeader, TcpOptions, Timestamps};
use bentpipe_gateway::{Config, Disposition, FlowState, Gateway, Reason, Side};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

const CLIENT_ISN: SeqNum = SeqNum(1_000);
const SERVER_ISN: SeqNum = SeqNum(77_000);

/// A geostationary satellite's.
const ROUND_TRIP: Duration = Duration::from_millis(600);
/// Bytes of a request and of its reply.
const REQUEST: u64 = 200;
const REPLY: u64 = 6_000;

const ACK: Flags = Flags::ACK;
const FIN: Flags = Flags(Flags::FIN.0 | Flags::ACK.0);

struct Network {
    gateway: Gateway<Chunks>,
    now: Instant,
    refused: BTreeMap<Reason, u64>,
}

/// What comes of a connection after each round trip.
#[derive(Debug, Clone, Copy)]
enum Stage {
    Syn,
    Answer,
    Reply,
    End,
}

impl Network {
    fn new(config: Config) -> Network {
        Network { gateway: Gateway::new(config), now: Instant::ZERO, refused: BTreeMap::new() }
    }

    /// A segment of connection `number`, at offsets of its streams.
    fn segment(&mut self, number: u32, from: Side, seq: u64, ack: u64, flags: Flags, len: u64) {
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
            ..TcpOptions::default()
        };
        let tcp = TcpHeader {
            src_port,
            dst_port,
            seq: ours + seq,
            ack: theirs + ack,
            flags,
            window: 60_000,
            options,
            ..TcpHeader::default()
        };
        let payload = [7; 1460];
        let payload = Payload::Bytes(&payload[..len as usize]);
        match self.gateway.handle_packet(self.now, from, &ip, &tcp, payload) {
            Disposition::Consumed => {}
            Disposition::Forward(reason) | Disposition::RewriteAck(reason, _) => {
                *self.refused.entry(reason).or_default() += 1;
            }
        }
        while self.gateway.poll_transmit(self.now).is_some() {}
    }

    fn go_on(&mut self, number: u32, stage: Stage) -> Option<Stage> {
        let (request, reply) = (1 + REQUEST, 1 + REPLY);
        match stage {
            Stage::Syn => {
                self.segment(number, Side::Lan, 0, 0, Flags::SYN, 0);
                return Some(Stage::Answer);
            }
            Stage::Answer => {
                self.segment(number, Side::Satellite, 0, 1, Flags::SYN | Flags::ACK, 0);
                self.segment(number, Side::Lan, 1, 1, ACK, REQUEST);
                return Some(Stage::Reply);
            }
            Stage::Reply => {
                let mut at = 1;
                while at < reply {
                    let len = (reply - at).min(1_400);
                    self.segment(number, Side::Satellite, at, request, ACK, len);
                    at += len;
                    self.segment(number, Side::Lan, request, at, ACK, 0);
                }
                return Some(Stage::End);
            }
            Stage::End => {
                self.segment(number, Side::Satellite, reply, request, FIN, 0);
                self.segment(number, Side::Lan, request, reply + 1, FIN, 0);
                self.segment(number, Side::Satellite, reply + 1, request + 1, ACK, 0);
            }
        }
        None
    }

    fn wait_until(&mut self, end: Instant) {
        while let Some(at) = self.gateway.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.gateway.handle_timeout(self.now);
            while self.gateway.poll_transmit(self.now).is_some() {}
        }
        self.now = end;
    }

    /// `count` connections, a new one every so often.
    fn stream(&mut self, count: u32, every: Duration) {
        let mut stages: BTreeMap<(Instant, u32), Stage> = (0..count)
            .map(|number| ((Instant::ZERO + every * number, number), Stage::Syn))
            .collect();
        while let Some(((at, number), stage)) = stages.pop_first() {
            self.wait_until(at);
            if let Some(next) = self.go_on(number, stage) {
                stages.insert((at + ROUND_TRIP, number), next);
            }
        }
    }
}

#[test]
fn ten_thousand_new_connections_a_second_are_split() {
    const COUNT: u32 = 40_000;
    let mut network = Network::new(Config::default());
    network.stream(COUNT, Duration::from_micros(100));
    let summary = network.gateway.summary();
    assert_eq!(network.refused, BTreeMap::new());
    assert_eq!((summary.split, summary.closed), (COUNT.into(), COUNT.into()));
    assert_eq!((network.gateway.flows(), network.gateway.held()), (COUNT as usize, 0));
    network.wait_until(network.now + Duration::from_secs(17));
    assert_eq!(network.gateway.flows(), 0);
}

/// Bytes that the heap has given for each of many connections, and are still in use.
fn each(count: u32, act: impl FnOnce(&mut Network)) -> (i64, Network) {
    let mut left = None;
    let counted = allocation_counter::measure(|| {
        let mut network = Network::new(Config::default());
        act(&mut network);
        left = Some(network);
    });
    (counted.bytes_current / i64::from(count), left.expect("just made"))
}

#[test]
fn a_connection_that_is_over_costs_less_than_300_bytes() {
    const COUNT: u32 = 10_000;
    let (bytes, network) = each(COUNT, |network| network.stream(COUNT, Duration::from_millis(1)));
    println!("a connection that is over takes {bytes} bytes");
    assert!((64..300).contains(&bytes), "{bytes} bytes");
    let over = network.gateway.flow_states().filter(|state| *state == FlowState::Over).count();
    assert_eq!(over, COUNT as usize);
}

#[test]
fn a_hundred_thousand_idle_connections_fit_the_pool() {
    const COUNT: u32 = 100_000;
    let (bytes, mut network) = each(COUNT, |network| {
        for number in 0..COUNT {
            for stage in [Stage::Syn, Stage::Answer, Stage::Reply] {
                network.go_on(number, stage);
            }
            network.wait_until(network.now + Duration::from_micros(300));
        }
        network.wait_until(network.now + Duration::from_secs(10));
    });
    println!("an idle connection takes {bytes} bytes");
    assert!(bytes < 1_024, "{bytes} bytes");
    assert_eq!(network.refused, BTreeMap::new());
    assert_eq!(network.gateway.summary().split, COUNT.into());
    // Some thousands of them go on at once.
    for number in 0..10_000 {
        network.segment(number, Side::Lan, 1 + REQUEST, 1 + REPLY, ACK, 100);
    }
    assert_eq!(network.refused, BTreeMap::new());
    let received = network.gateway.summary().side(Side::Lan).received_bytes;
    assert_eq!(received, REQUEST * u64::from(COUNT) + 100 * 10_000);
}
