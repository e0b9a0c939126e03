//! An IP packet: its header by meaning, and what is in it. Packets may be cut (snapped). A
//! super-segment that was captured before the network card divided it has a length of zero (IPv4's
//! total length, IPv6's payload length). Then the length on the wire counts.

use crate::layers::Rest;
use etherparse::{Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice};
use std::net::IpAddr;

/// Extension headers, by their protocol number.
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;

/// The parts of a header that a segment keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    /// IPv4's identification; 0 in IPv6.
    pub(crate) identification: u16,
    pub(crate) ttl: u8,
    pub(crate) ecn: u8,
}

/// Of a fragment: which packet, and which part of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) identification: u32,
    pub(crate) offset: usize,
    pub(crate) more: bool,
}

/// The content of an IP packet.
#[derive(Debug)]
pub(crate) struct Packet<'a> {
    /// Its number, in the last of the headers.
    pub(crate) protocol: u8,
    pub(crate) payload: Rest<'a>,
    /// If it is a fragment.
    pub(crate) part: Option<Part>,
}

/// Reads a packet up to what is behind its headers; of a fragment, up to the part that it is.
#[inline]
pub(crate) fn read(rest: Rest<'_>) -> Option<Packet<'_>> {
    match rest.bytes.first()? >> 4 {
        4 => v4(rest),
        6 => v6(rest),
        _ => None,
    }
}

#[inline]
fn v4(rest: Rest<'_>) -> Option<Packet<'_>> {
    let header = Ipv4HeaderSlice::from_slice(rest.bytes).ok()?;
    let total = match usize::from(header.total_len()) {
        0 => rest.wire,
        total => total,
    };
    let len = header.slice().len();
    let (protocol, payload) =
        (header.protocol().0, rest.skip(len)?.with_length(total.checked_sub(len)?));
    if header.is_fragmenting_payload() {
        let part = Some(Part {
            identification: u32::from(header.identification()),
            offset: usize::from(header.fragments_offset().byte_offset()),
            more: header.more_fragments(),
        });
        return Some(Packet { protocol, payload, part });
    }
    match protocol {
        AUTHENTICATION => behind_extensions(protocol, payload),
        _ => Some(Packet { protocol, payload, part: None }),
    }
}

fn v6(rest: Rest<'_>) -> Option<Packet<'_>> {
    let header = Ipv6HeaderSlice::from_slice(rest.bytes).ok()?;
    let payload = rest.skip(header.slice().len())?;
    let len = match usize::from(header.payload_length()) {
        0 => payload.wire,
        len => len,
    };
    behind_extensions(header.next_header().0, payload.with_length(len))
}

/// Reads the parts that a segment keeps of the header at the beginning of `bytes`.
#[inline]
pub(crate) fn header(bytes: &[u8]) -> Option<Header> {
    if let Ok(header) = Ipv4HeaderSlice::from_slice(bytes) {
        return Some(Header {
            from: header.source_addr().into(),
            to: header.destination_addr().into(),
            identification: header.identification(),
            ttl: header.ttl(),
            ecn: header.ecn().value(),
        });
    }
    let header = Ipv6HeaderSlice::from_slice(bytes).ok()?;
    Some(Header {
        from: header.source_addr().into(),
        to: header.destination_addr().into(),
        identification: 0,
        ttl: header.hop_limit(),
        ecn: header.ecn().value(),
    })
}

/// Skips extension headers (RFC 8200, 4), up to that of a fragment. etherparse's slices read on
/// behind the latter, and their iterator reads beyond their end.
pub(crate) fn behind_extensions(mut protocol: u8, mut payload: Rest<'_>) -> Option<Packet<'_>> {
    loop {
        let &[next, len, ..] = match protocol {
            HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION => {
                payload.bytes.first_chunk::<8>()?
            }
            _ => return Some(Packet { protocol, payload, part: None }),
        };
        let len = usize::from(len);
        let header = match protocol {
            FRAGMENT => 8,
            AUTHENTICATION => (len + 2) * 4,
            _ => (len + 1) * 8,
        };
        let part = (protocol == FRAGMENT).then(|| part(payload)).flatten();
        (protocol, payload) = (next, payload.skip(header)?);
        if part.is_some() {
            return Some(Packet { protocol, payload, part });
        }
    }
}

/// Reads a fragment header, unless the packet is whole (RFC 6946).
fn part(rest: Rest<'_>) -> Option<Part> {
    let header = Ipv6FragmentHeaderSlice::from_slice(rest.bytes).ok()?;
    header.is_fragmenting_payload().then(|| Part {
        identification: header.identification(),
        offset: usize::from(header.fragment_offset().byte_offset()),
        more: header.more_fragments(),
    })
}
