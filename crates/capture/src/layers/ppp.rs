//! PPP (RFC 1661), with or without its address, with protocols of one byte or two.

use super::{Layer, Next, Rest};
use crate::unread::Unread;

pub(super) fn ppp(rest: Rest<'_>) -> Next<'_> {
    let rest = if rest.word(0)? == 0xFF03 { rest.skip(2)? } else { rest };
    // The last bit of a protocol is set, and only that of its last byte (RFC 1661, 2).
    let (protocol, rest) = match rest.byte(0)? {
        short if short & 1 == 1 => (u16::from(short), rest.skip(1)?),
        _ => (rest.word(0)?, rest.skip(2)?),
    };
    let unread = |name| Some((Layer::Unread(Unread::Named(name)), rest));
    match protocol {
        0x0021 | 0x0057 => Some((Layer::Ip, rest)),
        0x0281 | 0x0283 => Some((Layer::Mpls, rest)),
        // Bridging (RFC 3518): flags, and the kind of frame; 1 is Ethernet.
        0x0031 => match (rest.byte(0)? & 0x40, rest.byte(1)?) {
            (0, 1) => Some((Layer::Ethernet, rest.skip(2)?)),
            (_, 1) => Some((Layer::Ethernet, rest.skip(6)?)),
            _ => None,
        },
        0x002D | 0x002F => unread("TCP with compressed headers (RFC 1144)"),
        0x0061 | 0x0063 | 0x0065 | 0x0067 | 0x0069 | 0x2063 | 0x2065 | 0x2067 | 0x2069 => {
            unread("IP with compressed headers")
        }
        0x003D => unread("multilink PPP"),
        0x0053 | 0x0055 => unread("encrypted PPP"),
        0x00FB | 0x00FD => unread("compressed PPP"),
        _ => None,
    }
}
