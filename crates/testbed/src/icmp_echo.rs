//! ICMP's echo requests and replies (RFC 792), as bytes.

/// The bytes of its header.
pub const HEADER: usize = 8;

const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;

/// Writes a request into `packet`, whose other bytes behind the header stay.
///
/// # Panics
/// If it is shorter than a header.
pub fn write_request(packet: &mut [u8], identifier: u16, sequence: u16) {
    packet[..2].copy_from_slice(&[ECHO_REQUEST, 0]);
    packet[2..4].fill(0);
    packet[4..6].copy_from_slice(&identifier.to_be_bytes());
    packet[6..8].copy_from_slice(&sequence.to_be_bytes());
    let sum = checksum(packet);
    packet[2..4].copy_from_slice(&sum.to_be_bytes());
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)])));
    let sum: u64 = words.map(u64::from).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    !(folded as u16)
}

/// The sequence number of an echo with this identifier. `packet` begins with its IPv4 header.
pub fn read_reply(packet: &[u8], identifier: u16) -> Option<u16> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let icmp = packet.get(header..header + HEADER)?;
    let ours = icmp[0] == ECHO_REPLY && icmp[4..6] == identifier.to_be_bytes();
    ours.then(|| u16::from_be_bytes([icmp[6], icmp[7]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_is_told_from_other_packets() {
        let mut packet = vec![0; 56];
        write_request(&mut packet, 7, 258);
        assert_eq!(checksum(&packet), 0, "its own checksum is in it");
        let mut reply = vec![0x45; 20];
        reply.extend(&packet);
        assert_eq!(read_reply(&reply, 7), None, "a request is no reply");
        reply[20] = ECHO_REPLY;
        assert_eq!(read_reply(&reply, 7), Some(258));
        assert_eq!(read_reply(&reply, 8), None);
        for length in 0..28 {
            assert_eq!(read_reply(&reply[..length], 7), None);
        }
    }
}
