//! Writing the headers of one packet, in front of a payload that stays where it is.

use super::{IpHeader, TcpHeader};
use arrayvec::ArrayVec;
use etherparse::IpNumber;
use etherparse::checksum::u64_16bit_word;
use std::net::IpAddr;

/// The longest pair of headers: IPv6's 40 bytes and TCP's 60.
pub const HEADERS_MAX: usize = 100;

/// The headers' bytes.
pub type Headers = ArrayVec<u8, HEADERS_MAX>;

/// What stands in the TCP checksum field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksum {
    /// The whole checksum, over headers and payload.
    Full,
    /// The pseudo-header's sum alone; the device completes it (checksum offload).
    PseudoHeader,
}

/// The IP and TCP headers in front of `payload` (given piece by piece).
///
/// # Panics
/// If the packet would exceed 65,535 bytes.
pub fn emit<'a>(
    ip: &IpHeader,
    tcp: &TcpHeader,
    payload: impl Iterator<Item = &'a [u8]> + Clone,
    checksum: Checksum,
) -> Headers {
    let options = tcp.options.to_bytes();
    let header_len = 20 + options.len();
    let payload_len: usize = payload.clone().map(<[u8]>::len).sum();
    let segment_len = header_len + payload_len;

    let mut out = Headers::new();
    ip.write(IpNumber::TCP, segment_len, |bytes| out.extend(bytes.iter().copied()));
    let tcp_at = out.len();
    out.extend(tcp.src_port.to_be_bytes());
    out.extend(tcp.dst_port.to_be_bytes());
    out.extend(tcp.seq.0.to_be_bytes());
    out.extend(tcp.ack.0.to_be_bytes());
    out.extend([(header_len as u8 / 4) << 4, tcp.flags.0]);
    out.extend(tcp.window.to_be_bytes());
    out.extend([0, 0]);
    out.extend(tcp.urgent.to_be_bytes());
    out.extend(options);

    let mut sum = pseudo_header(ip, IpNumber::TCP, segment_len);
    let field = match checksum {
        Checksum::PseudoHeader => !u64_16bit_word::ones_complement(sum),
        Checksum::Full => {
            sum = u64_16bit_word::add_slice(sum, &out[tcp_at..]);
            add_pieces(sum, payload)
        }
    };
    // etherparse sums in native order, so the bytes go out as they are.
    out[tcp_at + 16..tcp_at + 18].copy_from_slice(&field.to_ne_bytes());
    out
}

pub(super) fn pseudo_header(ip: &IpHeader, protocol: IpNumber, len: usize) -> u64 {
    use u64_16bit_word::{add_2bytes, add_4bytes, add_slice};
    match (ip.src, ip.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let sum = add_4bytes(add_4bytes(0, src.octets()), dst.octets());
            add_2bytes(add_2bytes(sum, [0, protocol.0]), (len as u16).to_be_bytes())
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let sum = add_slice(add_slice(0, &src.octets()), &dst.octets());
            add_4bytes(add_4bytes(sum, (len as u32).to_be_bytes()), [0, 0, 0, protocol.0])
        }
        _ => unreachable!("source and destination are of one family"),
    }
}

/// Completes a checksum over pieces of any length: a piece that begins at an odd position
/// contributes its sum with the bytes swapped (RFC 1071, section 2).
fn add_pieces<'a>(header_sum: u64, pieces: impl Iterator<Item = &'a [u8]>) -> u16 {
    let mut sum = header_sum;
    let mut odd = false;
    for piece in pieces {
        let part = !u64_16bit_word::ones_complement(u64_16bit_word::add_slice(0, piece));
        let part = if odd { part.swap_bytes() } else { part };
        sum = u64_16bit_word::add_2bytes(sum, part.to_ne_bytes());
        odd ^= piece.len() % 2 == 1;
    }
    u64_16bit_word::ones_complement(sum)
}
