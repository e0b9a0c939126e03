//! Frames that hold the same segment in each kind of layers, for tests.

use crate::testing::{Packet, data, ip};

/// Bytes of data that the segment has, all of them captured.
pub(super) const DATA: u16 = 10;

/// The segment's IP packet.
pub(super) fn segment() -> Vec<u8> {
    let packet = Packet { ..data(101, DATA) };
    [ip(&packet), vec![0xEE; usize::from(DATA)]].concat()
}

/// IPv4 with this in it.
pub(super) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend((20 + payload.len() as u16).to_be_bytes());
    bytes.extend([0, 7, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    [&bytes, payload].concat()
}

/// IPv6 with this in it.
pub(super) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend((payload.len() as u16).to_be_bytes());
    bytes.extend([next, 63]);
    bytes.extend([0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    bytes.extend([0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    [&bytes, payload].concat()
}

/// IPv4 with UDP to this port.
fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xC0, 0];
    bytes.extend(port.to_be_bytes());
    bytes.extend((8 + payload.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    ipv4(17, &[&bytes, payload].concat())
}

/// An Ethernet frame. Addresses begin with zeros, as many makers' do.
pub(super) fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 6], &kind.to_be_bytes()[..], payload].concat()
}

fn behind(header: &[u8], payload: &[u8]) -> Vec<u8> {
    [header, payload].concat()
}

/// A name, the link type, and the frame.
pub(super) type Stack = (&'static str, u32, Vec<u8>);

/// The segment in layers that are read.
pub(super) fn read() -> Vec<Stack> {
    let tcp = &segment()[..];
    let six = &ipv6(6, &segment()[20..])[..];
    let frame = &ethernet(0x0800, tcp)[..];
    let ether = |name, kind, payload: &[u8]| (name, 1, ethernet(kind, payload));
    let in_ip = |name, packet: Vec<u8>| (name, 101, packet);
    let vlan = behind(&[0, 7, 8, 0], tcp);
    let label = [0, 1, 0x21, 64];
    let control = |kind: &[u8]| behind(&[0xAA, 0xAA, 3], kind);
    vec![
        ("NULL", 0, behind(&[2, 0, 0, 0], tcp)),
        ("LOOP", 108, behind(&[0, 0, 0, 24], six)),
        ("RAW", 101, six.to_vec()),
        ether("Ethernet", 0x0800, tcp),
        ether("padded", 0x0800, &behind(tcp, &[0; 9])),
        ether("VLAN", 0x8100, &vlan),
        ether("VLANs", 0x88A8, &behind(&[0, 9, 0x91, 0, 0, 8, 0x81, 0], &vlan)),
        ether("802.1ah", 0x88A8, &behind(&[0, 9, 0x88, 0xE7, 0, 1, 0, 5], frame)),
        ether("Cisco metadata", 0x8909, &behind(&[1, 1, 0, 1, 0, 16, 8, 0], tcp)),
        ether("E-Tag", 0x893F, &behind(&[0, 0, 0, 0, 0, 0, 8, 0], tcp)),
        ether("VN-Tag", 0x8926, &behind(&[0, 0, 0, 0, 8, 0], tcp)),
        ether("FabricPath", 0x8903, &behind(&[0, 64], frame)),
        ether("SNAP", 50, &behind(&control(&[0, 0, 0, 8, 0]), tcp)),
        ether("LLC", 50, &behind(&[6, 6, 3], tcp)),
        ether("MPLS", 0x8847, &behind(&[0, 1, 0x20, 64, 0, 1, 0x21, 64], six)),
        ether("MPLS, Ethernet", 0x8847, &behind(&label, frame)),
        ether("MPLS, control word", 0x8847, &[&label, &[0; 4], frame].concat()),
        ether("PPPoE", 0x8864, &behind(&[0x11, 0, 0, 5, 0, 52, 0, 0x21], tcp)),
        ether("PPPoE, short", 0x8864, &behind(&[0x11, 0, 0, 5, 0, 51, 0x21], tcp)),
        ("LINUX_SLL", 113, behind(&[0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0], tcp)),
        ("LINUX_SLL2", 276, behind(&[8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6], &behind(&[0; 8], tcp))),
        ("PPP", 9, behind(&[0xFF, 3, 0, 0x21], tcp)),
        ("PPP, short", 9, behind(&[0x57], six)),
        ("PPP_HDLC", 50, behind(&[0xFF, 3, 0, 0x21], tcp)),
        ("PPP_HDLC, Cisco's", 50, behind(&[0x0F, 0, 8, 0], tcp)),
        ("PPP_ETHER", 51, behind(&[0x11, 0, 0, 5, 0, 52, 0, 0x21], tcp)),
        ("PPP, MPLS", 9, [&[0xFF, 3, 2, 0x81], &label[..], tcp].concat()),
        ("PPP, bridged", 9, behind(&[0xFF, 3, 0, 0x31, 0, 1], frame)),
        ("C_HDLC", 104, behind(&[0x8F, 0, 8, 0], tcp)),
        ("FDDI", 10, behind(&[0x50; 13], &behind(&control(&[0, 0, 0, 8, 0]), tcp))),
        ("FRELAY", 107, behind(&[0x18, 0x41, 3, 0xCC], tcp)),
        ("NFLOG", 239, nflog(u16::to_le_bytes, tcp)),
        ("NFLOG, big-endian", 239, nflog(u16::to_be_bytes, tcp)),
        ("IPOIB", 242, behind(&[&[1; 40][..], &[8, 0, 0, 0]].concat(), tcp)),
        ("PKTAP", 258, behind(&[16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9, 9, 9, 9], frame)),
        ("PPI", 192, behind(&[0, 0, 8, 0, 1, 0, 0, 0], frame)),
        ("DSA_TAG_EDSA", 285, [&frame[..12], &[0; 8], &frame[12..]].concat()),
        in_ip("IPIP", ipv4(4, tcp)),
        in_ip("6in4", ipv4(41, six)),
        in_ip("4in6", ipv6(4, tcp)),
        in_ip("GRE", ipv4(47, &behind(&[0, 0, 8, 0], tcp))),
        in_ip("GRE, all", ipv4(47, &[&[0xB0, 0, 8, 0][..], &[9; 12], tcp].concat())),
        in_ip("GRE, Ethernet", ipv6(47, &behind(&[0, 0, 0x65, 0x58], frame))),
        in_ip(
            "PPTP",
            ipv4(47, &behind(&[0x30, 1, 0x88, 0x0B, 0, 51, 0, 1, 0, 0, 0, 1, 0x21], tcp)),
        ),
        in_ip("EoIP", ipv4(47, &behind(&[0x20, 1, 0x64, 0, 0, 64, 1, 0], frame))),
        in_ip("ERSPAN I", ipv4(47, &behind(&[0, 0, 0x88, 0xBE], frame))),
        in_ip("ERSPAN II", ipv4(47, &[&[0x10, 0, 0x88, 0xBE][..], &[9; 12], frame].concat())),
        in_ip("ERSPAN III", ipv4(47, &[&[0x10, 0, 0x22, 0xEB][..], &[0; 16], frame].concat())),
        in_ip("EtherIP", ipv4(97, &behind(&[0x30, 0], frame))),
        in_ip("VXLAN", udp(4789, &behind(&[8, 0, 0, 0, 0, 0, 5, 0], frame))),
        in_ip("Geneve", udp(6081, &[&[1, 0, 0x65, 0x58, 0, 0, 5, 0][..], &[0; 4], frame].concat())),
        in_ip("GTP-U", udp(2152, &behind(&[0x30, 255, 0, 50, 0, 0, 0, 1], tcp))),
        in_ip(
            "GTP-U, extended",
            udp(2152, &behind(&[0x34, 255, 0, 58, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0], tcp)),
        ),
        in_ip("L2TP", udp(1701, &behind(&[0x40, 2, 0, 60, 0, 1, 0, 1, 0xFF, 3, 0, 0x21], tcp))),
        in_ip("LISP", udp(4341, &behind(&[0x80; 8], tcp))),
        in_ip("Teredo", udp(3544, &behind(&[0, 0, 1, 2, 3, 4, 5, 6], six))),
        in_ip("MPLS in UDP", udp(6635, &behind(&label, tcp))),
        in_ip("VXLAN in VLAN in GRE", {
            let vxlan = udp(4789, &behind(&[8, 0, 0, 0, 0, 0, 5, 0], frame));
            let vlan = ethernet(0x8100, &behind(&[0, 3, 8, 0], &vxlan));
            ipv4(47, &behind(&[0, 0, 0x65, 0x58], &vlan))
        }),
    ]
}

/// A message with a kind before the packet, and one behind.
fn nflog(number: fn(u16) -> [u8; 2], packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 5];
    for (kind, value) in [(1_u16, &[0, 0, 0, 1][..]), (10, b"ab\0"), (9, packet), (10, b"c\0")] {
        bytes.extend(number(value.len() as u16 + 4));
        bytes.extend(number(kind));
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

/// Frames that are not read, and the names of what they hold.
pub(super) fn unread() -> Vec<Stack> {
    let rest = &[0x30; 40][..];
    let in_ip = |name, packet: Vec<u8>| (name, 101, packet);
    vec![
        ("EtherType 0x1234", 1, ethernet(0x1234, rest)),
        ("MACsec", 1, ethernet(0x88E5, rest)),
        ("a frame of link type IEEE802_11_RADIOTAP", 127, rest.to_vec()),
        ("a frame of link type 9999", 9999, rest.to_vec()),
        ("TCP with compressed headers (RFC 1144)", 9, behind(&[0xFF, 3, 0, 0x2D], rest)),
        in_ip("IP protocol 201", ipv4(201, rest)),
        in_ip("ESP", ipv4(50, rest)),
        in_ip("ESP", udp(4500, rest)),
        in_ip("CAPWAP", udp(5247, &[0; 40])),
    ]
}

/// Frames without TCP.
pub(super) fn nothing() -> Vec<Stack> {
    let rest = &[0x30; 40][..];
    let in_ip = |name, packet: Vec<u8>| (name, 101, packet);
    vec![
        ("ARP", 1, ethernet(0x0806, rest)),
        ("LLDP", 1, ethernet(0x88CC, rest)),
        ("STP", 1, ethernet(38, &behind(&[0x42, 0x42, 3], rest))),
        ("LCP", 9, behind(&[0xFF, 3, 0xC0, 0x21], rest)),
        in_ip("ICMP", ipv4(1, &behind(&[3, 4, 0, 0, 0, 0, 0, 0], &segment()))),
        in_ip("DNS", udp(53, rest)),
        in_ip("no VXLAN", udp(4789, rest)),
        in_ip("an echo of GTP-U", udp(2152, &behind(&[0x32, 1, 0, 4, 0, 0, 0, 0], rest))),
    ]
}
