//! Where in an IP packet are the headers and fields that super-segments are cut and joined by.

use crate::internet_checksum::{replaced, write_ipv4_header_checksum};
use crate::vnet_hdr::{Checksum, GsoKind};

/// Protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Flags of TCP.
pub(crate) const FIN: u8 = 0x01;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;
pub(crate) const CWR: u8 = 0x80;

/// The protocol behind an IP header, and where that begins. Of IPv6's extension headers and of
/// fragments it knows nothing.
pub fn transport_of(packet: &[u8]) -> Option<(u8, usize)> {
    match packet.first()? >> 4 {
        4 => Some((*packet.get(9)?, usize::from(packet[0] & 0x0f) * 4)),
        6 => Some((*packet.get(6)?, 40)),
        _ => None,
    }
}

/// A whole TCP segment or UDP datagram whose checksum has still to be finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransportHeaders {
    pub(crate) kind: GsoKind,
    is_ipv4: bool,
    /// Where the transport's header begins.
    pub(crate) transport: usize,
    /// Where the payload begins.
    pub(crate) payload: usize,
    /// Where the checksum is, from the transport's header on.
    pub(crate) checksum_offset: usize,
}

impl TransportHeaders {
    /// Those of `packet`; None if it is none, a fragment, or too short. Behind them is at least one
    /// byte.
    pub(crate) fn find(packet: &[u8], checksum: Checksum) -> Option<TransportHeaders> {
        let Checksum::Needed { start, offset } = checksum else { return None };
        let (transport, checksum_offset) = (usize::from(start), usize::from(offset));
        let is_ipv4 = match packet.first()? >> 4 {
            4 => true,
            6 => false,
            _ => return None,
        };
        let protocol = match is_ipv4 {
            true => {
                let header = packet.first_chunk::<20>()?;
                let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
                let length = usize::from(header[0] & 0x0f) * 4;
                (length >= 20 && length == transport && fragment == 0).then_some(header[9])?
            }
            // Behind extension headers the checksum's place tells the protocol.
            false if transport == 40 => packet.first_chunk::<40>()?[6],
            false => match (transport > 40, checksum_offset) {
                (true, 16) => TCP,
                (true, 6) => UDP,
                _ => return None,
            },
        };
        let (kind, length, expected) = match protocol {
            TCP => {
                let length = usize::from(packet.get(transport + 12)? >> 4) * 4;
                (if is_ipv4 { GsoKind::TcpV4 } else { GsoKind::TcpV6 }, length, 16)
            }
            UDP => (GsoKind::Udp, 8, 6),
            _ => return None,
        };
        let payload = transport + length;
        let least = if kind == GsoKind::Udp { 8 } else { 20 };
        let whole = length >= least && checksum_offset == expected && packet.len() > payload;
        whole.then_some(TransportHeaders { kind, is_ipv4, transport, payload, checksum_offset })
    }

    /// How much of the packet the transport has.
    fn length(&self, packet: &[u8]) -> u16 {
        (packet.len() - self.transport) as u16
    }

    /// Writes the lengths of `packet`, which has been cut or has grown, where its transport's
    /// length was `before`. The IPv4 header's checksum is finished, the transport's remains
    /// unfinished.
    pub(crate) fn write_lengths(&self, packet: &mut [u8], before: usize) {
        let now = self.length(packet);
        match self.is_ipv4 {
            true => {
                let total = packet.len() as u16;
                packet[2..4].copy_from_slice(&total.to_be_bytes());
                write_ipv4_header_checksum(&mut packet[..self.transport]);
            }
            false => {
                let length = (packet.len() - 40) as u16;
                packet[4..6].copy_from_slice(&length.to_be_bytes());
            }
        }
        if self.kind == GsoKind::Udp {
            write(packet, self.transport + 4, now);
        }
        // The field has the sum of the pseudo-header, of which the length is a part.
        let field = self.transport + self.checksum_offset;
        write(packet, field, replaced(read(packet, field), before as u16, now));
    }

    /// Of a TCP segment.
    pub(crate) fn sequence(&self, packet: &[u8]) -> u32 {
        let at = self.transport + 4;
        u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
    }

    pub(crate) fn set_sequence(&self, packet: &mut [u8], sequence: u32) {
        let at = self.transport + 4;
        packet[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
    }

    /// Of a TCP segment.
    pub(crate) fn flags(&self, packet: &[u8]) -> u8 {
        packet[self.transport + 13]
    }

    pub(crate) fn set_flags(&self, packet: &mut [u8], flags: u8) {
        packet[self.transport + 13] = flags;
    }

    /// IPv4's identification of the packet that is `number` behind this one; 0 with IPv6.
    pub(crate) fn identification(&self, packet: &[u8], number: u16) -> u16 {
        // Wraps as the field does.
        if self.is_ipv4 { read(packet, 4).wrapping_add(number) } else { 0 }
    }

    /// Before the lengths are written, with which goes the header's checksum.
    pub(crate) fn set_identification(&self, packet: &mut [u8], identification: u16) {
        if self.is_ipv4 {
            write(packet, 4, identification);
        }
    }

    /// Whether `a` and `b` differ in nothing but what differs between parts of one super-segment:
    /// lengths, checksums, identification, sequence number, and PSH.
    pub(crate) fn are_alike(&self, a: &[u8], b: &[u8]) -> bool {
        let same = |from: usize, to: usize| a[from..to] == b[from..to];
        let (ip, tcp) = (self.transport, self.transport);
        let network = match self.is_ipv4 {
            true => same(0, 2) && same(6, 10) && same(12, ip),
            false => same(0, 4) && same(6, ip),
        };
        let ports = same(ip, ip + 4);
        let rest = self.kind == GsoKind::Udp
            || (same(tcp + 8, tcp + 13)
                && (a[tcp + 13] | PSH) == (b[tcp + 13] | PSH)
                && same(tcp + 14, tcp + 16)
                && same(tcp + 18, self.payload));
        network && ports && rest
    }
}

fn read(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet[at], packet[at + 1]])
}

fn write(packet: &mut [u8], at: usize, value: u16) {
    packet[at..at + 2].copy_from_slice(&value.to_be_bytes());
}
