//! What a connection costs that is forwarded and may be split in mid-life, by what the heap has
//! given: of many connections few are long (G01-W-2).

use bentpipe_core::tcp::buffer::{Chunks, Payload};
use bentpipe_core::time::Instant;
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{Flags, IpHeader, SeqNum, TcpHeader, TcpOptions, Timestamps};
use bentpipe_gateway::{Config, Disposition, Gateway, Reason, Side};
use std::net::{IpAddr, Ipv4Addr};

const CONNECTIONS: u32 = 1_000;

/// Bytes for each, with its place in the table.
const LIMIT: i64 = 512;

const ISNS: [SeqNum; 2] = [SeqNum(1_000), SeqNum(77_000)];

fn segment(number: u32, from: Side, [seq, ack]: [u64; 2], flags: Flags) -> (IpHeader, TcpHeader) {
    let client = IpAddr::from(Ipv4Addr::from(0x0a00_0000 + number));
    let server = IpAddr::from([192, 0, 2, 1]);
    let (addresses, ports, isns) = match from {
        Side::Lan => ([client, server], [40_000, 80], ISNS),
        Side::Satellite => ([server, client], [80, 40_000], [ISNS[1], ISNS[0]]),
    };
    let ip = IpHeader { hop_limit: 60, ..IpHeader::between(addresses[0], addresses[1]) };
    let syn = flags.contains(Flags::SYN);
    let options = TcpOptions {
        mss: syn.then_some(1460),
        window_scale: syn.then_some(7),
        sack_permitted: syn,
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        ..TcpOptions::default()
    };
    let (src_port, dst_port) = (ports[0], ports[1]);
    let (seq, ack, window) = (isns[0] + seq, isns[1] + ack, 60_000);
    let tcp =
        TcpHeader { src_port, dst_port, seq, ack, flags, window, options, ..TcpHeader::default() };
    (ip, tcp)
}

#[test]
fn a_forwarded_connection_takes_less_than_an_idle_flow() {
    let mut left = None;
    let counted = allocation_counter::measure(|| {
        let config = Config { adopt_after: Some(Bytes::new(100_000)), ..Config::default() };
        let mut gateway: Gateway<Chunks> = Gateway::new(config);
        let payload = [7; 1_000];
        for number in 0..CONNECTIONS {
            let (syn, ack) = (Flags::SYN, Flags::ACK);
            for (from, at, flags, len) in [
                (Side::Lan, [0, 0], syn, 0),
                (Side::Satellite, [0, 1], syn | ack, 0),
                (Side::Lan, [1, 1], ack, 400),
                (Side::Satellite, [1, 401], ack, 1_000),
                (Side::Lan, [401, 1_001], ack, 0),
            ] {
                let (ip, tcp) = segment(number, from, at, flags);
                let payload = Payload::Bytes(&payload[..len]);
                let fate = gateway.handle_packet(Instant::ZERO, from, &ip, &tcp, payload);
                assert_eq!(fate, Disposition::Forward(Reason::Short), "{tcp:?}");
                assert!(gateway.poll_transmit(Instant::ZERO).is_none());
            }
        }
        assert_eq!((gateway.flows(), gateway.held()), (0, 0));
        left = Some(gateway);
    });
    drop(left);
    let each = counted.bytes_current / i64::from(CONNECTIONS);
    println!("a connection that may be split later takes {each} bytes");
    assert!(each < LIMIT, "{each} bytes");
}
