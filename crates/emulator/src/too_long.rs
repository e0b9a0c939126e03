//! Packets that are longer than a link's MTU, as at a router in front of it: those of IPv4 that
//! allow it are cut (RFC 791, 3.2), of the others the sender is told (RFC 1191, RFC 8201).

use crate::datagram::Datagram;
use bentpipe_core::wire::IcmpError;
use bentpipe_linux::interface::bridge;
use bentpipe_linux::internet_checksum::write_ipv4_header_checksum;
use bentpipe_linux::packet::Packet;
use bentpipe_linux::vnet_hdr::Checksum;
use nix::ifaddrs::getifaddrs;
use nix::libc;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

/// IPv6 needs so much (RFC 8200, section 5).
const IPV6_MTU: usize = 1280;
/// Of nobody's (RFC 7600, 4.8): who has no address of IPv4 says so.
const NOBODY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// The longest packet.
const LONGEST: usize = 65_535;
/// So many are told in a second at most, as the kernel has it (`icmp_msgs_per_sec`; RFC 4443, 2.4).
const TOLD: u32 = 1000;

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

/// The longest packet that crosses a link, and how this host tells senders.
#[derive(Debug)]
pub struct LengthLimit {
    mtu: usize,
    /// By direction: the way back to those whose packets come in.
    voices: [Voice; 2],
    /// Since when, and how many were told since.
    told: (Instant, u32),
}

impl LengthLimit {
    /// Of a link with this MTU between the two interfaces of this host.
    ///
    /// # Errors
    /// What the system said.
    pub fn between(interfaces: &[String; 2], mtu: u32) -> io::Result<LengthLimit> {
        let [one, other] = interfaces.each_ref().map(|interface| Voice::new(interface));
        Ok(LengthLimit { mtu: mtu as usize, voices: [one?, other?], told: (Instant::now(), 0) })
    }

    /// Whether a packet is one for [`LengthLimit::pass`].
    pub(crate) fn is_exceeded_by(&self, packet: &Datagram) -> bool {
        let is_six = packet.ip.bytes.first().is_some_and(|byte| byte >> 4 == 6);
        packet.ip.bytes.len() > self.mtu || is_six && self.mtu < IPV6_MTU
    }

    /// What goes on of a packet that has come in on this side. It has a right checksum then, and
    /// each part its own header.
    pub(crate) fn pass(&mut self, side: usize, mut packet: Datagram) -> Vec<Datagram> {
        packet.ip.complete();
        if let Some(parts) = cut(&packet, self.mtu) {
            return parts;
        }
        if self.told.0.elapsed() >= Duration::from_secs(1) {
            self.told = (Instant::now(), 0);
        }
        if self.told.1 < TOLD && is_answered(&packet.ip.bytes) {
            self.told.1 += 1;
            self.tell(side, &packet.ip.bytes);
        }
        Vec::new()
    }

    fn tell(&self, side: usize, packet: &[u8]) {
        if let Err(error) = self.voices[side].tell(packet, self.mtu) {
            tracing::debug!(%error, "a sender is not told of the link's MTU");
        }
    }
}

/// Parts of a packet of IPv4 that are no longer than `mtu`. None if it must not be cut, or cannot.
fn cut(packet: &Datagram, mtu: usize) -> Option<Vec<Datagram>> {
    let bytes = &packet.ip.bytes[..];
    let header = usize::from(bytes.first()? & 0x0f) * 4;
    let field = u16::from_be_bytes([*bytes.get(6)?, *bytes.get(7)?]);
    if bytes[0] >> 4 != 4 || field & DONT_FRAGMENT != 0 || header < 20 || mtu < header + 8 {
        return None;
    }
    let payload = bytes.get(header..)?;
    if usize::from(field & OFFSET) * 8 + payload.len() > LONGEST {
        // No packet is as long as that.
        return None;
    }
    let later = copied_options(&bytes[20..header]);
    // The first part has all options, and is no longer than the others.
    let size = (mtu - header) / 8 * 8;
    let count = payload.len().div_ceil(size);
    let parts = payload.chunks(size).enumerate().map(|(number, chunk)| {
        let options = if number == 0 { &bytes[20..header] } else { &later[..] };
        let mut part = [&bytes[..20], options, chunk].concat();
        part[0] = 0x40 | ((20 + options.len()) / 4) as u8;
        let length = part.len() as u16;
        part[2..4].copy_from_slice(&length.to_be_bytes());
        let more = if number + 1 < count { MORE_FRAGMENTS } else { field & MORE_FRAGMENTS };
        let at = (field & OFFSET) + (number * size / 8) as u16;
        part[6..8].copy_from_slice(&(more | at).to_be_bytes());
        write_ipv4_header_checksum(&mut part[..20 + options.len()]);
        Packet { frame: packet.ip.frame, ..Packet::new(part, Checksum::Complete) }.into()
    });
    Some(parts.collect())
}

/// Of a header's options those that go into every part (RFC 791, 3.1), filled up.
fn copied_options(options: &[u8]) -> Vec<u8> {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const COPIED: u8 = 0x80;
    let (mut rest, mut copied) = (options, Vec::new());
    while let [kind, more @ ..] = rest
        && *kind != END
    {
        let length = match (kind, more.first()) {
            (&NOTHING, _) => 1,
            (_, Some(length)) => usize::from(*length).max(2),
            (_, None) => break,
        };
        let Some((option, behind)) = rest.split_at_checked(length) else { break };
        if kind & COPIED != 0 {
            copied.extend_from_slice(option);
        }
        rest = behind;
    }
    copied.resize(copied.len().next_multiple_of(4), END);
    copied
}

/// Whether its sender is told: not of an error, of a later fragment, of what goes to many or comes
/// from nobody in particular (RFC 1122, 3.2.2; RFC 4443, 2.4, which has "too big" for many as
/// well).
fn is_answered(packet: &[u8]) -> bool {
    const ICMP: u8 = 1;
    const ICMPV6: u8 = 58;
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() > 20 => {
            let header = usize::from(packet[0] & 0x0f) * 4;
            let to = Ipv4Addr::new(packet[16], packet[17], packet[18], packet[19]);
            let later = u16::from_be_bytes([packet[6], packet[7]]) & OFFSET != 0;
            let is_error = packet[9] == ICMP
                && packet.get(header).is_none_or(|kind| matches!(kind, 3 | 4 | 5 | 11 | 12));
            let from = Ipv4Addr::new(packet[12], packet[13], packet[14], packet[15]);
            let is_one = !from.is_unspecified() && !from.is_multicast() && !from.is_broadcast();
            !later && !is_error && is_one && !to.is_multicast() && !to.is_broadcast()
        }
        Some(6) if packet.len() > 40 => {
            let is_one = packet[8] != 0xff && packet[8..24] != [0; 16];
            is_one && !(packet[6] == ICMPV6 && packet[40] < 128)
        }
        _ => false,
    }
}

/// How this host speaks to those who are reached by one of its interfaces.
#[derive(Debug)]
struct Voice {
    four: (Socket, Ipv4Addr),
    /// None where there is no IPv6.
    six: Option<(Socket, Ipv6Addr)>,
}

impl Voice {
    fn new(interface: &str) -> io::Result<Voice> {
        let is_port = bridge(interface).ok().flatten().is_some();
        let socket = |domain| -> io::Result<Socket> {
            let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(libc::IPPROTO_RAW)))?;
            // What is reached by a port is reached by its bridge.
            if !is_port {
                socket.bind_device(Some(interface.as_bytes()))?;
            }
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        let addresses: Vec<(bool, IpAddr)> = getifaddrs()?
            .filter_map(|it| {
                let address = it.address?;
                let four = address.as_sockaddr_in().map(|address| IpAddr::from(address.ip()));
                let six = || address.as_sockaddr_in6().map(|address| IpAddr::from(address.ip()));
                Some((it.interface_name == interface, four.or_else(six)?))
            })
            .collect();
        // That of the interface, else another one of this host, as the kernel does.
        let find = |fits: fn(&IpAddr) -> bool| {
            let of = |own: bool| {
                addresses.iter().find(|(is_own, address)| *is_own == own && fits(address))
            };
            of(true).or_else(|| of(false)).map(|(_, address)| *address)
        };
        let four = match find(|address| address.is_ipv4() && !address.is_loopback()) {
            Some(IpAddr::V4(address)) => address,
            _ => NOBODY,
        };
        let is_global = |address: &IpAddr| match address {
            IpAddr::V6(address) => !address.is_loopback() && !address.is_unicast_link_local(),
            IpAddr::V4(_) => false,
        };
        let six = match find(is_global) {
            Some(IpAddr::V6(address)) => Some((socket(Domain::IPV6)?, address)),
            _ => None,
        };
        Ok(Voice { four: (socket(Domain::IPV4)?, four), six })
    }

    /// Tells a packet's sender that it is longer than `mtu`.
    fn tell(&self, packet: &[u8], mtu: usize) -> io::Result<()> {
        let (socket, from): (_, IpAddr) = match (packet[0] >> 4, &self.six) {
            (4, _) => (&self.four.0, self.four.1.into()),
            (_, Some((socket, address))) => (socket, (*address).into()),
            (_, None) => return Ok(()),
        };
        let Some(message) = IcmpError::packet_too_big(from, mtu as u32, packet) else {
            return Ok(());
        };
        let to: IpAddr = match from {
            IpAddr::V4(_) => Ipv4Addr::new(packet[12], packet[13], packet[14], packet[15]).into(),
            IpAddr::V6(_) => {
                <[u8; 16]>::try_from(&packet[8..24]).map(IpAddr::from).map_err(io::Error::other)?
            }
        };
        socket.send_to(&message, &SocketAddr::new(to, 0).into()).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of IPv4 with these options and so much payload.
    fn packet(options: &[u8], field: u16, payload: usize) -> Datagram {
        let header = 20 + options.len();
        let mut bytes = vec![0x40 | (header / 4) as u8, 0, 0, 0, 0x12, 0x34, 0, 0, 64, 17, 0, 0];
        bytes[6..8].copy_from_slice(&field.to_be_bytes());
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend(options);
        bytes.extend((0..payload).map(|at| at as u8));
        let length = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        write_ipv4_header_checksum(&mut bytes[..header]);
        Packet { frame: Some([7; 14]), ..Packet::new(bytes, Checksum::Complete) }.into()
    }

    #[test]
    fn what_may_be_cut_is_cut_and_fits_together() {
        // Record route, which the first part alone has, and a strict route.
        let options = [7, 7, 4, 0, 0, 0, 0, 0x89, 3, 4, 0, 0];
        for (options, kept) in [(&[][..], 0), (&options[..], 4)] {
            for (field, payload) in [(0, 1480), (MORE_FRAGMENTS | 100, 1480), (100, 1001)] {
                let whole = packet(options, field, payload);
                let parts = cut(&whole, 600).expect("parts");
                let mut together = Vec::new();
                for (number, part) in parts.iter().enumerate() {
                    let header = usize::from(part.ip.bytes[0] & 0x0f) * 4;
                    assert!(part.ip.bytes.len() <= 600 && part.ip.frame == whole.ip.frame);
                    assert_eq!(header, 20 + if number == 0 { options.len() } else { kept });
                    let mut again = part.ip.bytes[..header].to_vec();
                    write_ipv4_header_checksum(&mut again);
                    assert_eq!(again, part.ip.bytes[..header]);
                    let at = u16::from_be_bytes([part.ip.bytes[6], part.ip.bytes[7]]);
                    assert_eq!(
                        usize::from(at & OFFSET),
                        8 * usize::from(field & OFFSET) / 8 + together.len() / 8
                    );
                    let more = at & MORE_FRAGMENTS != 0;
                    assert_eq!(more, number + 1 < parts.len() || field & MORE_FRAGMENTS != 0);
                    assert_eq!(&part.ip.bytes[4..6], &whole.ip.bytes[4..6]);
                    together.extend_from_slice(&part.ip.bytes[header..]);
                }
                assert_eq!(together, whole.ip.bytes[20 + options.len()..]);
            }
        }
    }

    #[test]
    fn what_must_not_be_cut_is_not() {
        assert_eq!(cut(&packet(&[], DONT_FRAGMENT, 1480), 600), None);
        assert_eq!(cut(&packet(&[], 0, 1480), 27), None);
        assert_eq!(cut(&Datagram::from(vec![0x60; 1500]), 600), None);
        for bytes in [vec![], vec![0x45; 6], vec![0x4f; 40], vec![0x41; 100]] {
            assert_eq!(cut(&Datagram::from(bytes), 600).map(|parts| parts.len()), None);
        }
    }

    #[test]
    fn nobody_is_told_of_errors_later_fragments_and_what_goes_to_many() {
        let four = |protocol: u8, kind: u8, field: u16, to: u8| {
            let mut bytes = packet(&[], field, 100).ip.bytes;
            (bytes[9], bytes[20], bytes[16]) = (protocol, kind, to);
            is_answered(&bytes)
        };
        assert!(four(17, 3, 0, 10) && four(1, 8, 0, 10) && four(6, 0, MORE_FRAGMENTS, 10));
        assert!(!four(1, 3, 0, 10) && !four(17, 0, 1, 10) && !four(17, 0, 0, 224));
        let six = |next: u8, kind: u8| {
            let mut bytes = vec![0x60; 100];
            (bytes[6], bytes[40]) = (next, kind);
            is_answered(&bytes)
        };
        assert!(six(17, 1) && six(58, 128) && !six(58, 1));
        assert!(!is_answered(&[]) && !is_answered(&[0x45; 20]) && !is_answered(&[0x60; 40]));
    }
}
