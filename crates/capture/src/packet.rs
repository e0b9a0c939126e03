//! What one packet says, if it is TCP: addresses, and its header by meaning. Packets may be cut
//! (snapped) behind their headers, and a length of zero is that of a super-segment that was
//! captured before the network card divided it (IPv4's total length, IPv6's payload length with
//! jumbograms): then the length on the wire counts.

use crate::connection::{Flags, Sack, Segment};
use crate::file::Frame;
use bentpipe_core::wire::TcpOptions;
use etherparse::{IpNumber, LaxIpSlice};
use std::net::SocketAddr;

/// Of TCP's header without options.
const TCP_HEADER: usize = 20;

/// What a frame was.
#[derive(Debug)]
pub(crate) enum Decoded {
    /// A TCP segment. Sequence numbers are as on the wire.
    Tcp(Box<Tcp>),
    /// A part of an IP packet: what is behind the first one has no header.
    Fragment,
    /// Anything else.
    Other,
}

/// A segment before its connection is known.
#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) segment: Segment,
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack_permitted: bool,
    pub(crate) sacks: Vec<Sack>,
}

/// Reads a frame whose IP packet begins at `offset`.
pub(crate) fn decode(frame: &Frame<'_>, offset: usize) -> Decoded {
    read(frame, offset).unwrap_or(Decoded::Other)
}

fn read(frame: &Frame<'_>, offset: usize) -> Option<Decoded> {
    let ip = frame.bytes.get(offset..)?;
    let (slice, _) = LaxIpSlice::from_slice(ip).ok()?;
    let payload = slice.payload();
    if payload.ip_number != IpNumber::TCP {
        return None;
    }
    if payload.fragmented {
        return Some(Decoded::Fragment);
    }
    let on_wire = (frame.len as usize).max(frame.bytes.len()).checked_sub(offset)?;
    let total = match &slice {
        LaxIpSlice::Ipv4(packet) => match usize::from(packet.header().total_len()) {
            0 => on_wire,
            total => total,
        },
        LaxIpSlice::Ipv6(packet) => match usize::from(packet.header().payload_length()) {
            0 => on_wire,
            payload => payload + 40,
        },
    };
    let tcp = payload.payload;
    let headers = tcp.as_ptr() as usize - ip.as_ptr() as usize;
    let header: &[u8; TCP_HEADER] = tcp.first_chunk()?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let long = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
    let header_len = usize::from(header[12] >> 4) * 4;
    let len = total.checked_sub(headers)?.checked_sub(header_len)?;
    if header_len < TCP_HEADER {
        return None;
    }
    // Of options that were cut, and of those that contradict themselves, nothing is known.
    let options = tcp.get(TCP_HEADER..header_len).map(TcpOptions::parse);
    let options = options.and_then(Result::ok).unwrap_or_default();
    Some(Decoded::Tcp(Box::new(Tcp {
        from: SocketAddr::new(slice.source_addr(), word(0)),
        to: SocketAddr::new(slice.destination_addr(), word(2)),
        segment: Segment {
            at: frame.at,
            frame: frame.number,
            seq: long(4),
            ack: long(8),
            len: u32::try_from(len).ok()?,
            window: word(14),
            flags: Flags::from_bits(word(12) & 0x01FF),
            timestamps: options.timestamps.map(|t| (t.value, t.echo)),
            ..Segment::default()
        },
        mss: options.mss,
        window_scale: options.window_scale,
        sack_permitted: options.sack_permitted,
        sacks: options.sack.iter().map(|b| Sack { left: b.left.0, right: b.right.0 }).collect(),
    })))
}
