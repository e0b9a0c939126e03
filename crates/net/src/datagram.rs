//! An IP packet as bytes, for the emulated link.

use bentpipe_core::link;

/// An IP packet. Its wire length is its IP length: the link has no framing of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Datagram(pub(crate) Vec<u8>);

impl link::LinkPacket for Datagram {
    fn wire_len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Sets the ECN field (RFC 3168, section 5) to CE, unless it is Not-ECT.
    fn mark_congestion_experienced(&mut self) -> bool {
        let packet = &mut self.0[..];
        match packet.first().map(|byte| byte >> 4) {
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
                let mut datagram = Datagram(packet.clone());
                assert_eq!(datagram.mark_congestion_experienced(), ecn != 0);
                assert_eq!(datagram.0[1], if ecn == 0 { 0 } else { 3 });
                assert_eq!(sum(&datagram.0), 0xffff, "{id} {ecn}");
            }
        }
    }

    #[test]
    fn only_what_is_capable_is_marked() {
        let ipv6 = |second: u8| {
            let mut packet = vec![0; 40];
            packet[..2].copy_from_slice(&[0x6a, second]);
            Datagram(packet)
        };
        for (before, after, capable) in
            [(0xcf, 0xcf, false), (0xdf, 0xff, true), (0xef, 0xff, true)]
        {
            let mut datagram = ipv6(before);
            assert_eq!(datagram.mark_congestion_experienced(), capable);
            assert_eq!(datagram, ipv6(after));
        }
        for bytes in [vec![], vec![0x45; 19], vec![0x6f; 39], vec![0xff; 64]] {
            let mut datagram = Datagram(bytes.clone());
            assert!(!datagram.mark_congestion_experienced());
            assert_eq!(datagram.0, bytes);
        }
    }
}
