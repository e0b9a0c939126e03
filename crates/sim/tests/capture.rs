//! What a capture at the hosts has: every packet, whole in its headers, and nothing changed by it.

use crate::support::parsed;
use bentpipe_core::tcp::buffer::Pattern;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Offset;
use bentpipe_core::wire::{Flags, Packet, SeqNum, Verify};
use bentpipe_gateway::Side;
use bentpipe_results::{Captured, Direction, PacketSink, Sinks};
use bentpipe_sim::{run, run_into};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

/// Two hosts, TCP both ways, pings, and datagrams; the line loses some, and the queue drops some.
const TEXT: &str = r#"
    [run]
    duration = "8s"
    [host.server]
    [host.client]
    [link.sat]
    between = ["server", "client"]
    rate = "2Mbit/s"
    delay = "50ms"
    queue = "20packets"
    loss = 0.01
    [flow.down]
    from = "server"
    to = "client"
    bytes = "300KB"
    [flow.up]
    from = "client"
    to = "server"
    bytes = "50KB"
    [flow.voice]
    from = "client"
    to = "server"
    workload = "udp"
    rate = "64kbit/s"
    packet = "200B"
    stop = "6s"
    [flow.ping]
    from = "server"
    to = "client"
    workload = "ping"
    packets = 5
"#;

#[derive(Debug, Clone, Default)]
struct Collected(Rc<RefCell<Vec<Captured>>>);

impl PacketSink for Collected {
    fn packet(&mut self, packet: &Captured) {
        self.0.borrow_mut().push(packet.clone());
    }
}

/// Packets go to `sink`.
fn capturing(sink: Box<dyn PacketSink>) -> Sinks {
    Sinks { packets: Some(sink), ..Sinks::default() }
}

/// One end of a connection, as addresses and ports.
type FourTuple = (IpAddr, u16, IpAddr, u16);

#[test]
fn every_packet_at_a_host_is_captured_and_right_to_the_last_bit_of_its_checksum() {
    let scenario = parsed(TEXT);
    let packets = Collected::default();
    let sink = Box::new(packets.clone());
    let outcome = run_into(&scenario, 0, capturing(sink), &mut |_| true).unwrap();
    let packets = packets.0.take();

    // A capture changes nothing, and two are the same.
    assert_eq!(run(&scenario, 0, |_| true).unwrap(), outcome);
    let again = Collected::default();
    run_into(&scenario, 0, capturing(Box::new(again.clone())), &mut |_| true).unwrap();
    assert_eq!(again.0.take(), packets);

    // The link has two ends, which count for themselves.
    for (host, [out, back]) in [("server", [0, 1]), ("client", [1, 0])] {
        let counted = |direction| {
            let mine = packets.iter().filter(|p| scenario.node(p.interface.node).name == host);
            let mine = mine.filter(|p| p.direction == direction);
            mine.fold((0, 0), |(packets, bytes), p| (packets + 1, bytes + p.len))
        };
        let (sent, arrived) = (outcome.links[out].counters, outcome.links[back].counters);
        assert!(sent.dropped.packets + sent.lost.packets > 0, "{host}: {sent:?}");
        let (offered, delivered) = (sent.offered, arrived.delivered);
        assert_eq!(counted(Direction::Sent), (offered.packets, offered.bytes), "{host}");
        assert_eq!(counted(Direction::Received), (delivered.packets, delivered.bytes), "{host}");
    }

    let mut initial: BTreeMap<FourTuple, SeqNum> = BTreeMap::new();
    let mut near: BTreeMap<FourTuple, u64> = BTreeMap::new();
    let mut last = Instant::ZERO;
    let mut kinds: BTreeMap<u8, u32> = BTreeMap::new();
    for captured in &packets {
        assert!(captured.at >= last, "{captured:?} after {last:?}");
        last = captured.at;
        let headers = &captured.headers[..];
        let payload = captured.len as usize - headers.len();
        let protocol = headers[9];
        *kinds.entry(protocol).or_default() += 1;
        if protocol != 6 {
            // Headers of 8 bytes; the payload is zeros. With its checksum in it, a sum is -0.
            assert_eq!(headers.len(), 28);
            let pseudo = if protocol == 17 { &headers[12..20] } else { &[] };
            let len = if protocol == 17 { 17 + 8 + payload as u32 } else { 0 };
            assert_eq!(sum(pseudo, sum(&headers[20..], len)), 0xFFFF, "{captured:?}");
            continue;
        }
        let mut bytes = [headers, &vec![0; payload]].concat();
        let Packet { ip, tcp, .. } = Packet::parse(&bytes, Verify::Skip).unwrap();
        let way = (ip.src, tcp.src_port, ip.dst, tcp.dst_port);
        if tcp.has(Flags::SYN) {
            initial.insert(way, tcp.seq);
        }
        let near = near.entry(way).or_default();
        *near = tcp.seq.offset_near(initial[&way], Offset::new(*near)).unwrap().get();
        for (place, byte) in bytes[headers.len()..].iter_mut().enumerate() {
            *byte = Pattern::byte(*near + place as u64);
        }
        assert!(Packet::parse(&bytes, Verify::Full).is_ok(), "{captured:?}");
    }
    // 5 pings and their answers, each at two ends; none of them, or of the datagrams, only once.
    assert_eq!(kinds.keys().copied().collect::<Vec<_>>(), [1, 6, 17]);
    assert!((18..=20).contains(&kinds[&1]) && kinds[&17] > 400, "{kinds:?}");
}

/// The packets of a run of `text` with these lines of `[record]`.
fn captured(text: &str, record: &str) -> Vec<Captured> {
    let scenario = parsed(&format!("{text}\n[record]\npackets = true\n{record}"));
    let packets = Collected::default();
    let sink = Box::new(packets.clone());
    run_into(&scenario, 0, capturing(sink), &mut |_| true).unwrap();
    packets.0.take()
}

/// Two of a kind, pages by way of a cache that calls the server itself, and many short connections,
/// beside a gateway.
const BUSY: &str = r#"
    [run]
    duration = "10s"
    [host.server]
    [host.client]
    [router.near]
    [gateway.far]
    lan-links = "net"
    [link.lan]
    between = ["client", "near"]
    delay = "1ms"
    [link.sat]
    between = ["near", "far"]
    rate = "2Mbit/s"
    delay = "50ms"
    queue = "20packets"
    loss = 0.01
    [link.net]
    between = ["far", "server"]
    delay = "1ms"
    [middlebox.cache]
    kind = "web-cache"
    at = "near"
    link = "sat"
    hits = 0.5
    [flow.down]
    from = "server"
    to = "client"
    bytes = "300KB"
    count = 2
    [flow.page]
    from = "server"
    to = "client"
    workload = "http/1.0"
    page = { document = "500B", objects = "5KB", count = 16 }
    [flow.short]
    from = "client"
    to = "server"
    workload = "poisson"
    per-second = 5
    [flow.voice]
    from = "client"
    to = "server"
    workload = "udp"
    rate = "64kbit/s"
    packet = "200B"
    [flow.ping]
    from = "server"
    to = "client"
    workload = "ping"
    packets = 5
    [flow.gnip]
    from = "client"
    to = "server"
    workload = "ping"
    packets = 7
"#;

/// Each packet is captured with its own flow, and with no other.
#[test]
fn captures_of_single_flows_make_up_the_whole() {
    for (text, flows) in [
        (TEXT, &["down", "up", "voice", "ping"][..]),
        (BUSY, &["down", "page", "short", "voice", "ping", "gnip"]),
    ] {
        let place = |packet: &Captured| (packet.at, packet.interface, packet.headers.to_vec());
        let mut all = captured(text, "");
        let mut parts = Vec::new();
        for flow in flows {
            let part = captured(text, &format!("flows = [\"{flow}\"]"));
            assert!(part.len() >= 10, "{flow}: {}", part.len());
            let protocol = match *flow {
                "voice" => 17,
                "ping" | "gnip" => 1,
                _ => 6,
            };
            assert!(part.iter().all(|packet| packet.headers[9] == protocol), "{flow}");
            parts.extend(part);
        }
        all.sort_by_key(place);
        parts.sort_by_key(place);
        assert_eq!(parts.len(), all.len());
        assert!(parts == all);
        assert_eq!(captured(text, "flows = []"), []);
    }
}

/// Each side of a gateway has what its links have, and what the gateway itself sends has its cause.
#[test]
fn both_sides_of_a_gateway_are_captured() {
    let scenario = parsed(&format!("{BUSY}\n[record]\npackets = true"));
    let packets = Collected::default();
    let sink = Box::new(packets.clone());
    let outcome = run_into(&scenario, 0, capturing(sink), &mut |_| true).unwrap();
    assert_eq!(run(&scenario, 0, |_| true).unwrap(), outcome, "a capture changes nothing");
    let packets = packets.0.take();
    let line = |name, from| {
        let mut links = outcome.links.iter();
        links.find(|row| row.name == name && row.from == from).unwrap().counters
    };
    for (side, name, other) in [(Side::Lan, "net", "server"), (Side::Satellite, "sat", "near")] {
        let here = packets.iter().filter(|p| p.interface.side == Some(side));
        let counted = |way| {
            let mine = here.clone().filter(|p| p.direction == way);
            mine.fold((0, 0), |(packets, bytes), p| (packets + 1, bytes + p.len))
        };
        let (sent, came) = (line(name, "far").offered, line(name, other).delivered);
        assert!(sent.packets > 500, "{sent:?}");
        assert_eq!(counted(Direction::Sent), (sent.packets, sent.bytes), "{side:?}");
        assert_eq!(counted(Direction::Received), (came.packets, came.bytes), "{side:?}");
        for packet in here {
            let own = packet.direction == Direction::Sent && packet.headers[9] == 6;
            assert_eq!(packet.cause.is_some(), own, "all connections are split: {packet:?}");
        }
    }
}

/// A host is at its link, and a gateway at both of its own.
#[test]
fn captures_are_made_at_the_hosts_and_gateways_of_the_links_that_are_named() {
    let all = captured(BUSY, "");
    let scenario = parsed(BUSY);
    for (links, hosts) in [
        ("\"lan\"", &["client"][..]),
        ("\"net\", \"sat\"", &["server", "far"]),
        ("\"lan\", \"net\"", &["server", "client", "far"]),
    ] {
        let part = captured(BUSY, &format!("links = [{links}]"));
        let mine = all.iter().filter(|it| hosts.contains(&&*scenario.node(it.interface.node).name));
        assert!(mine.eq(&part), "{links}");
    }
}

/// The one's complement sum of 16-bit words.
fn sum(bytes: &[u8], more: u32) -> u32 {
    let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let mut sum = more + words.sum::<u32>();
    while sum > 0xFFFF {
        sum = (sum >> 16) + (sum & 0xFFFF);
    }
    sum
}
