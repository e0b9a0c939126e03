//! A super-segment is one packet to the kernel and many on the line: it is cut as the kernel or a
//! network card would (Linux's `segmentation-offloads.rst`), before the queue.

use crate::packet::Packet;
use crate::transport_headers::{CWR, FIN, PSH, TransportHeaders};
use crate::vnet_hdr::{Gso, GsoKind, VnetHdr};

/// Gives `each` the packets that the one of this `header` stands for, in their order. None of a
/// super-segment that is malformed: the kernel makes no such. False then.
pub fn split(header: &VnetHdr, packet: &[u8], mut each: impl FnMut(Packet)) -> bool {
    let Some(gso) = header.gso else {
        each(Packet::new(packet.to_vec(), header.checksum));
        return true;
    };
    let Some(headers) = TransportHeaders::find(packet, header.checksum)
        .filter(|headers| headers.kind == gso.kind && gso.size > 0)
    else {
        return false;
    };
    let size = usize::from(gso.size);
    let count = (packet.len() - headers.payload).div_ceil(size);
    for (number, payload) in packet[headers.payload..].chunks(size).enumerate() {
        let mut bytes = Vec::with_capacity(headers.payload + payload.len());
        bytes.extend_from_slice(&packet[..headers.payload]);
        bytes.extend_from_slice(payload);
        let position = Position { number, is_last: number + 1 == count };
        write_headers(&headers, gso, position, packet.len() - headers.transport, &mut bytes);
        each(Packet::new(bytes, header.checksum));
    }
    true
}

/// Which of the packets.
#[derive(Clone, Copy)]
struct Position {
    number: usize,
    is_last: bool,
}

fn write_headers(
    headers: &TransportHeaders,
    gso: Gso,
    position: Position,
    before: usize,
    packet: &mut [u8],
) {
    let Position { number, is_last } = position;
    let identification = headers.identification(packet, number as u16);
    headers.set_identification(packet, identification);
    if gso.kind != GsoKind::Udp {
        let offset = (number * usize::from(gso.size)) as u32;
        headers.set_sequence(packet, headers.sequence(packet).wrapping_add(offset));
        let mut flags = headers.flags(packet);
        if !is_last {
            flags &= !(FIN | PSH);
        }
        // RFC 3168, section 6.1.2: CWR is set on the first.
        if number > 0 {
            flags &= !CWR;
        }
        headers.set_flags(packet, flags);
    }
    headers.write_lengths(packet, before);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::internet_checksum::ones_complement_sum;
    use crate::vnet_hdr::Checksum;

    /// A packet of this kind with `payload` bytes and an unfinished checksum.
    pub(crate) fn packet(kind: GsoKind, six: bool, payload: usize) -> (Vec<u8>, Checksum) {
        let mut packet = match six {
            false => {
                let mut packet = vec![0x45, 2, 0, 0, 0xff, 0xff, 0x40, 0, 64, 0, 0, 0];
                packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
                packet
            }
            true => {
                let mut packet = vec![0x60, 0, 0, 0, 0, 0, 0, 64];
                packet.extend((0..32).map(|i| i * 7));
                packet
            }
        };
        let start = packet.len();
        let protocol = if kind == GsoKind::Udp { UDP } else { TCP };
        packet[if six { 6 } else { 9 }] = protocol;
        packet.extend([0x10, 0x20, 0x30, 0x40]);
        let offset = match kind {
            GsoKind::Udp => {
                packet.extend([0; 4]);
                6
            }
            _ => {
                packet.extend([0xff, 0xff, 0xff, 0x00, 9, 9, 9, 9, 0x80, 0x99, 1, 1, 0, 0, 0, 0]);
                packet.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
                16
            }
        };
        packet.extend((0..payload).map(|i| (i * 31 % 251) as u8));
        let length = (packet.len() - start) as u16;
        if kind == GsoKind::Udp {
            packet[start + 4..start + 6].copy_from_slice(&length.to_be_bytes());
        }
        let total = (packet.len() - if six { 40 } else { 0 }) as u16;
        let at = if six { 4 } else { 2 };
        packet[at..at + 2].copy_from_slice(&total.to_be_bytes());
        let pseudo = pseudo_header(&packet, start);
        packet[start + offset..start + offset + 2].copy_from_slice(&pseudo.to_be_bytes());
        if !six {
            crate::internet_checksum::write_ipv4_header_checksum(&mut packet[..20]);
        }
        (packet, Checksum::Needed { start: start as u16, offset: offset as u16 })
    }

    const TCP: u8 = 6;
    const UDP: u8 = 17;

    /// The sum of addresses, protocol and length (RFC 9293, 3.1; RFC 8200, 8.1).
    fn pseudo_header(packet: &[u8], start: usize) -> u16 {
        let (addresses, protocol) = match start {
            20 => (&packet[12..20], packet[9]),
            _ => (&packet[8..40], packet[6]),
        };
        let length = ((packet.len() - start) as u16).to_be_bytes();
        let sum = ones_complement_sum(0, addresses);
        ones_complement_sum(sum, &[0, protocol, length[0], length[1]])
    }

    /// Whether a packet's lengths and checksums are right, as a receiver sees it.
    pub(crate) fn assert_sound(packet: &Packet) {
        let mut packet = packet.clone();
        packet.complete();
        let packet = &packet.bytes;
        let six = packet[0] >> 4 == 6;
        let at = if six { 4 } else { 2 };
        let length = usize::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
        assert_eq!(length + if six { 40 } else { 0 }, packet.len());
        let start = if six { 40 } else { 20 };
        if !six {
            assert_eq!(ones_complement_sum(0, &packet[..20]), 0xffff);
        }
        assert_eq!(ones_complement_sum(pseudo_header(packet, start), &packet[start..]), 0xffff);
    }

    const KINDS: [(GsoKind, bool); 4] = [
        (GsoKind::TcpV4, false),
        (GsoKind::TcpV6, true),
        (GsoKind::Udp, false),
        (GsoKind::Udp, true),
    ];

    #[test]
    fn parts_have_right_lengths_checksums_and_all_the_bytes() {
        for (kind, six) in KINDS {
            for payload in [1, 999, 1000, 1001, 3000, 3500, 60_000] {
                let (super_segment, checksum) = packet(kind, six, payload);
                let gso = Some(Gso { kind, ecn: true, size: 1000 });
                let header = VnetHdr { gso, hdr_len: 0, checksum };
                let mut parts = Vec::new();
                assert!(split(&header, &super_segment, |part| parts.push(part)));
                assert_eq!(parts.len(), payload.div_ceil(1000));
                let begin = TransportHeaders::find(&super_segment, checksum).unwrap().payload;
                let mut bytes: Vec<u8> = Vec::new();
                for (number, part) in parts.iter().enumerate() {
                    assert_sound(part);
                    bytes.extend(&part.bytes[begin..]);
                    let headers = TransportHeaders::find(&part.bytes, checksum).unwrap();
                    if !six {
                        let id = headers.identification(&part.bytes, 0);
                        assert_eq!(id, 0xffff_u16.wrapping_add(number as u16));
                    }
                    if kind == GsoKind::Udp {
                        continue;
                    }
                    let offset = 1000 * number as u32;
                    let sequence = 0xffff_ff00_u32.wrapping_add(offset);
                    assert_eq!(headers.sequence(&part.bytes), sequence);
                    let last = (number + 1) * 1000 >= payload;
                    let expected =
                        0x10 | if last { FIN | PSH } else { 0 } | if number == 0 { CWR } else { 0 };
                    assert_eq!(headers.flags(&part.bytes), expected);
                }
                assert_eq!(bytes, super_segment[begin..]);
            }
        }
    }

    #[test]
    fn a_plain_packet_stays_as_it_is() {
        let (bytes, checksum) = packet(GsoKind::TcpV4, false, 1448);
        let header = VnetHdr { checksum, ..VnetHdr::default() };
        let mut parts = Vec::new();
        assert!(split(&header, &bytes, |part| parts.push(part)));
        assert_eq!(parts, [Packet::new(bytes, checksum)]);
    }

    #[test]
    fn what_is_malformed_is_refused() {
        let (bytes, checksum) = packet(GsoKind::TcpV4, false, 3000);
        let gso = Some(Gso { kind: GsoKind::TcpV4, ecn: false, size: 1000 });
        let header = VnetHdr { gso, hdr_len: 0, checksum };
        for length in [0, 1, 19, 20, 32, 33, 40, 52] {
            assert!(!split(&header, &bytes[..length], |_| panic!("a part of {length} bytes")));
        }
        let fragment = [&bytes[..6], &[0x20, 0], &bytes[8..]].concat();
        let other = Some(Gso { kind: GsoKind::Udp, ecn: false, size: 1000 });
        for (header, bytes) in [
            (header, &fragment),
            (VnetHdr { gso: other, ..header }, &bytes),
            (VnetHdr { checksum: Checksum::Complete, ..header }, &bytes),
            (
                VnetHdr { checksum: Checksum::Needed { start: 60_000, offset: 16 }, ..header },
                &bytes,
            ),
            (VnetHdr { checksum: Checksum::Needed { start: 20, offset: 6 }, ..header }, &bytes),
        ] {
            assert!(!split(&header, bytes, |_| panic!("a part: {header:?}")));
        }
    }
}
