//! What of an IP header survives a split connection.

use etherparse::{
    IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv4HeaderSlice, Ipv6FlowLabel, Ipv6Header,
    Ipv6HeaderSlice,
};
use std::net::IpAddr;

/// The fields of an IPv4 or IPv6 header that have a meaning beyond one hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpHeader {
    /// Source address; of the same family as `dst`.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Time to live or hop limit.
    pub hop_limit: u8,
    /// DSCP (six bits) and ECN (two bits).
    pub traffic_class: u8,
    /// IPv6's flow label (20 bits); 0 for IPv4.
    pub flow_label: u32,
    /// IPv4's identification, by which fragments find each other (RFC 791, 2.3). IPv6's header has
    /// none.
    pub identification: u16,
    /// IPv4's DF: routers are not to fragment the packet, as IPv6's never do.
    pub dont_fragment: bool,
}

impl IpHeader {
    /// The ECN bits (RFC 3168).
    pub const ECN_MASK: u8 = 0b11;

    /// The header of a packet from `src` to `dst`, of the same family, that says nothing special.
    pub fn between(src: IpAddr, dst: IpAddr) -> IpHeader {
        IpHeader {
            src,
            dst,
            hop_limit: 64,
            traffic_class: 0,
            flow_label: 0,
            identification: 0,
            dont_fragment: true,
        }
    }

    /// Length on the wire: 20 bytes for IPv4, 40 for IPv6.
    pub fn wire_len(&self) -> usize {
        if self.src.is_ipv4() { Ipv4Header::MIN_LEN } else { Ipv6Header::LEN }
    }

    pub(super) fn from_v4(header: &Ipv4HeaderSlice<'_>) -> IpHeader {
        IpHeader {
            src: IpAddr::V4(header.source_addr()),
            dst: IpAddr::V4(header.destination_addr()),
            hop_limit: header.ttl(),
            traffic_class: header.dcp().value() << 2 | header.ecn().value(),
            flow_label: 0,
            identification: header.identification(),
            dont_fragment: header.dont_fragment(),
        }
    }

    pub(super) fn from_v6(header: &Ipv6HeaderSlice<'_>) -> IpHeader {
        IpHeader {
            src: IpAddr::V6(header.source_addr()),
            dst: IpAddr::V6(header.destination_addr()),
            hop_limit: header.hop_limit(),
            traffic_class: header.traffic_class(),
            flow_label: header.flow_label().value(),
            identification: 0,
            dont_fragment: true,
        }
    }

    /// The header's bytes in front of `payload_len` bytes.
    pub(super) fn write(&self, protocol: IpNumber, payload_len: usize, mut put: impl FnMut(&[u8])) {
        let len = u16::try_from(payload_len).expect("a packet is at most 65,535 bytes long");
        match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let mut header =
                    Ipv4Header::new(len, self.hop_limit, protocol, src.octets(), dst.octets())
                        .expect("a packet is at most 65,535 bytes long");
                header.dscp = IpDscp::try_new(self.traffic_class >> 2).unwrap_or_default();
                header.ecn =
                    IpEcn::try_new(self.traffic_class & Self::ECN_MASK).unwrap_or_default();
                header.identification = self.identification;
                header.dont_fragment = self.dont_fragment;
                header.header_checksum = header.calc_header_checksum();
                put(&header.to_bytes());
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let header = Ipv6Header {
                    traffic_class: self.traffic_class,
                    flow_label: Ipv6FlowLabel::try_new(self.flow_label).unwrap_or_default(),
                    payload_length: len,
                    next_header: protocol,
                    hop_limit: self.hop_limit,
                    source: src.octets(),
                    destination: dst.octets(),
                };
                put(&header.to_bytes());
            }
            _ => unreachable!("source and destination are of one family"),
        }
    }
}
