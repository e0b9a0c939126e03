//! Bytes ↔ meaning for IPv4 (RFC 791), IPv6 (RFC 8200), TCP (RFC 9293) and its options, and for the
//! ICMP errors that concern TCP.
//!
//! [`Packet::parse`] reads what a TUN device gave, super-segments included; [`emit()`] writes the
//! headers of what goes out; [`emit_udp`] and [`emit_echo`] those of the other packets that a
//! simulation has, so that they can be recorded. Fixed headers are read and written by the
//! `etherparse` crate; options are our own subject. Malformed input is an error value, never a
//! panic.

mod ack_rewrite;
mod datagram;
mod emit;
mod icmp;
mod identification;
mod ip;
mod options;
mod seq;
mod tcp;
#[cfg(test)]
mod tests;

pub use ack_rewrite::AckRewrite;
pub use datagram::{emit_echo, emit_udp};
pub use emit::{Checksum, HEADERS_MAX, Headers, emit};
pub use icmp::{IcmpError, IcmpErrorKind, IcmpParseError, Quoted};
pub use identification::Identifications;
pub use ip::IpHeader;
pub use options::{EXPERIMENT_KIND, OptionsError, SackBlock, TcpOptions, Timestamps};
pub use seq::SeqNum;
pub use tcp::{Flags, TcpHeader};

use etherparse::checksum::u64_16bit_word::{add_slice, ones_complement};
use etherparse::{IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice, TcpHeaderSlice};

/// Why bytes are not a TCP packet that a gateway may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Shorter than its headers say, or than they must be.
    #[error("truncated packet")]
    Truncated,
    /// Neither IPv4 nor IPv6, or a header that contradicts itself.
    #[error("malformed IP header")]
    Ip,
    /// A fragment: its TCP header may be elsewhere.
    #[error("IP fragment")]
    Fragment,
    /// IPv4 options or IPv6 extension headers, which our legs could not repeat.
    #[error("IP options or extension headers")]
    IpOptions,
    /// Another transport protocol than TCP.
    #[error("not TCP")]
    NotTcp,
    /// A TCP header that contradicts itself.
    #[error("malformed TCP header")]
    Tcp,
    /// A SYN's options that contradict themselves.
    #[error("malformed TCP options: {0}")]
    Options(#[from] OptionsError),
    /// The TCP checksum (or the IPv4 header's) is wrong.
    #[error("wrong checksum")]
    Checksum,
}

/// Whether a received packet's TCP checksum has been vouched for by the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// The device checked it, or it never left this machine (checksum offload).
    Skip,
    /// It must be computed here.
    Full,
}

/// A received TCP packet: headers by meaning, payload by reference.
#[derive(Debug, Clone)]
pub struct Packet<'a> {
    /// The IP header's meaning.
    pub ip: IpHeader,
    /// The TCP header's meaning, options included.
    pub tcp: TcpHeader,
    /// The bytes behind the TCP header.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads one IP packet. Bytes behind the IP packet's own length are ignored.
    ///
    /// # Errors
    /// [`WireError`] for all that is not whole, unfragmented, plain TCP with a right checksum.
    pub fn parse(bytes: &'a [u8], verify: Verify) -> Result<Packet<'a>, WireError> {
        match bytes.first().map(|b| b >> 4) {
            Some(4) => parse_v4(bytes, verify),
            Some(6) => parse_v6(bytes, verify),
            Some(_) => Err(WireError::Ip),
            None => Err(WireError::Truncated),
        }
    }
}

fn parse_v4(bytes: &[u8], verify: Verify) -> Result<Packet<'_>, WireError> {
    let header = Ipv4HeaderSlice::from_slice(bytes).map_err(|_| WireError::Ip)?;
    if header.protocol() != IpNumber::TCP {
        return Err(WireError::NotTcp);
    }
    if header.is_fragmenting_payload() {
        return Err(WireError::Fragment);
    }
    if !header.options().is_empty() {
        return Err(WireError::IpOptions);
    }
    let total = usize::from(header.total_len());
    if total < header.slice().len() {
        return Err(WireError::Ip);
    }
    let segment = bytes.get(header.slice().len()..total).ok_or(WireError::Truncated)?;
    let tcp = TcpHeaderSlice::from_slice(segment).map_err(|_| WireError::Tcp)?;
    let payload = &segment[tcp.slice().len()..];
    let ip = IpHeader::from_v4(&header);
    if verify == Verify::Full && !is_sound(&ip, segment) {
        return Err(WireError::Checksum);
    }
    Ok(Packet { ip, tcp: TcpHeader::from_slice(&tcp)?, payload })
}

fn parse_v6(bytes: &[u8], verify: Verify) -> Result<Packet<'_>, WireError> {
    let header = Ipv6HeaderSlice::from_slice(bytes).map_err(|_| WireError::Ip)?;
    match header.next_header() {
        IpNumber::TCP => {}
        IpNumber::IPV6_FRAGMENTATION_HEADER => return Err(WireError::Fragment),
        IpNumber::IPV6_HEADER_HOP_BY_HOP
        | IpNumber::IPV6_DESTINATION_OPTIONS
        | IpNumber::IPV6_ROUTE_HEADER => return Err(WireError::IpOptions),
        _ => return Err(WireError::NotTcp),
    }
    let start = header.slice().len();
    let end = start + usize::from(header.payload_length());
    let segment = bytes.get(start..end).ok_or(WireError::Truncated)?;
    let tcp = TcpHeaderSlice::from_slice(segment).map_err(|_| WireError::Tcp)?;
    let payload = &segment[tcp.slice().len()..];
    let ip = IpHeader::from_v6(&header);
    if verify == Verify::Full && !is_sound(&ip, segment) {
        return Err(WireError::Checksum);
    }
    Ok(Packet { ip, tcp: TcpHeader::from_slice(&tcp)?, payload })
}

/// Whether the sum over a segment, its checksum included, is minus zero (RFC 1071): a checksum of
/// zero may be written either way, and Linux writes 0xffff.
fn is_sound(ip: &IpHeader, segment: &[u8]) -> bool {
    let sum = emit::pseudo_header(ip, IpNumber::TCP, segment.len());
    ones_complement(add_slice(sum, segment)) == 0
}
