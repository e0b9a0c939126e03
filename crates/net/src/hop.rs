//! The hop that a packet has lost by its way through us.

/// Adds back the hop that the way into the device has cost: the kernel takes another one on the way
/// out, and one host is one hop. The TTL was at least 1, or the kernel would not have forwarded.
pub(crate) fn restore_hop(packet: &mut [u8]) {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= 20 && packet[8] < 255 => {
            packet[8] += 1;
            // RFC 1624, equation 3: HC' = ~(~HC + ~m + m'); m' − m is 0x0100.
            let sum = u32::from(!u16::from_be_bytes([packet[10], packet[11]])) + 0x0100;
            let folded = (sum & 0xffff) + (sum >> 16);
            let checksum = !(folded as u16);
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        Some(6) if packet.len() >= 40 && packet[7] < 255 => packet[7] += 1,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Internet checksum of a header that includes its own is zero when inverted (RFC 1071).
    fn sums_to_zero(header: &[u8]) -> bool {
        let sum: u32 =
            header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        (folded & 0xffff) + (folded >> 16) == 0xffff
    }

    #[test]
    fn a_restored_hop_keeps_the_header_checksum_right() {
        for id in 0..=u16::MAX {
            let mut packet = [0x45, 0, 0, 20, 0, 0, 0x40, 0, 63, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            packet[4..6].copy_from_slice(&id.to_be_bytes());
            let sum: u32 = packet
                .chunks(2)
                .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
                .sum();
            let folded = (sum & 0xffff) + (sum >> 16);
            packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
            assert!(sums_to_zero(&packet));
            restore_hop(&mut packet);
            assert_eq!(packet[8], 64);
            assert!(sums_to_zero(&packet), "{id}");
        }
    }

    #[test]
    fn what_is_no_ip_packet_is_left_alone() {
        for packet in [&mut [][..], &mut [0x45; 19], &mut [0x60; 39], &mut [0xff; 64]] {
            let before = packet.to_vec();
            restore_hop(packet);
            assert_eq!(packet, before);
        }
    }
}
