//! EtherTypes with the tags that stand before them, and LLC.

use super::{Layer, Next, Rest, link, push};
use crate::unread::Unread;
use crate::via::{Tag, Tags, Tunnel};

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
/// The least EtherType: what is below is a length.
const LEAST: u16 = 0x0600;

/// Types that never hold TCP: addresses, topology, loops, power, time, factories, storage.
const WITHOUT_TCP: [u16; 52] = [
    0x0600, 0x0806, 0x0842, 0x0BAD, 0x22EA, 0x22F0, 0x22F4, 0x6000, 0x6001, 0x6002, 0x6003, 0x6004,
    0x6005, 0x6006, 0x6007, 0x6008, 0x6009, 0x8035, 0x8038, 0x809B, 0x80F3, 0x8137, 0x8138, 0x872D,
    0x8808, 0x8809, 0x8819, 0x8863, 0x887B, 0x888E, 0x8892, 0x8899, 0x88A2, 0x88A4, 0x88AB, 0x88B8,
    0x88B9, 0x88BA, 0x88C7, 0x88CA, 0x88CC, 0x88CD, 0x88D9, 0x88E1, 0x88E3, 0x88F5, 0x88F7, 0x88FB,
    0x8902, 0x8906, 0x8914, 0x9000,
];

/// The IP packet in an Ethernet frame, if nothing is between them.
#[inline]
pub(crate) fn ip_in_ethernet(link: i32, rest: Rest<'_>) -> Option<Rest<'_>> {
    let plain = link == link::ETHERNET && matches!(rest.word(12)?, IPV4 | IPV6);
    plain.then(|| rest.skip(14))?
}

/// Reads the layer behind an EtherType.
pub(super) fn ether_type<'a>(kind: u16, rest: Rest<'a>, tags: &mut Tags) -> Next<'a> {
    // A tag, and the type of what it is put before.
    let tag = |at: usize| Some((Layer::EtherType(rest.word(at)?), rest.skip(at + 2)?));
    let tunnel = |tags: &mut Tags, tunnel| push(tags, Tag::Tunnel(tunnel));
    let unread = |name| Some((Layer::Unread(Unread::Named(name)), rest));
    match kind {
        IPV4 | IPV6 => Some((Layer::Ip, rest)),
        // IEEE 802.1Q, 802.1ad and what came before it.
        0x8100 | 0x88A8 | 0x9100 | 0x9200 | 0x9300 => {
            push(tags, Tag::Vlan(rest.word(0)? & 0x0FFF));
            tag(2)
        }
        // IEEE 802.1ah: then a frame with its own addresses.
        0x88E7 => {
            push(tags, Tag::Service(rest.long(0)? & 0x00FF_FFFF));
            Some((Layer::Ethernet, rest.skip(4)?))
        }
        // Cisco's metadata and E-Tag (IEEE 802.1BR); VN-Tag and HSR (IEC 62439-3).
        0x8909 | 0x893F => tag(6),
        0x8926 | 0x892F => tag(4),
        // FabricPath
        0x8903 => {
            tunnel(tags, Tunnel::Ethernet);
            Some((Layer::Ethernet, rest.skip(2)?))
        }
        0x8847 | 0x8848 => Some((Layer::Mpls, rest)),
        0x8864 => {
            tunnel(tags, Tunnel::Pppoe);
            Some((Layer::Ppp, rest.skip(6)?))
        }
        0x880B => Some((Layer::Ppp, rest)),
        0x6558 => Some((Layer::Ethernet, rest)),
        0x8870 => Some((Layer::Llc, rest)),
        0x22F3 => unread("TRILL"),
        0x4305 => unread("B.A.T.M.A.N."),
        0x88E5 => unread("MACsec"),
        0x894F => unread("NSH"),
        // Aruba's, in GRE.
        0x8200..=0x82F0 if kind & 0x000F == 0 => unread("802.11 in GRE"),
        0..LEAST => Some((Layer::Llc, rest)),
        kind if WITHOUT_TCP.contains(&kind) => None,
        kind => Some((Layer::Unread(Unread::EtherType(kind)), rest)),
    }
}

/// LLC: IP by its own number, by that of OSI, or behind SNAP.
pub(super) fn llc(rest: Rest<'_>) -> Next<'_> {
    match rest.bytes {
        [0xAA, 0xAA, 3, ..] => snap(rest.skip(3)?),
        [6, 6, 3, ..] => Some((Layer::Ip, rest.skip(3)?)),
        [0xFE, 0xFE, 3, 0xCC | 0x8E, ..] => Some((Layer::Ip, rest.skip(4)?)),
        _ => None,
    }
}

/// SNAP: an organization, and what it says.
pub(super) fn snap(rest: Rest<'_>) -> Next<'_> {
    let organization = rest.long(0)? >> 8;
    let kind = rest.word(3)?;
    let layer = match (organization, kind) {
        (0 | 0x00_00F8, LEAST..) => Layer::EtherType(kind),
        // A bridge's (RFC 2684), with and without checksum; in ATM two bytes fill it up.
        (0x00_80C2, 1 | 7) if rest.word(5)? == 0 => return Some((Layer::Ethernet, rest.skip(7)?)),
        (0x00_80C2, 1 | 7) => Layer::Ethernet,
        _ => return None,
    };
    Some((layer, rest.skip(5)?))
}
