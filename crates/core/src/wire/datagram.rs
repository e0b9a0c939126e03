//! Writing the headers of UDP datagrams (RFC 768) and of pings (RFC 792; RFC 4443, 4.1 and 4.2), in
//! front of a payload of zeros, which adds nothing to a checksum.

use super::IpHeader;
use super::emit::{Headers, pseudo_header};
use etherparse::IpNumber;
use etherparse::checksum::u64_16bit_word::{add_slice, ones_complement};

/// Both headers are of this length.
const HEADER: usize = 8;

/// The IP and UDP headers in front of `payload_len` zeros.
///
/// # Panics
/// If the packet would exceed 65,535 bytes.
pub fn emit_udp(ip: &IpHeader, src_port: u16, dst_port: u16, payload_len: usize) -> Headers {
    let len = HEADER + payload_len;
    let [s0, s1] = src_port.to_be_bytes();
    let [d0, d1] = dst_port.to_be_bytes();
    // `write` has checked that it fits.
    let [l0, l1] = (len as u16).to_be_bytes();
    let sum = pseudo_header(ip, IpNumber::UDP, len);
    write(ip, IpNumber::UDP, payload_len, [s0, s1, d0, d1, l0, l1, 0, 0], 6, |header| {
        match ones_complement(add_slice(sum, header)) {
            // Zero would say that there is no checksum.
            0 => u16::MAX,
            sum => sum,
        }
    })
}

/// The IP and ICMP headers of an echo request, or of the `reply` to one, in front of `payload_len`
/// zeros.
///
/// # Panics
/// If the packet would exceed 65,535 bytes.
pub fn emit_echo(
    ip: &IpHeader,
    reply: bool,
    identifier: u16,
    sequence: u16,
    payload_len: usize,
) -> Headers {
    let (protocol, kind, sum) = if ip.src.is_ipv4() {
        (IpNumber::ICMP, if reply { 0 } else { 8 }, 0)
    } else {
        let protocol = IpNumber::IPV6_ICMP;
        let sum = pseudo_header(ip, protocol, HEADER + payload_len);
        (protocol, if reply { 129 } else { 128 }, sum)
    };
    let [i0, i1] = identifier.to_be_bytes();
    let [s0, s1] = sequence.to_be_bytes();
    let header = [kind, 0, 0, 0, i0, i1, s0, s1];
    write(ip, protocol, payload_len, header, 2, |header| ones_complement(add_slice(sum, header)))
}

/// The IP header and `header`, with its checksum in the field at `field`.
fn write(
    ip: &IpHeader,
    protocol: IpNumber,
    payload_len: usize,
    mut header: [u8; HEADER],
    field: usize,
    checksum: impl FnOnce(&[u8]) -> u16,
) -> Headers {
    let mut out = Headers::new();
    ip.write(protocol, HEADER + payload_len, |bytes| out.extend(bytes.iter().copied()));
    // etherparse sums in native order, so the bytes go out as they are.
    let sum = checksum(&header).to_ne_bytes();
    header[field..field + 2].copy_from_slice(&sum);
    out.extend(header);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Icmpv4Type, Icmpv6Type, NetHeaders, PacketHeaders, TransportHeader};
    use std::net::IpAddr;

    fn ip(v6: bool) -> IpHeader {
        let (src, dst) = match v6 {
            false => (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])),
            true => (IpAddr::from([0xFE; 16]), IpAddr::from([0xFD; 16])),
        };
        IpHeader::between(src, dst)
    }

    /// What another reader makes of the headers and a payload of zeros; all lengths are right.
    fn parse(headers: &[u8], payload: usize) -> (NetHeaders, TransportHeader, Vec<u8>) {
        let bytes = [headers, &vec![0; payload]].concat();
        let parsed = PacketHeaders::from_ip_slice(&bytes).unwrap();
        let rest = parsed.payload.slice().to_vec();
        assert_eq!(rest.len(), payload);
        (parsed.net.unwrap(), parsed.transport.unwrap(), rest)
    }

    #[test]
    fn datagrams_are_read_by_others_with_right_checksums() {
        for (v6, len) in [(false, 0), (false, 1472), (true, 0), (true, 33)] {
            let headers = emit_udp(&ip(v6), 0xFFFE, 53, len);
            let (net, transport, payload) = parse(&headers, len);
            let TransportHeader::Udp(udp) = transport else { panic!("{transport:?}") };
            assert_eq!((udp.source_port, udp.destination_port), (0xFFFE, 53));
            assert_eq!(usize::from(udp.length), 8 + len);
            let sum = match &net {
                NetHeaders::Ipv4(ip, _) => udp.calc_checksum_ipv4(ip, &payload),
                NetHeaders::Ipv6(ip, _) => udp.calc_checksum_ipv6(ip, &payload),
                other => panic!("{other:?}"),
            };
            assert_eq!(sum, Ok(udp.checksum), "v6 {v6}, {len} bytes");
        }
    }

    #[test]
    fn pings_are_read_by_others_with_right_checksums() {
        for (v6, reply) in [(false, false), (false, true), (true, false), (true, true)] {
            let headers = emit_echo(&ip(v6), reply, 7, 0xABCD, 56);
            let (net, transport, payload) = parse(&headers, 56);
            let (echo, sum, expected) = match (&net, transport) {
                (NetHeaders::Ipv4(..), TransportHeader::Icmpv4(icmp)) => {
                    let echo = match icmp.icmp_type {
                        Icmpv4Type::EchoRequest(echo) if !reply => echo,
                        Icmpv4Type::EchoReply(echo) if reply => echo,
                        other => panic!("{other:?}"),
                    };
                    (echo, icmp.checksum, icmp.icmp_type.calc_checksum(&payload))
                }
                (NetHeaders::Ipv6(ip, _), TransportHeader::Icmpv6(icmp)) => {
                    let echo = match icmp.icmp_type {
                        Icmpv6Type::EchoRequest(echo) if !reply => echo,
                        Icmpv6Type::EchoReply(echo) if reply => echo,
                        other => panic!("{other:?}"),
                    };
                    let sum = icmp.icmp_type.calc_checksum(ip.source, ip.destination, &payload);
                    (echo, icmp.checksum, sum.unwrap())
                }
                other => panic!("{other:?}"),
            };
            assert_eq!((echo.id, echo.seq, sum), (7, 0xABCD, expected));
        }
    }
}
