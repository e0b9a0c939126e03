//! UDP to port 443, which comes to the loop only where it is to be rejected: browsers take TCP
//! then, which is split.

use bentpipe_core::wire::{IcmpError, IcmpErrorKind};
use bentpipe_linux::transport_headers::transport_of;
use std::net::IpAddr;

const UDP: u8 = 17;
const PORT: [u8; 2] = 443_u16.to_be_bytes();

/// "Port unreachable" (RFC 792, RFC 4443), by code.
const CODES: [u8; 2] = [3, 4];

/// What the sender of such a packet is told, in its destination's name. None if it is another
/// packet.
pub(super) fn quic(packet: &[u8]) -> Option<Vec<u8>> {
    let (UDP, transport) = transport_of(packet)? else { return None };
    if packet.get(transport + 2..transport + 4)? != PORT {
        return None;
    }
    let from: IpAddr = match packet[0] >> 4 {
        4 => <[u8; 4]>::try_from(packet.get(16..20)?).ok()?.into(),
        _ => <[u8; 16]>::try_from(packet.get(24..40)?).ok()?.into(),
    };
    let code = CODES[usize::from(from.is_ipv6())];
    IcmpError::emit(IcmpErrorKind::Unreachable { code }, from, packet)
}

#[cfg(test)]
mod tests {
    use super::quic;

    fn udp(port: u16, six: bool) -> Vec<u8> {
        let mut packet = if six {
            let mut header = vec![0x60, 0, 0, 0, 0, 12, 17, 64];
            header.extend([[7; 16], [9; 16]].concat());
            header
        } else {
            let mut header = vec![0x45, 0, 0, 32, 0, 0, 0x40, 0, 64, 17, 0, 0];
            header.extend([10, 0, 0, 1, 192, 0, 2, 1]);
            header
        };
        packet.extend([0x30, 0x39]);
        packet.extend(port.to_be_bytes());
        packet.extend([0, 12, 0, 0, 1, 2, 3, 4]);
        packet
    }

    #[test]
    fn it_is_answered_in_the_servers_name() {
        for six in [false, true] {
            let packet = udp(443, six);
            let answer = quic(&packet).expect("an answer");
            let (header, kind) = if six { (40, [1, 4]) } else { (20, [3, 3]) };
            assert_eq!(answer[header..header + 2], kind);
            assert!(answer.ends_with(&packet), "it quotes all of it");
            let [from, to] = if six { [8..24, 24..40] } else { [12..16, 16..20] };
            assert_eq!((&answer[from.clone()], &answer[to.clone()]), (&packet[to], &packet[from]));
            assert_eq!(quic(&udp(4433, six)), None);
            for length in 0..packet.len() {
                quic(&packet[..length]);
            }
        }
        let mut tcp = udp(443, false);
        tcp[9] = 6;
        assert_eq!(quic(&tcp), None);
    }
}
