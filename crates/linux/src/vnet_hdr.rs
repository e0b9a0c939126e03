//! The header before each packet of a TUN device opened with offload: virtio-net's legacy
//! `virtio_net_hdr` (Virtual I/O Device 1.3, 5.1.6), ten bytes in host byte order.
//!
//! Through it one read or write carries a super-segment of up to 64 KiB, of TCP or of UDP datagrams
//! of one length, which the kernel cuts at `gso_size` only when a wire needs it, and checksums are
//! left for the kernel to finish.

/// Bytes of the header.
pub const VNET_HDR_LEN: usize = 10;

const F_NEEDS_CSUM: u8 = 1;
const F_DATA_VALID: u8 = 2;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
const GSO_ECN: u8 = 0x80;

/// What travels beside a packet: how to cut it, and the state of its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VnetHdr {
    /// Set for a super-segment.
    pub gso: Option<Gso>,
    /// Length of all headers (IP and TCP) before the payload; a hint, 0 if unknown.
    pub hdr_len: u16,
    /// Who vouches for, or is to finish, the TCP or UDP checksum.
    pub checksum: Checksum,
}

/// How to cut a super-segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gso {
    /// Over which protocol.
    pub kind: GsoKind,
    /// The first segment alone carries CWR (RFC 3168).
    pub ecn: bool,
    /// Payload bytes of each segment but the last.
    pub size: u16,
}

/// The protocols that super-segments come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GsoKind {
    /// TCP over IPv4.
    TcpV4,
    /// TCP over IPv6.
    TcpV6,
    /// UDP over IPv4 or IPv6.
    Udp,
}

/// The state of a packet's transport checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checksum {
    /// As it stands in the packet; nobody has checked it.
    #[default]
    Complete,
    /// As it stands in the packet or not filled in, but known to be good.
    Valid,
    /// Only the pseudo-header's part is in the field. Still to be summed, from `start` to the end,
    /// and stored `offset` bytes behind `start`.
    Needed {
        /// Where the transport header starts, counted from the IP header.
        start: u16,
        /// Where in the transport header the field is.
        offset: u16,
    },
}

/// Why a header was not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VnetHdrError {
    /// A kind of super-packet that was never asked for.
    #[error("offload of unknown type {0}")]
    GsoType(u8),
    /// A super-segment that says nothing about where to cut it.
    #[error("offload with segment size 0")]
    GsoSize,
}

impl VnetHdr {
    /// Reads a header.
    ///
    /// # Errors
    /// [`VnetHdrError`] on anything that [`Tun`](crate::tun::Tun) has not asked for.
    pub fn parse(bytes: &[u8; VNET_HDR_LEN]) -> Result<VnetHdr, VnetHdrError> {
        let [flags, gso_type, ..] = *bytes;
        let field = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let kind = match gso_type & !GSO_ECN {
            GSO_NONE => None,
            GSO_TCPV4 => Some(GsoKind::TcpV4),
            GSO_TCPV6 => Some(GsoKind::TcpV6),
            GSO_UDP_L4 => Some(GsoKind::Udp),
            _ => return Err(VnetHdrError::GsoType(gso_type)),
        };
        let size = field(4);
        if kind.is_some() && size == 0 {
            return Err(VnetHdrError::GsoSize);
        }
        let checksum = if flags & F_NEEDS_CSUM != 0 {
            Checksum::Needed { start: field(6), offset: field(8) }
        } else if flags & F_DATA_VALID != 0 {
            Checksum::Valid
        } else {
            Checksum::Complete
        };
        Ok(VnetHdr {
            gso: kind.map(|kind| Gso { kind, ecn: gso_type & GSO_ECN != 0, size }),
            hdr_len: field(2),
            checksum,
        })
    }

    /// The same for a packet in front of which `len` bytes more are taken along.
    pub fn moved_by(self, len: usize) -> VnetHdr {
        self.moved(|at| at.saturating_add(len as u16))
    }

    /// The same for a packet that loses so many bytes in front.
    pub fn moved_back_by(self, len: usize) -> VnetHdr {
        self.moved(|at| at.saturating_sub(len as u16))
    }

    fn moved(self, to: impl Fn(u16) -> u16) -> VnetHdr {
        let checksum = match self.checksum {
            Checksum::Needed { start, offset } => Checksum::Needed { start: to(start), offset },
            other => other,
        };
        let hdr_len = if self.hdr_len == 0 { 0 } else { to(self.hdr_len) };
        VnetHdr { checksum, hdr_len, ..self }
    }

    /// The header's bytes.
    pub fn emit(&self) -> [u8; VNET_HDR_LEN] {
        let (flags, start, offset) = match self.checksum {
            Checksum::Complete => (0, 0, 0),
            Checksum::Valid => (F_DATA_VALID, 0, 0),
            Checksum::Needed { start, offset } => (F_NEEDS_CSUM, start, offset),
        };
        let (gso_type, size) = match self.gso {
            None => (GSO_NONE, 0),
            Some(Gso { kind, ecn, size }) => {
                let kind = match kind {
                    GsoKind::TcpV4 => GSO_TCPV4,
                    GsoKind::TcpV6 => GSO_TCPV6,
                    GsoKind::Udp => GSO_UDP_L4,
                };
                (kind | if ecn { GSO_ECN } else { 0 }, size)
            }
        };
        let mut bytes = [0; VNET_HDR_LEN];
        bytes[0] = flags;
        bytes[1] = gso_type;
        bytes[2..4].copy_from_slice(&self.hdr_len.to_ne_bytes());
        bytes[4..6].copy_from_slice(&size.to_ne_bytes());
        bytes[6..8].copy_from_slice(&start.to_ne_bytes());
        bytes[8..10].copy_from_slice(&offset.to_ne_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_survive_a_round_trip() {
        let kinds = [None, Some(GsoKind::TcpV4), Some(GsoKind::TcpV6), Some(GsoKind::Udp)];
        let checksums =
            [Checksum::Complete, Checksum::Valid, Checksum::Needed { start: 40, offset: 16 }];
        for kind in kinds {
            for checksum in checksums {
                for ecn in [false, true] {
                    let gso = kind.map(|kind| Gso { kind, ecn, size: 1448 });
                    let header = VnetHdr { gso, hdr_len: 72, checksum };
                    assert_eq!(VnetHdr::parse(&header.emit()), Ok(header));
                }
            }
        }
    }

    #[test]
    fn a_plain_packet_has_a_zero_header() {
        assert_eq!(VnetHdr::default().emit(), [0; VNET_HDR_LEN]);
    }

    #[test]
    fn what_was_not_asked_for_is_an_error() {
        let mut bytes = [0; VNET_HDR_LEN];
        bytes[1] = 3; // VIRTIO_NET_HDR_GSO_UDP, of fragments
        assert_eq!(VnetHdr::parse(&bytes), Err(VnetHdrError::GsoType(3)));
        bytes[1] = GSO_TCPV4;
        assert_eq!(VnetHdr::parse(&bytes), Err(VnetHdrError::GsoSize));
    }
}
