//! Packets for the programs, and what they say, read by other eyes.

use super::super::classification::Way;
use super::super::endpoints::Endpoints;
use super::super::passed::Class;
use super::MACS;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A packet that is put together.
#[derive(Debug, Clone)]
pub(super) struct Packet {
    pub(super) src: SocketAddr,
    pub(super) dst: SocketAddr,
    /// Bytes of IPv4's options.
    pub(super) options: usize,
    pub(super) protocol: u8,
    pub(super) flags: u8,
    /// IPv4's field, or that of IPv6's extension header if it is not zero.
    pub(super) fragment: u16,
    /// Of ICMP, with what it is about.
    pub(super) error: Option<(u8, Box<Packet>)>,
    /// So many bytes are missing at the end.
    pub(super) cut: usize,
}

const TCP: u8 = 6;
pub(super) const SYN: u8 = 2;
pub(super) const ACK: u8 = 16;
const RST: u8 = 4;

impl Packet {
    pub(super) fn tcp(src: SocketAddr, dst: SocketAddr, flags: u8) -> Packet {
        let (protocol, fragment, error) = (TCP, 0, None);
        Packet { src, dst, options: 0, protocol, flags, fragment, error, cut: 0 }
    }

    pub(super) fn is_four(&self) -> bool {
        self.src.is_ipv4()
    }

    /// From the IP header on.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut transport = Vec::new();
        if let Some((kind, about)) = &self.error {
            transport.extend([*kind, 0, 0, 0, 0, 0, 0, 0]);
            transport.extend(about.bytes());
        } else {
            transport.extend(self.src.port().to_be_bytes());
            transport.extend(self.dst.port().to_be_bytes());
            transport.extend([0; 8]);
            transport.extend([0x50, self.flags, 0, 0, 0, 0, 0, 0]);
        }
        let mut bytes = Vec::new();
        match (self.src.ip(), self.dst.ip()) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                bytes.extend([0x45 + (self.options / 4) as u8, 0, 0, 0, 0, 0]);
                bytes.extend(self.fragment.to_be_bytes());
                bytes.extend([64, self.protocol, 0, 0]);
                bytes.extend(src.octets());
                bytes.extend(dst.octets());
                bytes.extend(vec![1; self.options]);
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let next = if self.fragment == 0 { self.protocol } else { 44 };
                bytes.extend([0x60, 0, 0, 0, 0, 0, next, 64]);
                bytes.extend(src.octets());
                bytes.extend(dst.octets());
                if self.fragment != 0 {
                    bytes.extend([self.protocol, 0, 0, 1, 0, 0, 0, 9]);
                }
            }
            _ => unreachable!("one family"),
        }
        bytes.extend(transport);
        bytes.truncate(bytes.len() - self.cut.min(bytes.len()));
        bytes
    }

    pub(super) fn frame(&self) -> Vec<u8> {
        let kind: u16 = if self.is_four() { 0x0800 } else { 0x86dd };
        let mut frame = MACS.to_vec();
        frame.extend(kind.to_be_bytes());
        frame.extend(self.bytes());
        frame
    }

    /// The class of a packet that passes.
    pub(super) fn class(&self) -> Class {
        let whole = if self.is_four() { 20 + self.options } else { 40 };
        let length = self.bytes().len();
        if length < if self.is_four() { 20 } else { 40 } {
            return Class::NotIp;
        }
        let is_piece = self.fragment != 0 && (!self.is_four() || self.fragment & 0x3fff != 0);
        match self.protocol {
            _ if is_piece && !self.is_four() && length < whole + 1 => Class::OtherIp,
            TCP => Class::Tcp,
            17 => {
                let bytes = self.bytes();
                let port = |at: usize| bytes.get(whole + at..whole + at + 2) == Some(&[1, 0xbb]);
                let has_ports = !is_piece && length >= whole + 4;
                if has_ports && (port(0) || port(2)) { Class::Quic } else { Class::Udp }
            }
            _ => Class::OtherIp,
        }
    }

    /// Of which connection it is on its way, and whether that begins with it.
    pub(super) fn named(&self, way: Way) -> Option<(Endpoints, bool)> {
        let ends = |way: Way, src, dst| match way {
            Way::Out => Endpoints { inner: src, outer: dst },
            Way::In => Endpoints { inner: dst, outer: src },
        };
        let whole = if self.is_four() { 20 + self.options } else { 40 };
        let has = |more: usize| self.bytes().len() >= whole + more;
        if let Some((kind, about)) = &self.error {
            let errors: &[u8] = if self.is_four() { &[3, 4, 11, 12] } else { &[1, 2, 3, 4] };
            let icmp = if self.is_four() { 1 } else { 58 };
            let header = if self.is_four() { 20 + about.options } else { 40 };
            let later = if self.is_four() { about.fragment & 0x1fff } else { about.fragment };
            let quoted = errors.contains(kind) && self.protocol == icmp && about.protocol == TCP;
            let back = if way == Way::Out { Way::In } else { Way::Out };
            let known = quoted && self.fragment == 0 && later == 0 && has(8 + header + 4);
            return known.then(|| (ends(back, about.src, about.dst), false));
        }
        if self.protocol != TCP {
            return None;
        }
        if self.fragment & 0x3fff != 0 || (!self.is_four() && self.fragment != 0) {
            let bare = |mut end: SocketAddr| {
                end.set_port(0);
                end
            };
            return (self.is_four() || has(8))
                .then(|| (ends(way, bare(self.src), bare(self.dst)), true));
        }
        let begins = self.flags & 0x17 == SYN;
        has(14).then(|| (ends(way, self.src, self.dst), begins))
    }
}

pub(super) fn some(random: &mut Pcg64Mcg, depth: u8) -> Packet {
    let four = random.random();
    let host = |random: &mut Pcg64Mcg| -> SocketAddr {
        let last = random.random_range(1..4_u16);
        let port = [80, 81, 4000][random.random_range(0..3)];
        match four {
            true => (Ipv4Addr::new(10, 0, 0, last as u8), port).into(),
            false => (Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last), port).into(),
        }
    };
    let (src, dst) = (host(random), host(random));
    let one_in = |random: &mut Pcg64Mcg, times| random.random_range(0..times) == 0;
    let error = (depth > 0 && one_in(random, 3)).then(|| {
        loop {
            let about = some(random, depth - 1);
            if about.is_four() == four {
                break (random.random_range(0..16), Box::new(about));
            }
        }
    });
    let right = match (&error, four) {
        (None, _) => TCP,
        (Some(_), true) => 1,
        (Some(_), false) => 58,
    };
    let protocol = if one_in(random, 9) { [0, 17, 50][random.random_range(0..3)] } else { right };
    let fragments = [0x2000, 0x4000, 0x0010, 0x2abc];
    Packet {
        src,
        dst,
        options: if four && one_in(random, 3) { 4 * random.random_range(1..=10) } else { 0 },
        protocol,
        flags: [SYN, SYN | ACK, ACK, RST, SYN | RST, SYN | 0xc0][random.random_range(0..6)],
        fragment: if one_in(random, 5) { fragments[random.random_range(0..4)] } else { 0 },
        error,
        cut: if one_in(random, 4) { random.random_range(0..60) } else { 0 },
    }
}

pub(super) fn end(last: u8, port: u16) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, last), port).into()
}
