//! Fragments of a TCP segment (RFC 791, 3.2; RFC 8200, 4.5).

use crate::key::FlowKey;
use bentpipe_core::time::Instant;
use etherparse::{IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6Header, Ipv6HeaderSlice};
use std::net::IpAddr;

/// RFC 791 and RFC 8200 tell a packet by these; the protocol is TCP.
pub(super) type Key = (IpAddr, IpAddr, u32);

/// A packet of which some fragments have come.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) since: Instant,
    /// Which packet it is of those of which a first fragment has come.
    pub(super) number: u64,
    /// In order of their offsets.
    pub(super) pieces: Vec<Piece>,
}

/// A fragment.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) offset: usize,
    /// Where in `bytes` the fragment's payload stands.
    payload: std::ops::Range<usize>,
    more: bool,
    pub(super) bytes: Vec<u8>,
}

impl Piece {
    pub(super) fn end(&self) -> usize {
        self.offset + self.payload.len()
    }
}

impl Partial {
    /// Whose it is, if the fragment with the ports is there.
    pub(super) fn flow(&self, (src, dst, _): &Key) -> Option<FlowKey> {
        let first = self.pieces.first().filter(|piece| piece.offset == 0)?;
        let &[a, b, c, d] = first.bytes[first.payload.clone()].first_chunk::<4>()?;
        let ports = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
        Some(FlowKey::between((*src, ports[0]), (*dst, ports[1])))
    }

    /// The packet, if nothing is missing: the first fragment's header, and all payloads. (ECN
    /// marks of the others are not looked at: the gateway's legs do not speak it.)
    pub(super) fn whole(&self) -> Option<Vec<u8>> {
        let mut end = 0;
        for piece in &self.pieces {
            if piece.offset != end {
                return None;
            }
            end = piece.end();
        }
        let (first, last) = (self.pieces.first()?, self.pieces.last()?);
        if last.more {
            return None;
        }
        let mut packet = match first.bytes[0] >> 4 {
            4 => {
                let mut header = Ipv4HeaderSlice::from_slice(&first.bytes).ok()?.to_header();
                header.set_payload_len(end).ok()?;
                header.more_fragments = false;
                header.header_checksum = header.calc_header_checksum();
                header.to_bytes().to_vec()
            }
            _ => {
                let mut header = Ipv6HeaderSlice::from_slice(&first.bytes).ok()?.to_header();
                header.set_payload_length(end).ok()?;
                header.next_header = IpNumber::TCP;
                header.to_bytes().to_vec()
            }
        };
        for piece in &self.pieces {
            packet.extend(&piece.bytes[piece.payload.clone()]);
        }
        Some(packet)
    }
}

/// A fragment of a TCP segment; None if it is none, or contradicts itself.
pub(super) fn read(bytes: &[u8]) -> Option<(Key, Piece)> {
    let (key, offset, more, start, end) = match bytes.first()? >> 4 {
        4 => {
            let header = Ipv4HeaderSlice::from_slice(bytes).ok()?;
            if header.protocol() != IpNumber::TCP || !header.is_fragmenting_payload() {
                return None;
            }
            let (src, dst) = (header.source_addr().into(), header.destination_addr().into());
            (
                (src, dst, u32::from(header.identification())),
                usize::from(header.fragments_offset().value()) * 8,
                header.more_fragments(),
                header.slice().len(),
                usize::from(header.total_len()),
            )
        }
        6 => {
            let header = Ipv6HeaderSlice::from_slice(bytes).ok()?;
            if header.next_header() != IpNumber::IPV6_FRAGMENTATION_HEADER {
                return None;
            }
            let fragment = Ipv6FragmentHeaderSlice::from_slice(&bytes[Ipv6Header::LEN..]).ok()?;
            if fragment.next_header() != IpNumber::TCP {
                return None;
            }
            let (src, dst) = (header.source_addr().into(), header.destination_addr().into());
            (
                (src, dst, fragment.identification()),
                usize::from(fragment.fragment_offset().value()) * 8,
                fragment.more_fragments(),
                Ipv6Header::LEN + fragment.slice().len(),
                Ipv6Header::LEN + usize::from(header.payload_length()),
            )
        }
        _ => return None,
    };
    let len = end.checked_sub(start)?;
    // All but the last are whole multiples of eight bytes, and the whole is an IP packet.
    let sound = len > 0 && end <= bytes.len() && (!more || len % 8 == 0);
    if !sound || offset + len > usize::from(u16::MAX) - start {
        return None;
    }
    Some((key, Piece { offset, payload: start..end, more, bytes: bytes[..end].to_vec() }))
}
