//! What a SYN costs until its SYN-ACK comes, and then until that is acknowledged, by what the heap
//! has given: the gateway keeps it for whoever sends one, so it has to be little (RFC 4987).

use bentpipe_core::tcp::buffer::{Chunks, Payload};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Flags, IpHeader, SeqNum, TcpHeader, TcpOptions, Timestamps};
use bentpipe_gateway::{Config, Disposition, Gateway, Reason, Side};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes for each SYN, whatever it looks like and however many there are.
const LIMIT: i64 = 256;

/// The same for each that a server has answered.
const ANSWERED_LIMIT: i64 = 1_100;

/// From which addresses a flood comes.
#[derive(Debug, Clone, Copy)]
enum Order {
    Rising,
    Falling,
    Scattered,
}

/// The `number`th client's SYN to one server, with all options that a host may offer.
fn syn(order: Order, ipv6: bool, number: u32) -> (IpHeader, TcpHeader) {
    let client = match order {
        Order::Rising => number,
        Order::Falling => u32::MAX - number,
        // A multiplication by an odd number leaves no two alike (Knuth's multiplicative hash).
        Order::Scattered => number.wrapping_mul(2_654_435_761),
    };
    let (src, dst): (IpAddr, IpAddr) = if ipv6 {
        let client = Ipv6Addr::from(0x2001_0db8 << 96 | u128::from(client));
        (client.into(), Ipv6Addr::from((0x2001_0db9 << 96) | 1).into())
    } else {
        (Ipv4Addr::from(client).into(), Ipv4Addr::new(127, 255, 0, 1).into())
    };
    let ip =
        IpHeader { hop_limit: 60, flow_label: number & 0xf_ffff, ..IpHeader::between(src, dst) };
    let tcp = TcpHeader {
        src_port: 40_000,
        dst_port: 80,
        seq: SeqNum(number.wrapping_mul(77)),
        flags: Flags::SYN,
        window: 65_535,
        options: TcpOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: number, echo: 0 }),
            ..TcpOptions::default()
        },
        ..TcpHeader::default()
    };
    (ip, tcp)
}

fn flood(gateway: &mut Gateway<Chunks>, order: Order, ipv6: bool, count: u32) {
    for number in 0..count {
        let (ip, tcp) = syn(order, ipv6, number);
        let verdict =
            gateway.handle_packet(Instant::ZERO, Side::Satellite, &ip, &tcp, Payload::EMPTY);
        assert_eq!(verdict, Disposition::Consumed);
        let sent = gateway.poll_transmit(Instant::ZERO).expect("it is sent on");
        assert_eq!((sent.to, sent.tcp.flags), (Side::Lan, Flags::SYN));
    }
}

#[test]
fn a_syn_costs_less_than_256_bytes() {
    let mut worst = 0;
    for order in [Order::Rising, Order::Falling, Order::Scattered] {
        for ipv6 in [false, true] {
            for count in [500, 1025, 2049, 4096] {
                let mut gateway = Gateway::new(Config::default());
                let heap = allocation_counter::measure(|| flood(&mut gateway, order, ipv6, count));
                assert_eq!(gateway.half_open(), count as usize);
                let each = heap.bytes_current / i64::from(count);
                println!("{order:?}, IPv6 {ipv6}, {count} SYNs: {each} bytes each");
                worst = worst.max(each);
            }
        }
    }
    assert!(worst < LIMIT, "{worst} bytes");
    assert!(worst > 64, "{worst} bytes: not even the addresses and numbers are counted");
}

#[test]
fn beyond_its_limit_a_flood_costs_nothing_and_is_forgotten() {
    let config = Config::default();
    let (limit, timeout) = (config.max_half_open as u32, config.open_timeout);
    let mut gateway = Gateway::<Chunks>::new(config);
    let heap = allocation_counter::measure(|| {
        flood(&mut gateway, Order::Scattered, false, limit);
        let beyond = allocation_counter::measure(|| {
            for number in limit..10 * limit {
                let (ip, tcp) = syn(Order::Scattered, false, number);
                let now = Instant::ZERO;
                let verdict =
                    gateway.handle_packet(now, Side::Satellite, &ip, &tcp, Payload::EMPTY);
                assert_eq!(verdict, Disposition::Forward(Reason::HalfOpen));
            }
        });
        // Of all reasons the last connections are kept, and events until they are asked for.
        assert!(beyond.bytes_current < 16_384, "{} bytes", beyond.bytes_current);
        let end = Instant::ZERO + timeout;
        assert_eq!(gateway.poll_timeout(), Some(end));
        gateway.handle_timeout(end - Duration::from_nanos(1));
        assert_eq!(gateway.half_open(), limit as usize);
        gateway.handle_timeout(end);
    });
    assert_eq!((gateway.flows(), gateway.poll_timeout()), (0, None));
    assert!(heap.bytes_current < 32_768, "{} bytes are left", heap.bytes_current);
    assert_eq!(gateway.summary().forwarded_flows(Reason::HalfOpen), u64::from(9 * limit));
}

/// The server's answer to a SYN.
fn synack((ip, tcp): &(IpHeader, TcpHeader)) -> (IpHeader, TcpHeader) {
    let ip = IpHeader { src: ip.dst, dst: ip.src, ..*ip };
    let options = TcpOptions {
        timestamps: Some(Timestamps { value: 1, echo: tcp.seq.0 }),
        ..tcp.options.clone()
    };
    let tcp = TcpHeader {
        src_port: tcp.dst_port,
        dst_port: tcp.src_port,
        seq: SeqNum(!tcp.seq.0),
        ack: tcp.seq + 1,
        flags: Flags::SYN | Flags::ACK,
        window: 65_535,
        options,
        ..TcpHeader::default()
    };
    (ip, tcp)
}

#[test]
fn an_answered_syn_costs_less_than_1100_bytes() {
    for order in [Order::Rising, Order::Falling, Order::Scattered] {
        for ipv6 in [false, true] {
            for count in [500, 1025, 2049, 4096] {
                let mut gateway = Gateway::<Chunks>::new(Config::default());
                let heap = allocation_counter::measure(|| {
                    for number in 0..count {
                        let syn = syn(order, ipv6, number);
                        let answer = synack(&syn);
                        for (from, (ip, tcp)) in [(Side::Satellite, syn), (Side::Lan, answer)] {
                            let payload = Payload::EMPTY;
                            gateway.handle_packet(Instant::ZERO, from, &ip, &tcp, payload);
                            let sent = gateway.poll_transmit(Instant::ZERO).expect("sent on");
                            assert_eq!(sent.to, from.other());
                        }
                    }
                });
                assert_eq!((gateway.half_open(), gateway.flows()), (0, count as usize));
                let each = heap.bytes_current / i64::from(count);
                println!("{order:?}, IPv6 {ipv6}, {count} answered SYNs: {each} bytes each");
                assert!(each < ANSWERED_LIMIT, "{each} bytes");
            }
        }
    }
}
