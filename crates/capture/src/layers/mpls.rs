//! MPLS (RFC 3032). Labels do not say what is behind them: the first bits tell IP, and Ethernet
//! with a control word (RFC 4448) or without.

use super::{Layer, Next, Rest, push};
use crate::via::{Tag, Tags, Tunnel};

/// No network has more labels than this.
const LABELS_MAX: usize = 16;
/// The bit of the last label.
const BOTTOM: u32 = 0x100;

pub(super) fn mpls<'a>(mut rest: Rest<'a>, tags: &mut Tags) -> Next<'a> {
    push(tags, Tag::Tunnel(Tunnel::Mpls));
    for _ in 0..LABELS_MAX {
        let label = rest.long(0)?;
        rest = rest.skip(4)?;
        if label & BOTTOM != 0 {
            return behind(rest);
        }
    }
    None
}

fn behind(rest: Rest<'_>) -> Next<'_> {
    if is_ip(rest) {
        return Some((Layer::Ip, rest));
    }
    let inner = rest.skip(4)?;
    // Without a control word an address can begin with zeros, too.
    match rest.byte(0)? >> 4 {
        0 if is_ethernet(inner) => Some((Layer::Ethernet, inner)),
        _ if is_ethernet(rest) => Some((Layer::Ethernet, rest)),
        _ => None,
    }
}

/// IP by its version, if the lengths in the header are possible.
fn is_ip(rest: Rest<'_>) -> bool {
    match (rest.ip_version(), rest.word(2), rest.word(4)) {
        (Some(4), Some(total), _) => {
            let header = usize::from(rest.bytes[0] & 0x0F) * 4;
            header >= 20 && (total == 0 || (header..=rest.wire).contains(&usize::from(total)))
        }
        (Some(6), _, Some(payload)) => usize::from(payload) + 40 <= rest.wire,
        _ => false,
    }
}

/// Ethernet by its EtherType, if that may hold TCP or is a tag's.
fn is_ethernet(rest: Rest<'_>) -> bool {
    const KINDS: [u16; 7] = [0x0800, 0x86DD, 0x8100, 0x88A8, 0x8847, 0x8864, 0x88E7];
    rest.word(12).is_some_and(|kind| KINDS.contains(&kind))
}
