//! ICMP errors about TCP segments: destination unreachable and fragmentation needed (RFC 792 and
//! 1191), destination unreachable and packet too big (RFC 4443).
//!
//! What they quote of the segment is only as trustworthy as whoever sent them; its owner checks
//! addresses, ports and sequence number (RFC 5927).

use super::SeqNum;
use etherparse::checksum::u64_16bit_word::{add_4bytes, add_slice, ones_complement};
use etherparse::{IpNumber, Ipv4Header, Ipv4HeaderSlice, Ipv6Header, Ipv6HeaderSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why bytes are not an ICMP error about a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IcmpParseError {
    /// Not an ICMP packet, or a header that contradicts itself.
    #[error("not an ICMP packet")]
    NotIcmp,
    /// The ICMP checksum is wrong.
    #[error("wrong checksum")]
    Checksum,
    /// A kind of message that is no concern of a connection.
    #[error("not an error that concerns TCP")]
    Kind,
    /// The quoted packet is not the beginning of a TCP segment, with its sequence number.
    #[error("no TCP segment is quoted")]
    Quote,
}

/// What an ICMP error says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IcmpErrorKind {
    /// The segment's packet was longer than the next hop's MTU; 0 if an old router does not say.
    PacketTooBig {
        /// The next hop's MTU.
        mtu: u32,
    },
    /// The destination cannot be reached.
    Unreachable {
        /// Why, by the code of the message.
        code: u8,
    },
}

/// The beginning of the segment that an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    pub seq: SeqNum,
    /// How long the whole packet was, in bytes.
    pub wire_len: usize,
}

/// An ICMP error about a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IcmpError {
    /// What it says.
    pub kind: IcmpErrorKind,
    /// About which segment.
    pub quoted: Quoted,
}

const V4_UNREACHABLE: u8 = 3;
const V4_FRAGMENTATION_NEEDED: u8 = 4;
const V6_UNREACHABLE: u8 = 1;
const V6_TOO_BIG: u8 = 2;
/// Type, code, checksum and four bytes by type.
const HEADER: usize = 8;

impl IcmpError {
    /// Reads one IP packet.
    ///
    /// # Errors
    /// [`IcmpParseError`] for all that is not an unfragmented, undamaged ICMP error that quotes
    /// the beginning of a TCP segment.
    pub fn parse(bytes: &[u8]) -> Result<IcmpError, IcmpParseError> {
        match bytes.first().map(|b| b >> 4) {
            Some(4) => parse_v4(bytes),
            Some(6) => parse_v6(bytes),
            _ => Err(IcmpParseError::NotIcmp),
        }
    }

    /// The packet by which the router `from` says that `packet` (IPv4 or IPv6, as it came) is
    /// longer than `mtu`. None if `packet` has no IP header, or `from` is of the other family.
    pub fn packet_too_big(from: IpAddr, mtu: u32, packet: &[u8]) -> Option<Vec<u8>> {
        IcmpError::emit(IcmpErrorKind::PacketTooBig { mtu }, from, packet)
    }

    /// The packet by which the router `from` says `kind` of `packet` (IPv4 or IPv6, as it came).
    /// None if `packet` has no IP header, or `from` is of the other family.
    pub fn emit(kind: IcmpErrorKind, from: IpAddr, packet: &[u8]) -> Option<Vec<u8>> {
        match (packet.first()? >> 4, from) {
            (4, IpAddr::V4(from)) => {
                let to = Ipv4HeaderSlice::from_slice(packet).ok()?.source();
                // RFC 1812, 4.3.2.3: as much as makes no more than 576 bytes.
                let quote = &packet[..packet.len().min(576 - Ipv4Header::MIN_LEN - HEADER)];
                let (code, word) = match kind {
                    IcmpErrorKind::PacketTooBig { mtu } => {
                        (V4_FRAGMENTATION_NEEDED, u32::from(u16::try_from(mtu).unwrap_or(u16::MAX)))
                    }
                    IcmpErrorKind::Unreachable { code } => (code, 0),
                };
                let message = message(V4_UNREACHABLE, code, word, quote, 0);
                let len = u16::try_from(message.len()).ok()?;
                let mut header =
                    Ipv4Header::new(len, 64, IpNumber::ICMP, from.octets(), to).ok()?;
                header.header_checksum = header.calc_header_checksum();
                Some([&header.to_bytes()[..], &message].concat())
            }
            (6, IpAddr::V6(from)) => {
                let to = Ipv6HeaderSlice::from_slice(packet).ok()?.source();
                // RFC 4443, 3.2: as much as fits into the minimum MTU.
                let quote = &packet[..packet.len().min(1280 - Ipv6Header::LEN - HEADER)];
                let sum = pseudo_header(&from.octets(), &to, HEADER + quote.len());
                let message = match kind {
                    IcmpErrorKind::PacketTooBig { mtu } => message(V6_TOO_BIG, 0, mtu, quote, sum),
                    IcmpErrorKind::Unreachable { code } => {
                        message(V6_UNREACHABLE, code, 0, quote, sum)
                    }
                };
                let header = Ipv6Header {
                    payload_length: u16::try_from(message.len()).ok()?,
                    next_header: IpNumber::IPV6_ICMP,
                    hop_limit: 64,
                    source: from.octets(),
                    destination: to,
                    ..Ipv6Header::default()
                };
                Some([&header.to_bytes()[..], &message].concat())
            }
            _ => None,
        }
    }
}

fn message(kind: u8, code: u8, word: u32, quote: &[u8], pseudo_header: u64) -> Vec<u8> {
    let mut message = vec![kind, code, 0, 0];
    message.extend(word.to_be_bytes());
    message.extend(quote);
    // etherparse sums in native order, so the bytes go out as they are.
    let sum = ones_complement(add_slice(pseudo_header, &message));
    message[2..4].copy_from_slice(&sum.to_ne_bytes());
    message
}

fn pseudo_header(src: &[u8; 16], dst: &[u8; 16], len: usize) -> u64 {
    let len = u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes();
    add_4bytes(add_4bytes(add_slice(add_slice(0, src), dst), len), [0, 0, 0, 58])
}

fn parse_v4(bytes: &[u8]) -> Result<IcmpError, IcmpParseError> {
    let header = Ipv4HeaderSlice::from_slice(bytes).map_err(|_| IcmpParseError::NotIcmp)?;
    if header.protocol() != IpNumber::ICMP || header.is_fragmenting_payload() {
        return Err(IcmpParseError::NotIcmp);
    }
    let message = bytes
        .get(header.slice().len()..usize::from(header.total_len()))
        .ok_or(IcmpParseError::NotIcmp)?;
    let (kind, code, word, quote) = read(message, 0)?;
    let kind = match (kind, code) {
        // RFC 1191, 4: the lower half of the word.
        (V4_UNREACHABLE, V4_FRAGMENTATION_NEEDED) => {
            IcmpErrorKind::PacketTooBig { mtu: word & 0xFFFF }
        }
        (V4_UNREACHABLE, code) => IcmpErrorKind::Unreachable { code },
        _ => return Err(IcmpParseError::Kind),
    };
    let inner = Ipv4HeaderSlice::from_slice(quote).map_err(|_| IcmpParseError::Quote)?;
    if inner.protocol() != IpNumber::TCP || inner.fragments_offset().value() != 0 {
        return Err(IcmpParseError::Quote);
    }
    let (src, dst) = (Ipv4Addr::from(inner.source()), Ipv4Addr::from(inner.destination()));
    let len = usize::from(inner.total_len());
    let quoted = quoted(src.into(), dst.into(), len, &quote[inner.slice().len()..])?;
    Ok(IcmpError { kind, quoted })
}

fn parse_v6(bytes: &[u8]) -> Result<IcmpError, IcmpParseError> {
    let header = Ipv6HeaderSlice::from_slice(bytes).map_err(|_| IcmpParseError::NotIcmp)?;
    if header.next_header() != IpNumber::IPV6_ICMP {
        return Err(IcmpParseError::NotIcmp);
    }
    let start = header.slice().len();
    let message = bytes
        .get(start..start + usize::from(header.payload_length()))
        .ok_or(IcmpParseError::NotIcmp)?;
    let sum = pseudo_header(&header.source(), &header.destination(), message.len());
    let (kind, code, word, quote) = read(message, sum)?;
    let kind = match kind {
        V6_TOO_BIG => IcmpErrorKind::PacketTooBig { mtu: word },
        V6_UNREACHABLE => IcmpErrorKind::Unreachable { code },
        _ => return Err(IcmpParseError::Kind),
    };
    let inner = Ipv6HeaderSlice::from_slice(quote).map_err(|_| IcmpParseError::Quote)?;
    if inner.next_header() != IpNumber::TCP {
        return Err(IcmpParseError::Quote);
    }
    let (src, dst) = (Ipv6Addr::from(inner.source()), Ipv6Addr::from(inner.destination()));
    let len = Ipv6Header::LEN + usize::from(inner.payload_length());
    let quoted = quoted(src.into(), dst.into(), len, &quote[Ipv6Header::LEN..])?;
    Ok(IcmpError { kind, quoted })
}

/// Type, code, the word behind the checksum, and what is quoted.
fn read(message: &[u8], pseudo_header: u64) -> Result<(u8, u8, u32, &[u8]), IcmpParseError> {
    let Some((&[kind, code, _, _, a, b, c, d], quote)) = message.split_first_chunk::<HEADER>()
    else {
        return Err(IcmpParseError::NotIcmp);
    };
    // With the right checksum in its place, the sum is zero.
    if ones_complement(add_slice(pseudo_header, message)) != 0 {
        return Err(IcmpParseError::Checksum);
    }
    Ok((kind, code, u32::from_be_bytes([a, b, c, d]), quote))
}

fn quoted(src: IpAddr, dst: IpAddr, wire_len: usize, tcp: &[u8]) -> Result<Quoted, IcmpParseError> {
    let Some(&[a, b, c, d, s0, s1, s2, s3]) = tcp.first_chunk::<8>() else {
        return Err(IcmpParseError::Quote);
    };
    let (src_port, dst_port) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let seq = SeqNum(u32::from_be_bytes([s0, s1, s2, s3]));
    Ok(Quoted { src, dst, src_port, dst_port, seq, wire_len })
}
