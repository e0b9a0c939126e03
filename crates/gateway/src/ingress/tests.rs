//! Two hosts whose packets, as bytes, go through a gateway with IPv6 extension headers, IPv4
//! options, or in fragments: what the user guide says of them.

mod cleared_df;

use super::*;
use crate::{Config, Release, Summary};
use bentpipe_core::tcp::buffer::Chunks;
use bentpipe_core::tcp::connection::{Connection, ConnectionConfig, State};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{self, Checksum, IpHeader, SeqNum, TcpHeader};
use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;

/// What each host sends.
const LEN: usize = 100_000;
/// The ways between each host and the gateway.
const DELAYS: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(8)];
const PORTS: [u16; 2] = [1000, 80];

const HOP_BY_HOP: u8 = 0;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;
/// Behind its first two bytes: a router alert (RFC 2711), padded.
const ROUTER_ALERT: [u8; 6] = [5, 2, 0, 0, 1, 0];
/// The same for IPv4 (RFC 2113).
const V4_ROUTER_ALERT: [u8; 4] = [0x94, 4, 0, 0];

/// What a host does to its packets.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Dress {
    Plain,
    /// An IPv6 extension header of this kind.
    Options(u8),
    /// An IPv4 option.
    V4Option,
    /// Those with more than 512 bytes behind the IPv6 header go in fragments.
    Fragments,
    /// A fragment header on packets that are whole (RFC 6946).
    Atomic,
    /// Fragments, each behind a hop-by-hop header.
    OptionsAndFragments,
    /// A router between it and the gateway clears IPv4's DF; see there.
    ClearedDf {
        icmp: bool,
    },
}

impl Dress {
    /// `packet` as it goes out.
    fn put_on(self, packet: &[u8], number: u32) -> Vec<Vec<u8>> {
        match self {
            Dress::Plain | Dress::ClearedDf { .. } => vec![packet.to_vec()],
            Dress::Options(kind) => vec![insert(packet, kind, &ROUTER_ALERT)],
            Dress::V4Option => vec![with_v4_option(packet)],
            Dress::Fragments => fragments(packet, 512, number),
            Dress::Atomic => fragments(packet, usize::from(u16::MAX), number),
            Dress::OptionsAndFragments => {
                let cut = fragments(packet, 512, number);
                cut.iter().map(|one| insert(one, HOP_BY_HOP, &ROUTER_ALERT)).collect()
            }
        }
    }
}

/// With an extension header of `kind` behind the IPv6 header; `rest` are its bytes from the third
/// on.
fn insert(packet: &[u8], kind: u8, rest: &[u8; 6]) -> Vec<u8> {
    let (header, behind) = packet.split_at(40);
    let mut out = header.to_vec();
    out[4..6].copy_from_slice(&(behind.len() as u16 + 8).to_be_bytes());
    out[6] = kind;
    out.extend([header[6], 0]);
    out.extend(rest);
    out.extend(behind);
    out
}

fn fragments(packet: &[u8], max: usize, number: u32) -> Vec<Vec<u8>> {
    let (header, behind) = packet.split_at(40);
    if behind.len() <= 512 && max == 512 {
        return vec![packet.to_vec()];
    }
    let pieces = behind.chunks(max).enumerate().map(|(index, piece)| {
        let offset = index * max;
        let more = u16::from(offset + piece.len() < behind.len());
        let [a, b] = (offset as u16 | more).to_be_bytes();
        let [c, d, e, f] = number.to_be_bytes();
        insert(&[header, piece].concat(), FRAGMENT, &[a, b, c, d, e, f])
    });
    pieces.collect()
}

fn with_v4_option(packet: &[u8]) -> Vec<u8> {
    let (header, behind) = packet.split_at(20);
    let mut out = [header, &V4_ROUTER_ALERT, behind].concat();
    out[0] = 0x46;
    let len = out.len() as u16;
    out[2..4].copy_from_slice(&len.to_be_bytes());
    out[10..12].fill(0);
    let sum: u32 =
        out[..24].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = !((sum >> 16) as u16).wrapping_add(sum as u16);
    out[10..12].copy_from_slice(&sum.to_be_bytes());
    out
}

/// What a host's IP layer makes of a packet that is for it: options have done their work.
fn taken_off(mut packet: Vec<u8>) -> Vec<u8> {
    if packet[0] >> 4 == 4 {
        if packet[0] == 0x46 {
            packet.drain(20..24);
            packet[0] = 0x45;
            let len = packet.len() as u16;
            packet[2..4].copy_from_slice(&len.to_be_bytes());
        }
        return packet;
    }
    while [HOP_BY_HOP, DESTINATION_OPTIONS].contains(&packet[6]) {
        packet[6] = packet[40];
        packet.drain(40..48);
        let len = packet.len() as u16 - 40;
        packet[4..6].copy_from_slice(&len.to_be_bytes());
    }
    packet
}

struct Host {
    config: ConnectionConfig,
    connection: Option<Connection<Chunks>>,
    addresses: [IpAddr; 2],
    ports: [u16; 2],
    dress: Dress,
    /// Segments that it sends plain before.
    plain: u32,
    sent: u32,
    fragments: Reassembly,
    to_write: Vec<u8>,
    read: Vec<u8>,
}

impl Host {
    /// Uses the connection, and gives what goes out.
    fn act(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        let Some(connection) = &mut self.connection else { return out };
        let written = connection.write(Payload::Bytes(&self.to_write));
        self.to_write.drain(..written);
        if self.to_write.is_empty() {
            connection.close();
        }
        connection.read(Bytes::MAX, |piece| match piece {
            Payload::Bytes(bytes) => self.read.extend(bytes),
            Payload::Pattern { .. } => unreachable!("real bytes were written"),
        });
        while let Ok(segment) = connection.poll_transmit(now) {
            let mut payload = Vec::new();
            connection.payload(segment.data, |piece| {
                if let Payload::Bytes(bytes) = piece {
                    payload.extend(bytes);
                }
            });
            let [src, dst] = self.addresses;
            let [src_port, dst_port] = self.ports;
            let identification = self.sent as u16;
            let ip = IpHeader { identification, ..IpHeader::between(src, dst) };
            let tcp = TcpHeader { src_port, dst_port, ..segment.tcp };
            let headers = wire::emit(&ip, &tcp, [&payload[..]].into_iter(), Checksum::Full);
            let dress = if self.sent < self.plain { Dress::Plain } else { self.dress };
            self.sent += 1;
            out.extend(dress.put_on(&[&headers[..], &payload].concat(), self.sent));
        }
        out
    }

    /// Takes a packet that has arrived.
    fn take(&mut self, now: Instant, bytes: Vec<u8>) {
        let mut bytes = taken_off(bytes);
        match self.fragments.take(now, &bytes, |_| false) {
            Outcome::NotFragment => {}
            Outcome::Whole(whole, _) => bytes = whole,
            Outcome::Kept(others) => return assert!(others.is_empty(), "overlaps"),
        }
        if let Ok(error) = IcmpError::parse(&bytes) {
            let connection = self.connection.as_mut().expect("there is a segment");
            return connection.on_icmp_error(now, &error);
        }
        let packet = Packet::parse(&bytes, Verify::Full).expect("plain TCP");
        let (tcp, payload) = (&packet.tcp, Payload::Bytes(packet.payload));
        match &mut self.connection {
            Some(connection) => connection.handle_segment(now, tcp, payload),
            None => self.connection = Connection::accept(now, self.config, SeqNum(7), tcp),
        }
    }
}

/// Packets on their way, each with when it arrives.
type Line = VecDeque<(Instant, Side, Vec<u8>)>;

/// The next packet that has arrived.
fn due(line: &mut Line, now: Instant) -> Option<(Side, Vec<u8>)> {
    let (at, ..) = line.front()?;
    if *at > now {
        return None;
    }
    line.pop_front().map(|(_, side, packet)| (side, packet))
}

/// A connection over a gateway beside its client, each host of which sends [`LEN`] bytes, `dress`ed
/// behind the first `plain` segments; what the gateway counted.
fn exchange(addresses: [IpAddr; 2], dress: Dress, plain: u32, timestamps: bool) -> Summary {
    exchange_and_drain(addresses, dress, plain, timestamps, Instant::FAR_FUTURE).0
}

/// The same with a gateway that is drained at some moment; also how many packets were forwarded
/// otherwise than they came.
fn exchange_and_drain(
    addresses: [IpAddr; 2],
    dress: Dress,
    plain: u32,
    timestamps: bool,
    drain: Instant,
) -> (Summary, usize) {
    let mut config =
        ConnectionConfig { timestamps, send_buffer: Bytes::new(50_000), ..Default::default() };
    // No super-segments: nobody here would cut them.
    config.sender.max_burst = config.sender.smss;
    let content = |host: usize| (0..LEN).map(|i| (i * (7 + host) % 251) as u8).collect::<Vec<u8>>();
    let mut hosts = [0, 1].map(|host| Host {
        config,
        connection: (host == 0).then(|| Connection::connect(Instant::ZERO, config, SeqNum(5))),
        addresses: [addresses[host], addresses[1 - host]],
        ports: [PORTS[host], PORTS[1 - host]],
        dress,
        plain,
        sent: 0,
        fragments: Reassembly::default(),
        to_write: content(host),
        read: Vec::new(),
    });
    let config = Config { super_segments: false, ..Config::default() };
    let (mut gateway, mut ingress) = (Gateway::new(config), Ingress::default());
    let (mut now, mut drain, mut rewritten) = (Instant::ZERO, Some(drain), 0);
    let mut came = BTreeSet::new();
    let mut routers = cleared_df::routers(dress);
    // To the gateway from the host of this side, or from it to that host.
    let (mut to_gateway, mut to_host) = (Line::new(), Line::new());
    loop {
        for (side, host) in [Side::Lan, Side::Satellite].into_iter().zip(&mut hosts) {
            let out = routers[0].pass(host.act(now));
            to_gateway
                .extend(out.into_iter().map(|packet| (now + DELAYS[side as usize], side, packet)));
        }
        while let Some(transmit) = gateway.poll_transmit(now) {
            let payload = gateway.payload_slices(&transmit);
            let headers = wire::emit(&transmit.ip, &transmit.tcp, payload, Checksum::Full);
            let payload = gateway.payload_slices(&transmit).collect::<Vec<_>>().concat();
            let packet = [&headers[..], &payload].concat();
            let (to, at) = (transmit.to, now + DELAYS[transmit.to as usize]);
            to_host.extend(routers[1].pass(vec![packet]).into_iter().map(|it| (at, to, it)));
        }
        for line in [&mut to_gateway, &mut to_host] {
            line.make_contiguous().sort_by_key(|(at, ..)| *at);
        }
        let timers = hosts.iter().map(|host| host.connection.as_ref()?.poll_timeout());
        let arrivals = [&to_gateway, &to_host].map(|queue| queue.front().map(|(at, ..)| *at));
        let others = [gateway.poll_timeout(), ingress.poll_timeout()];
        let Some(next) = timers.chain(arrivals).chain(others).flatten().min() else { break };
        now = now.max(next);
        assert!(now < Instant::ZERO + Duration::from_secs(3600), "it does not end");
        if drain.take_if(|at| *at <= now).is_some() {
            gateway.drain(now);
        }
        while let Some((side, mut packet)) = due(&mut to_gateway, now) {
            let plain = Checksums::Unverified;
            came.insert(packet.clone());
            let forward = match ingress.take(now, side, &mut packet, plain, &mut gateway) {
                Forward::Nothing => Vec::new(),
                Forward::Itself => vec![packet],
                Forward::Fragments(fragments) => fragments,
            };
            while let Some((to, answer)) = ingress.poll_answer() {
                let icmp = dress != Dress::ClearedDf { icmp: false };
                to_host.extend(icmp.then(|| (now + DELAYS[to as usize], to, answer)));
            }
            rewritten += forward.iter().filter(|packet| !came.contains(*packet)).count();
            let (to, at) = (side.other(), now + DELAYS[side.other() as usize]);
            to_host.extend(forward.into_iter().map(|it| (at, to, it)));
        }
        while let Some((side, packet)) = due(&mut to_host, now) {
            hosts[side as usize].take(now, packet);
        }
        for side in [Side::Lan, Side::Satellite] {
            let (to, at) = (side.other(), now + DELAYS[side.other() as usize]);
            let late = ingress.expire(now, side, &gateway);
            to_host.extend(late.into_iter().map(|it| (at, to, it)));
        }
        gateway.handle_timeout(now);
        for host in &mut hosts {
            if let Some(connection) = &mut host.connection {
                connection.handle_timeout(now);
            }
        }
    }
    for (host, peer) in [(0, 1), (1, 0)] {
        let connection = hosts[host].connection.as_ref().expect("there was one");
        assert!(connection.at_end() && connection.state() == State::Closed, "{dress:?}");
        assert!(hosts[host].read == content(peer), "{dress:?}: host {host} has read all");
    }
    assert_eq!((gateway.flows(), gateway.held()), (0, 0));
    cleared_df::check(dress, &routers);
    (gateway.summary(), rewritten)
}

fn v4() -> [IpAddr; 2] {
    [1, 2].map(|host| IpAddr::from([10, 0, 0, host]))
}

fn v6() -> [IpAddr; 2] {
    [1, 2].map(|host| IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, host]))
}

#[test]
fn plain_connections_are_split() {
    for addresses in [v4(), v6()] {
        let summary = exchange(addresses, Dress::Plain, 0, true);
        assert_eq!((summary.split, summary.closed), (1, 1));
        assert_eq!(summary.all_forwarded().packets, 0);
    }
}

#[test]
fn connections_with_extension_headers_or_options_are_forwarded_whole() {
    for (addresses, dress) in [
        (v6(), Dress::Options(HOP_BY_HOP)),
        (v6(), Dress::Options(DESTINATION_OPTIONS)),
        (v6(), Dress::OptionsAndFragments),
        (v4(), Dress::V4Option),
    ] {
        let summary = exchange(addresses, dress, 0, true);
        assert_eq!((summary.split, summary.split_traffic.packets), (0, 0), "{dress:?}");
        assert!(summary.forwarded_packets(Reason::NotTcp) > 100, "{dress:?}");
    }
}

#[test]
fn a_split_connection_whose_segments_get_extension_headers_is_released() {
    for timestamps in [true, false] {
        for (addresses, dress) in [
            (v6(), Dress::Options(HOP_BY_HOP)),
            (v6(), Dress::Options(DESTINATION_OPTIONS)),
            (v4(), Dress::V4Option),
        ] {
            for plain in [3, 10, 40] {
                let summary = exchange(addresses, dress, plain, timestamps);
                let context = format!("{dress:?} behind {plain}, timestamps {timestamps}");
                assert_eq!((summary.split, summary.route_changes), (1, 1), "{context}");
                assert_eq!((summary.closed, summary.reset), (0, 0), "{context}");
            }
        }
    }
}

#[test]
fn fragments_of_a_split_connection_are_made_whole() {
    for dress in [Dress::Fragments, Dress::Atomic] {
        for plain in [0, 10] {
            let summary = exchange(v6(), dress, plain, true);
            assert_eq!((summary.split, summary.closed), (1, 1), "{dress:?}");
            assert_eq!(summary.all_forwarded().packets, 0, "{dress:?}");
        }
    }
}

/// The hosts' own TCP takes what is rewritten: its checksums are right.
#[test]
fn what_a_releasing_gateway_forwards_is_rewritten_in_its_bytes() {
    for (addresses, dress) in [(v4(), Dress::Plain), (v6(), Dress::Plain), (v6(), Dress::Fragments)]
    {
        for timestamps in [true, false] {
            let mut all = 0;
            for millis in 40..60 {
                let drain = Instant::ZERO + Duration::from_millis(millis);
                let (summary, rewritten) =
                    exchange_and_drain(addresses, dress, 0, timestamps, drain);
                let released = summary.released(Release::Drain);
                assert_eq!((summary.split, released), (1, 1), "{dress:?}");
                all += rewritten;
            }
            assert!(all > 0, "{dress:?}, timestamps {timestamps}");
        }
    }
}
