//! An IP packet as bytes, for the emulated link.

use crate::drop_notice::DropNotice;
use bentpipe_core::link;
use bentpipe_core::time::Instant;
use bentpipe_links::DirectionPacket;
use bentpipe_linux::packet::Packet;
use bentpipe_linux::vnet_hdr::Checksum;
use std::net::IpAddr;

/// An IP packet on a link. Its wire length is its IP length: the link has no framing of its own.
#[derive(Debug)]
pub(crate) struct Datagram {
    /// As the device gave it.
    pub(crate) ip: Packet,
    /// If a recording is made.
    pub(crate) ticket: Option<DropNotice>,
    /// It does not arrive before.
    pub(crate) not_before: Instant,
    /// One of its bits was turned over.
    damaged: bool,
}

impl From<Packet> for Datagram {
    fn from(packet: Packet) -> Datagram {
        Datagram { ip: packet, ticket: None, not_before: Instant::ZERO, damaged: false }
    }
}

/// Another packet with the same bytes, of which nothing is recorded if it vanishes.
impl Clone for Datagram {
    fn clone(&self) -> Datagram {
        Datagram { ip: self.ip.clone(), ticket: None, ..*self }
    }
}

impl PartialEq for Datagram {
    fn eq(&self, other: &Datagram) -> bool {
        self.ip == other.ip
    }
}

impl From<Vec<u8>> for Datagram {
    /// A packet whose checksum is finished.
    fn from(bytes: Vec<u8>) -> Datagram {
        Packet::new(bytes, Checksum::Complete).into()
    }
}

impl link::LinkPacket for Datagram {
    fn wire_len(&self) -> u64 {
        self.ip.bytes.len() as u64
    }

    /// Of the five-tuple; without ports for fragments, of which only the first has them.
    fn flow_hash(&self) -> u64 {
        let Some(flow) = self.flow() else { return 0 };
        let (source, destination, protocol, payload) = flow;
        let ports = match (protocol, payload) {
            (TCP | UDP, &[a, b, c, d, ..]) => {
                [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]
            }
            _ => [0; 2],
        };
        link::flow_hash(source, destination, protocol, ports)
    }

    /// Sets the ECN field (RFC 3168, section 5) to CE, unless it is Not-ECT.
    fn mark_congestion_experienced(&mut self) -> bool {
        let packet = &mut self.ip.bytes[..];
        let marked = match packet.first().map(|byte| byte >> 4) {
            Some(4) if packet.len() >= 20 && packet[1] & 0b11 != 0 => {
                let old = packet[1];
                packet[1] |= 0b11;
                // RFC 1624, equation 3: HC' = ~(~HC + ~m + m'); m' − m is what was added.
                let checksum = !u16::from_be_bytes([packet[10], packet[11]]);
                let sum = u32::from(checksum) + u32::from(packet[1] - old);
                let folded = (sum & 0xffff) + (sum >> 16);
                packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
                true
            }
            // The traffic class begins in the middle of the first byte.
            Some(6) if packet.len() >= 40 && packet[1] & 0x30 != 0 => {
                packet[1] |= 0x30;
                true
            }
            _ => false,
        };
        if marked {
            self.note("marked: congestion experienced");
        }
        marked
    }
}

impl DirectionPacket for Datagram {
    /// Turns over the bit at this part of what is behind the IP header, so that the transport's
    /// checksum is wrong; of a header alone, one of its own. The packet goes on: the host that it
    /// reaches discards it.
    fn damage(mut self, place: f64) -> Result<Datagram, Datagram> {
        self.note("damaged: one bit");
        self.damaged = true;
        // Else the sum would be made of the damaged bytes.
        self.ip.complete();
        let header = match self.ip.bytes.first().map(|byte| byte >> 4) {
            Some(4) => usize::from(self.ip.bytes[0] & 0x0f) * 4,
            Some(6) => 40,
            _ => 0,
        };
        let begin = if header < self.ip.bytes.len() { header } else { 0 };
        let bits = (self.ip.bytes.len() - begin) * 8;
        let bit = ((place * bits as f64) as usize).min(bits.saturating_sub(1));
        if let Some(byte) = self.ip.bytes.get_mut(begin + bit / 8) {
            *byte ^= 1 << (bit % 8);
        }
        Ok(self)
    }

    fn is_damaged(&self) -> bool {
        self.damaged
    }

    fn not_before(&self) -> Instant {
        self.not_before
    }
}

const TCP: u8 = 6;
const UDP: u8 = 17;

impl Datagram {
    /// Says what has become of it, to a recording.
    fn note(&mut self, note: &'static str) {
        if let Some(ticket) = &mut self.ticket {
            ticket.note = note;
        }
    }

    /// Source, destination, protocol, and what is behind the IP header, if that begins here. A
    /// header of IPv6 behind the first is taken for the protocol.
    fn flow(&self) -> Option<(IpAddr, IpAddr, u8, &[u8])> {
        let packet = &self.ip.bytes[..];
        match packet.first()? >> 4 {
            4 => {
                let header = packet.first_chunk::<20>()?;
                let address = |at: usize| -> [u8; 4] { std::array::from_fn(|i| header[at + i]) };
                // More fragments, or not the first.
                let whole = u16::from_be_bytes([header[6], header[7]]) & 0x3fff == 0;
                let behind = packet.get(usize::from(header[0] & 0x0f) * 4..).filter(|_| whole);
                let payload = behind.unwrap_or_default();
                Some((address(12).into(), address(16).into(), header[9], payload))
            }
            6 => {
                let header = packet.first_chunk::<40>()?;
                let address = |at: usize| -> [u8; 16] { std::array::from_fn(|i| header[at + i]) };
                Some((address(8).into(), address(24).into(), header[6], &packet[40..]))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::LinkPacket;

    /// The sum over a header that includes its own checksum; all ones if that is right (RFC 1071).
    fn sum(header: &[u8]) -> u32 {
        let sum: u32 =
            header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        (sum & 0xffff) + (sum >> 16)
    }

    #[test]
    fn a_marked_header_keeps_its_checksum_right() {
        for id in 0..=u16::MAX {
            for ecn in 0..4u8 {
                let mut packet =
                    vec![0x45, ecn, 0, 20, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
                packet[4..6].copy_from_slice(&id.to_be_bytes());
                let checksum = !(sum(&packet) as u16);
                packet[10..12].copy_from_slice(&checksum.to_be_bytes());
                let mut datagram = Datagram::from(packet.clone());
                assert_eq!(datagram.mark_congestion_experienced(), ecn != 0);
                assert_eq!(datagram.ip.bytes[1], if ecn == 0 { 0 } else { 3 });
                assert_eq!(sum(&datagram.ip.bytes), 0xffff, "{id} {ecn}");
            }
        }
    }

    #[test]
    fn flows_are_told_apart_by_addresses_and_ports() {
        let packet = |host: u8, port: u8, fragment: u8| {
            let mut packet = vec![0x45, 0, 0, 24, 0, 0, 0, fragment, 64, 17, 0, 0];
            packet.extend([10, 0, 0, 1, 10, 0, 0, host, 0, 1, 0, port]);
            Datagram::from(packet).flow_hash()
        };
        assert_eq!(packet(2, 53, 0), packet(2, 53, 0));
        assert_ne!(packet(2, 53, 0), packet(3, 53, 0));
        assert_ne!(packet(2, 53, 0), packet(2, 54, 0));
        // What stands in the place of ports in a later fragment is payload.
        assert_eq!(packet(2, 53, 1), packet(2, 54, 1));
        let mut six = vec![0x60, 0, 0, 0, 0, 4, 6, 64];
        six.extend([1; 36]);
        assert_ne!(Datagram::from(six.clone()).flow_hash(), 0);
        let last = six.len() - 1;
        six[last] = 2;
        assert_ne!(Datagram::from(six).flow_hash(), Datagram::from(vec![0x60; 44]).flow_hash());
        for bytes in [vec![], vec![0x45; 19], vec![0x4f; 20], vec![0x6f; 39], vec![0xff; 64]] {
            Datagram::from(bytes).flow_hash();
        }
    }

    #[test]
    fn damage_is_one_bit_behind_the_ip_header() {
        let mut bytes = vec![0x45, 0, 0, 48, 0, 0, 0x40, 0, 64, 17, 0, 0];
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2, 1, 2, 3, 4, 0, 28, 9, 9]);
        bytes.resize(48, 0xa5);
        for place in [0.0, 0.3, 0.5, 0.999_999] {
            let damaged = Datagram::from(bytes.clone()).damage(place).unwrap();
            assert!(damaged.is_damaged() && !Datagram::from(bytes.clone()).is_damaged());
            assert_eq!(damaged.ip.bytes[..20], bytes[..20]);
            let differ = damaged.ip.bytes.iter().zip(&bytes).map(|(a, b)| (a ^ b).count_ones());
            assert_eq!(differ.sum::<u32>(), 1, "{place}");
        }
    }

    #[test]
    fn only_what_is_capable_is_marked() {
        let ipv6 = |second: u8| {
            let mut packet = vec![0; 40];
            packet[..2].copy_from_slice(&[0x6a, second]);
            Datagram::from(packet)
        };
        for (before, after, capable) in
            [(0xcf, 0xcf, false), (0xdf, 0xff, true), (0xef, 0xff, true)]
        {
            let mut datagram = ipv6(before);
            assert_eq!(datagram.mark_congestion_experienced(), capable);
            assert_eq!(datagram, ipv6(after));
        }
        for bytes in [vec![], vec![0x45; 19], vec![0x6f; 39], vec![0xff; 64]] {
            let mut datagram = Datagram::from(bytes.clone());
            assert!(!datagram.mark_congestion_experienced());
            assert_eq!(datagram.ip.bytes, bytes);
        }
    }
}
