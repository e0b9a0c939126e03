//! GRE (RFC 2784, 2890), and what was made of it: PPTP (RFC 2637), EoIP, ERSPAN.

use super::{Layer, Next, Rest, push};
use crate::via::{Tag, Tags, Tunnel};

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
/// With the version.
const RESERVED: u16 = 0x0FFF;
/// In PPTP's version.
const ACKNOWLEDGMENT: u16 = 0x0080;

pub(super) fn gre<'a>(rest: Rest<'a>, tags: &mut Tags) -> Next<'a> {
    let (flags, kind) = (rest.word(0)?, rest.word(2)?);
    let has = |flag: u16, bytes: usize| if flags & flag == 0 { 0 } else { bytes };
    let tunnel = match kind {
        0x88BE | 0x22EB => Tunnel::Mirror,
        _ => Tunnel::Gre,
    };
    push(tags, Tag::Tunnel(tunnel));
    if flags & 7 == 1 {
        return match kind {
            // MikroTik's, with length and tunnel in the place of the key.
            0x6400 => Some((Layer::Ethernet, rest.skip(8)?)),
            // Without a number it only acknowledges.
            0x880B if flags & SEQUENCE != 0 => {
                Some((Layer::Ppp, rest.skip(12 + has(ACKNOWLEDGMENT, 4))?))
            }
            _ => None,
        };
    }
    // Source routes and what else RFC 1701 had are of the past.
    if flags & (ROUTING | RESERVED) != 0 {
        return None;
    }
    let payload = rest.skip(4 + has(CHECKSUM, 4) + has(KEY, 4) + has(SEQUENCE, 4))?;
    match kind {
        // ERSPAN I has no header, II and III have one.
        0x88BE => Some((Layer::Ethernet, payload.skip(has(SEQUENCE, 8))?)),
        0x22EB => {
            let more = if payload.byte(11)? & 1 == 0 { 0 } else { 8 };
            // The kind of frame: 0 is Ethernet, 2 IP.
            match payload.word(10)? >> 10 & 0x1F {
                0 => Some((Layer::Ethernet, payload.skip(12 + more)?)),
                2 => Some((Layer::Ip, payload.skip(12 + more)?)),
                _ => None,
            }
        }
        // WCCP: version 2 has a header of its own.
        0x883E if payload.ip_version().is_none() => Some((Layer::Ip, payload.skip(4)?)),
        0x883E => Some((Layer::Ip, payload)),
        // Probes of the tunnel, OSI.
        0..0x0600 => None,
        kind => Some((Layer::EtherType(kind), payload)),
    }
}
