//! Layers in IP, by their protocol numbers.

use super::{Layer, Next, Rest, push};
use crate::unread::Unread;
use crate::via::{Tag, Tags, Tunnel};

pub(crate) const TCP: u8 = 6;

pub(crate) const UDP: u8 = 17;
const IPIP: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const ETHERIP: u8 = 97;
const MPLS: u8 = 137;
/// Extension headers of IPv6, which may stand behind a fragment header.
const EXTENSIONS: [u8; 4] = [0, 43, 51, 60];

/// Protocols that never hold TCP: control, routing, other transports.
const WITHOUT_TCP: [u8; 28] = [
    0, 1, 2, 3, 5, 8, 9, 20, 27, 33, 43, 44, 46, 51, 58, 59, 60, 88, 89, 103, 112, 113, 132, 135,
    136, 139, 140, 255,
];

/// Protocols that may hold TCP and are read, so that their fragments are put together.
pub(crate) fn carries(number: u8) -> bool {
    matches!(number, TCP | UDP | IPIP | IPV6 | GRE | ETHERIP | MPLS) || EXTENSIONS.contains(&number)
}

/// Reads the layer of this protocol number.
pub(super) fn protocol<'a>(number: u8, rest: Rest<'a>, tags: &mut Tags) -> Next<'a> {
    let unread = |name| Some((Layer::Unread(Unread::Named(name)), rest));
    match number {
        TCP => Some((Layer::Tcp, rest)),
        UDP => Some((Layer::Udp, rest)),
        // The last one is KA9Q's.
        IPIP | IPV6 | 94 => {
            push(tags, Tag::Tunnel(Tunnel::Ip));
            Some((Layer::Ip, rest))
        }
        GRE => Some((Layer::Gre, rest)),
        MPLS => Some((Layer::Mpls, rest)),
        // RFC 3378, with its version before it.
        ETHERIP => {
            push(tags, Tag::Tunnel(Tunnel::Ethernet));
            Some((Layer::Ethernet, rest.skip(2)?))
        }
        // In segment routing (RFC 8986).
        143 => {
            push(tags, Tag::Tunnel(Tunnel::Ethernet));
            Some((Layer::Ethernet, rest))
        }
        50 => unread("ESP"),
        55 => unread("minimal encapsulation of IP (RFC 2004)"),
        57 => unread("SKIP"),
        98 => unread("encapsulation of IP (RFC 1241)"),
        108 => unread("compressed IP (RFC 3173)"),
        115 => unread("L2TPv3"),
        142 => unread("IP with compressed headers"),
        number if WITHOUT_TCP.contains(&number) => None,
        number => Some((Layer::Unread(Unread::Protocol(number)), rest)),
    }
}
