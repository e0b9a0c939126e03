//! A packet as a struct: headers by meaning, payload as bytes or as a piece of a pattern.

use bentpipe_core::link;
use bentpipe_core::tcp::buffer::{Pattern, Payload};
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::wire::{
    self, Checksum, Flags, HEADERS_MAX, Headers, IpHeader, SeqNum, TcpHeader, Verify,
};

/// An IP packet on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The IP header.
    pub ip: IpHeader,
    /// What it carries.
    pub content: Content,
    /// The line that it is given to sends it before what waits and is not: a matter between a
    /// middlebox and its link, not of the packet's on the wire.
    pub urgent: bool,
    /// Why the TCP that sent it did so, if it was one.
    pub cause: Option<Cause>,
    /// What a link, or the receiver of damaged segments, says with it.
    pub corruption: CorruptionNotice,
}

/// Explicit corruption notification, for which no header has room.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CorruptionNotice {
    /// Nothing.
    #[default]
    None,
    /// The packet is damaged, but for its headers.
    Damaged,
    /// Damaged segments have come to the sender of this acknowledgment, and no copy yet that was
    /// not.
    Holes(Box<[Hole]>),
}

/// A part of the peer's stream of which only damaged copies have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hole {
    /// Its first sequence number.
    pub seq: SeqNum,
    /// Its length.
    pub len: u32,
    /// How many damaged copies.
    pub copies: u32,
}

/// What a packet carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A TCP segment.
    Tcp(TcpHeader, Body),
    /// A UDP datagram.
    Udp(Datagram),
    /// An ICMP echo request or reply (RFC 792): a ping.
    Echo(Echo),
    /// An ICMP error about a TCP segment: the whole packet as bytes.
    Error(Vec<u8>),
}

/// A UDP datagram, of whose payload only the length matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Payload length in bytes.
    pub len: u16,
}

/// A ping or its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// The answer, not the request.
    pub reply: bool,
    /// Who asks.
    pub identifier: u16,
    /// Its number.
    pub sequence: u16,
    /// Payload length in bytes.
    pub len: u16,
}

/// The payload of a TCP segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Real bytes.
    Bytes(Vec<u8>),
    /// So many bytes of the pattern from this offset on; see
    /// [`Pattern`].
    Pattern {
        /// Offset of the first byte.
        start: u64,
        /// How many.
        len: usize,
    },
}

impl Body {
    /// No payload.
    pub const EMPTY: Body = Body::Bytes(Vec::new());

    /// A payload of `len` bytes out of the pieces that `read` visits.
    pub fn collect(len: usize, read: impl FnOnce(&mut dyn FnMut(Payload<'_>))) -> Body {
        let mut body = Body::EMPTY;
        if len > 0 {
            read(&mut |piece| match piece {
                Payload::Pattern { start, len } => body = Body::Pattern { start, len },
                Payload::Bytes(bytes) => {
                    let Body::Bytes(all) = &mut body else { return };
                    all.reserve_exact(len - all.len());
                    all.extend_from_slice(bytes);
                }
            });
        }
        assert_eq!(body.len(), len, "the payload is there");
        body
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.payload().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As the TCP core takes it.
    pub fn payload(&self) -> Payload<'_> {
        match self {
            Body::Bytes(bytes) => Payload::Bytes(bytes),
            &Body::Pattern { start, len } => Payload::Pattern { start, len },
        }
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Body::Bytes(bytes) => bytes.clone(),
            &Body::Pattern { start, len } => Pattern::bytes(start).take(len).collect(),
        }
    }

    fn piece(&self, from: usize, to: usize) -> Body {
        match self {
            Body::Bytes(bytes) => Body::Bytes(bytes[from..to].to_vec()),
            Body::Pattern { start, .. } => {
                Body::Pattern { start: start + from as u64, len: to - from }
            }
        }
    }
}

impl link::LinkPacket for Packet {
    fn wire_len(&self) -> u64 {
        let content = match &self.content {
            Content::Tcp(tcp, body) => tcp.wire_len() + body.len(),
            Content::Udp(datagram) => 8 + usize::from(datagram.len),
            Content::Echo(echo) => 8 + usize::from(echo.len),
            Content::Error(bytes) => return bytes.len() as u64,
        };
        (self.ip.wire_len() + content) as u64
    }

    fn mark_congestion_experienced(&mut self) -> bool {
        // RFC 3168, section 5: 00 is not ECT, 11 is CE.
        let capable = self.ip.traffic_class & IpHeader::ECN_MASK != 0;
        if capable {
            self.ip.traffic_class |= IpHeader::ECN_MASK;
        }
        capable
    }

    fn urgent(&self) -> bool {
        self.urgent
    }

    fn mark_damaged(&mut self) -> bool {
        self.corruption = CorruptionNotice::Damaged;
        true
    }

    fn flow_hash(&self) -> u64 {
        const ICMP: u8 = 1;
        const TCP: u8 = 6;
        const UDP: u8 = 17;
        let (protocol, ports) = match &self.content {
            Content::Tcp(tcp, _) => (TCP, [tcp.src_port, tcp.dst_port]),
            Content::Udp(datagram) => (UDP, [datagram.src_port, datagram.dst_port]),
            Content::Echo(_) | Content::Error(_) => (ICMP, [0; 2]),
        };
        link::flow_hash(self.ip.src, self.ip.dst, protocol, ports)
    }

    fn supersedes(&self, older: &Packet) -> bool {
        let (Content::Tcp(new, _), Content::Tcp(old, _)) = (&self.content, &older.content) else {
            return false;
        };
        // Duplicates and those with SACK blocks say more than their number (RFC 3449, 5.2.1).
        older.is_pure_ack()
            && old.options.sack.is_empty()
            && new.has(Flags::ACK)
            && new.ack.distance_from(old.ack) > 0
            && (new.src_port, new.dst_port) == (old.src_port, old.dst_port)
            && (self.ip.src, self.ip.dst) == (older.ip.src, older.ip.dst)
    }
}

impl Packet {
    /// A packet like any other.
    pub fn new(ip: IpHeader, content: Content) -> Packet {
        Packet { ip, content, urgent: false, cause: None, corruption: CorruptionNotice::None }
    }

    /// A TCP segment.
    pub fn tcp(ip: IpHeader, tcp: TcpHeader, body: Body) -> Packet {
        Packet::new(ip, Content::Tcp(tcp, body))
    }

    /// A TCP segment that a TCP of ours sends.
    pub(crate) fn sent(ip: IpHeader, tcp: TcpHeader, body: Body, cause: Cause) -> Packet {
        Packet { cause: Some(cause), ..Packet::tcp(ip, tcp, body) }
    }

    /// Whether it is a TCP segment that does nothing but acknowledge.
    pub fn is_pure_ack(&self) -> bool {
        match &self.content {
            Content::Tcp(tcp, body) => tcp.flags == Flags::ACK && body.is_empty(),
            _ => false,
        }
    }

    /// The bytes of a TCP packet, checksums included; None for all others.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let Content::Tcp(tcp, body) = &self.content else { return None };
        let payload = body.to_bytes();
        Some([&tcp_headers(&self.ip, tcp, &payload)[..], &payload].concat())
    }

    /// The bytes of its headers alone, whose checksums are those of the whole packet. The payload
    /// of datagrams and pings is taken for zeros. An ICMP error is headers throughout: as much of
    /// it as other packets may have.
    pub fn headers(&self) -> Headers {
        let ip = &self.ip;
        match &self.content {
            Content::Tcp(tcp, body) => tcp_headers(ip, tcp, &body.to_bytes()),
            Content::Udp(Datagram { src_port, dst_port, len }) => {
                wire::emit_udp(ip, *src_port, *dst_port, usize::from(*len))
            }
            Content::Echo(Echo { reply, identifier, sequence, len }) => {
                wire::emit_echo(ip, *reply, *identifier, *sequence, usize::from(*len))
            }
            Content::Error(bytes) => bytes.iter().copied().take(HEADERS_MAX).collect(),
        }
    }

    /// The packet that `bytes` are, unless they are damaged.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Packet, wire::WireError> {
        let packet = wire::Packet::parse(bytes, Verify::Full)?;
        Ok(Packet::tcp(packet.ip, packet.tcp, Body::Bytes(packet.payload.to_vec())))
    }

    /// Cuts a super-segment into packets of at most `mss` bytes of payload, as TSO does: sequence
    /// numbers and identifications advance, FIN and PSH stay on the last one, CWR on the first.
    /// `emit` gets them in order.
    pub fn cut(self: Box<Packet>, mss: usize, mut emit: impl FnMut(Box<Packet>)) {
        let Content::Tcp(tcp, body) = &self.content else { return emit(self) };
        let len = body.len();
        if len <= mss {
            return emit(self);
        }
        for from in (0..len).step_by(mss) {
            let to = len.min(from + mss);
            let mut tcp = TcpHeader { seq: tcp.seq + from as u64, ..tcp.clone() };
            if to < len {
                tcp.flags = tcp.flags.without(Flags::FIN | Flags::PSH);
            }
            if from > 0 {
                tcp.flags = tcp.flags.without(Flags::CWR);
            }
            let number = (from / mss) as u16;
            let identification = self.ip.identification.wrapping_add(number);
            let ip = IpHeader { identification, ..self.ip };
            let part = Packet::tcp(ip, tcp, body.piece(from, to));
            emit(Box::new(Packet { cause: self.cause, ..part }));
        }
    }
}

fn tcp_headers(ip: &IpHeader, tcp: &TcpHeader, payload: &[u8]) -> Headers {
    wire::emit(ip, tcp, [payload].into_iter(), Checksum::Full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn super_segments_are_cut_as_hardware_does() {
        let ip = IpHeader::between(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let flags = Flags::ACK | Flags::PSH | Flags::FIN | Flags::CWR;
        let tcp = TcpHeader { seq: SeqNum(u32::MAX - 1), flags, ..TcpHeader::default() };
        let bytes = Body::Bytes((0..250).map(Pattern::byte).collect());
        for body in [bytes, Body::Pattern { start: 0, len: 250 }] {
            let mut parts = Vec::new();
            Box::new(Packet::tcp(ip, tcp.clone(), body)).cut(100, |part| parts.push(part));
            let headers: Vec<&TcpHeader> = parts
                .iter()
                .map(|part| match &part.content {
                    Content::Tcp(tcp, _) => tcp,
                    other => panic!("{other:?}"),
                })
                .collect();
            let flags: Vec<Flags> = headers.iter().map(|tcp| tcp.flags).collect();
            assert_eq!(
                flags,
                [Flags::ACK | Flags::CWR, Flags::ACK, Flags::ACK | Flags::PSH | Flags::FIN]
            );
            assert_eq!(headers[2].seq, SeqNum(198));
            let whole: Vec<u8> = parts
                .iter()
                .flat_map(|part| {
                    let back = Packet::from_bytes(&part.to_bytes().unwrap()).unwrap();
                    let Content::Tcp(tcp, body) = back.content else { panic!() };
                    let Content::Tcp(sent, _) = &part.content else { panic!() };
                    assert_eq!(&tcp, sent);
                    body.to_bytes()
                })
                .collect();
            assert_eq!(whole, (0..250).map(Pattern::byte).collect::<Vec<u8>>());
        }
    }
}
