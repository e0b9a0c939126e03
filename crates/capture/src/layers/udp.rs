//! Tunnels in UDP, by the port that they go to. Ports are given to other programs, too: what does
//! not begin as the tunnel's header does is none.

use super::{Layer, Next, Rest, push};
use crate::unread::Unread;
use crate::via::{Tag, Tags, Tunnel};

/// Ports of tunnels whose answers come from them.
const SERVICES: [u16; 6] = [1701, 3544, 4500, 5072, 5247, 51820];

pub(super) fn udp<'a>(rest: Rest<'a>, tags: &mut Tags) -> Next<'a> {
    let ports = [rest.word(0)?, rest.word(2)?];
    let payload = rest.skip(8)?;
    match ports[1] {
        // IANA's, and what Linux took before.
        4789 | 8472 => return vxlan(payload, tags),
        6081 => return geneve(payload, tags),
        2152 => return gtp_u(payload, tags),
        // LISP (RFC 6830).
        4341 => return ip_in(payload.skip(8)?, Tunnel::Ip, tags),
        // RFC 8086, RFC 7510.
        4754 => return Some((Layer::Gre, payload)),
        6635 => return Some((Layer::Mpls, payload)),
        4790 => return unread("VXLAN-GPE", payload),
        37008 => return unread("TZSP", payload),
        _ => {}
    }
    // Both ends have the port, or only the one that answers.
    let service = ports.into_iter().find(|port| SERVICES.contains(port))?;
    match service {
        1701 => l2tp(payload, tags),
        3544 => teredo(payload, tags),
        // Not the key exchange, which begins with zeros (RFC 3948).
        4500 if payload.long(0)? != 0 => unread("ESP", payload),
        5072 => unread("AYIYA", payload),
        5247 if payload.byte(0)? & 0xF0 == 0 => unread("CAPWAP", payload),
        51820 if payload.long(0)? == 0x0400_0000 => unread("WireGuard", payload),
        _ => None,
    }
}

fn unread<'a>(name: &'static str, rest: Rest<'a>) -> Next<'a> {
    Some((Layer::Unread(Unread::Named(name)), rest))
}

/// An IP packet, if it is one, in this tunnel.
fn ip_in<'a>(rest: Rest<'a>, tunnel: Tunnel, tags: &mut Tags) -> Next<'a> {
    rest.ip_version()?;
    push(tags, Tag::Tunnel(tunnel));
    Some((Layer::Ip, rest))
}

/// RFC 7348, with the flag of a group's policy allowed.
fn vxlan<'a>(rest: Rest<'a>, tags: &mut Tags) -> Next<'a> {
    if rest.byte(0)? & 0x7F != 0x08 || rest.byte(7)? != 0 {
        return None;
    }
    push(tags, Tag::Vni(rest.long(4)? >> 8));
    Some((Layer::Ethernet, rest.skip(8)?))
}

/// RFC 8926.
fn geneve<'a>(rest: Rest<'a>, tags: &mut Tags) -> Next<'a> {
    let first = rest.byte(0)?;
    if first >> 6 != 0 || rest.byte(7)? != 0 {
        return None;
    }
    push(tags, Tag::Vni(rest.long(4)? >> 8));
    let options = usize::from(first & 0x3F) * 4;
    match rest.word(2)? {
        0..0x0600 => None,
        kind => Some((Layer::EtherType(kind), rest.skip(8 + options)?)),
    }
}

/// 3GPP TS 29.281: a packet of a user, behind options and extension headers.
fn gtp_u<'a>(rest: Rest<'a>, tags: &mut Tags) -> Next<'a> {
    const USER_DATA: u8 = 0xFF;
    const EXTENSIONS_MAX: usize = 8;
    let flags = rest.byte(0)?;
    if flags & 0xF0 != 0x30 || rest.byte(1)? != USER_DATA {
        return None;
    }
    if flags & 7 == 0 {
        return ip_in(rest.skip(8)?, Tunnel::GtpU, tags);
    }
    let mut kind = if flags & 4 == 0 { 0 } else { rest.byte(11)? };
    let mut inner = rest.skip(12)?;
    for _ in 0..EXTENSIONS_MAX {
        if kind == 0 {
            return ip_in(inner, Tunnel::GtpU, tags);
        }
        let len = usize::from(inner.byte(0)?).max(1) * 4;
        kind = inner.byte(len - 1)?;
        inner = inner.skip(len)?;
    }
    None
}

/// RFC 2661: PPP, behind fields that flags announce.
fn l2tp<'a>(rest: Rest<'a>, tags: &mut Tags) -> Next<'a> {
    const CONTROL: u16 = 0x8000;
    const LENGTH: u16 = 0x4000;
    const SEQUENCE: u16 = 0x0800;
    const OFFSET: u16 = 0x0200;
    let flags = rest.word(0)?;
    match flags & 0x000F {
        _ if flags & CONTROL != 0 => return None,
        2 => {}
        3 => return unread("L2TPv3", rest),
        _ => return None,
    }
    let has = |flag: u16, bytes: usize| if flags & flag == 0 { 0 } else { bytes };
    let header = 6 + has(LENGTH, 2) + has(SEQUENCE, 4);
    let offset = match flags & OFFSET {
        0 => 0,
        _ => 2 + usize::from(rest.word(header)?),
    };
    push(tags, Tag::Tunnel(Tunnel::Ppp));
    Some((Layer::Ppp, rest.skip(header + offset)?))
}

/// RFC 4380: IPv6, behind an authentication and where it came from.
fn teredo<'a>(mut rest: Rest<'a>, tags: &mut Tags) -> Next<'a> {
    if rest.word(0)? == 1 {
        let [identifier, authentication] = [rest.byte(2)?, rest.byte(3)?].map(usize::from);
        rest = rest.skip(13 + identifier + authentication)?;
    }
    if rest.word(0)? == 0 {
        rest = rest.skip(8)?;
    }
    ip_in(rest, Tunnel::Ip, tags).filter(|_| rest.ip_version() == Some(6))
}
