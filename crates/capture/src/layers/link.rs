//! Link types (<https://www.tcpdump.org/linktypes.html>).

use super::{Layer, Next, Rest, push};
use crate::unread::Unread;
use crate::via::{Tag, Tags};

pub(super) const ETHERNET: i32 = 1;

/// A frame of this link type.
pub(super) fn link<'a>(link: i32, rest: Rest<'a>, tags: &mut Tags) -> Next<'a> {
    let (layer, header) = match link {
        // NULL and LOOP: an address family in the byte order of the machine that captured, or in
        // that of the network. 2 is IPv4, the numbers of IPv6 differ between systems. The version
        // in the packet is what counts.
        0 | 108 => (Layer::Ip, 4),
        // RAW, what OpenBSD and some Linux programs write for it, IPV4, IPV6.
        12 | 14 | 101 | 228 | 229 => (Layer::Ip, 0),
        ETHERNET => (Layer::Ethernet, 0),
        // SLIP: a direction and a header that was compressed; the packet is whole.
        8 => (Layer::Ip, 16),
        // PPP, PPP_HDLC, PPP_PPPD: a serial line of Cisco's has the same number.
        9 | 50 | 166 => (serial(rest)?, 0),
        // FDDI: frame control and addresses.
        10 => (Layer::Llc, 13),
        // PPP_ETHER: from PPPoE's header on.
        51 => (Layer::EtherType(0x8864), 0),
        // ATM_RFC1483
        100 => (Layer::Llc, 0),
        // C_HDLC
        104 => (Layer::CiscoHdlc, 0),
        // ATM_CLIP
        106 => (Layer::Ip, 0),
        // FRELAY: address, unnumbered information, then a network layer's identifier.
        107 => match (rest.byte(2)?, rest.byte(3)?) {
            (3, 0xCC | 0x8E) => (Layer::Ip, 4),
            (3, 0x80) => return super::ether::snap(rest.skip(4)?),
            _ => (Layer::EtherType(rest.word(2)?), 4),
        },
        // ENC
        109 => (Layer::Ip, 12),
        // LINUX_SLL
        113 => (Layer::EtherType(rest.word(14)?), 16),
        // PFLOG: its header's length, filled up to four bytes.
        117 => (Layer::Ip, usize::from(rest.byte(0)?).next_multiple_of(4)),
        // APPLE_IP_OVER_IEEE1394
        138 => (Layer::EtherType(rest.word(16)?), 18),
        // PPP_WITH_DIR, C_HDLC_WITH_DIR
        204 => (Layer::Ppp, 1),
        205 => (Layer::CiscoHdlc, 1),
        // MPLS
        219 => (Layer::Mpls, 0),
        // IPNET
        226 => (Layer::Ip, 24),
        239 => return nflog(rest),
        // IPOIB: addresses, EtherType, and two bytes that are reserved (RFC 4391, 6).
        242 => (Layer::EtherType(rest.word(40)?), 44),
        // PKTAP, and what macOS wrote before that had a number: a header's length, what follows,
        // its link type. All of it little-endian, as these machines are.
        149 | 258 => {
            let long = |at| rest.long(at).map(u32::swap_bytes);
            let header = usize::try_from(long(0)?).ok().filter(|&header| header >= 12)?;
            let inner = i32::try_from(long(8)?).ok().filter(|inner| ![149, 258].contains(inner))?;
            (Layer::Link(inner), header)
        }
        // PPI: the length of its header and the link type, little-endian.
        192 => {
            let header = usize::from(rest.word(2)?.swap_bytes()).max(8);
            let inner = i32::try_from(rest.long(4)?.swap_bytes()).ok().filter(|&it| it != 192)?;
            (Layer::Link(inner), header)
        }
        // LINUX_SLL2: the protocol is first; then 18 bytes, with the interface's number.
        276 => {
            push(tags, Tag::Device(rest.long(4)?));
            (Layer::EtherType(rest.word(0)?), 20)
        }
        // DSA_TAG_BRCM, DSA_TAG_DSA and DSA_TAG_EDSA: a tag of the switch behind the addresses.
        281 | 284 => (Layer::EtherType(rest.word(16)?), 18),
        285 => (Layer::EtherType(rest.word(20)?), 22),
        // DSA_TAG_BRCM_PREPEND, ETHERNET_MPACKET
        282 => (Layer::Ethernet, 4),
        274 => (Layer::Ethernet, 8),
        _ => return Some((Layer::Unread(Unread::Link(link)), rest)),
    };
    Some((layer, rest.skip(header)?))
}

/// A serial line: PPP, or Cisco's HDLC by its address.
fn serial(rest: Rest<'_>) -> Option<Layer> {
    match rest.byte(0)? {
        0x0F | 0x8F => Some(Layer::CiscoHdlc),
        _ => Some(Layer::Ppp),
    }
}

/// A message of Linux's NFLOG: values with length and kind, in the byte order of the machine that
/// captured.
fn nflog(rest: Rest<'_>) -> Next<'_> {
    const PAYLOAD: u16 = 9;
    let packet = |number: fn([u8; 2]) -> u16| {
        let mut rest = rest.skip(4)?;
        loop {
            let &[a, b, c, d] = rest.bytes.first_chunk()?;
            let len = usize::from(number([a, b]));
            if number([c, d]) & 0x7FFF == PAYLOAD {
                return rest.skip(4).filter(|packet| packet.ip_version().is_some());
            }
            rest = rest.skip(len.next_multiple_of(4).max(4))?;
        }
    };
    let packet = packet(u16::from_le_bytes).or_else(|| packet(u16::from_be_bytes))?;
    Some((Layer::Ip, packet))
}
