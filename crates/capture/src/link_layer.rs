//! Where a frame's IP packet begins, by its link type (<https://www.tcpdump.org/linktypes.html>).

const NULL: i32 = 0;
const ETHERNET: i32 = 1;
const RAW: i32 = 101;
const LOOP: i32 = 108;
const LINUX_SLL: i32 = 113;
const IPV4: i32 = 228;
const IPV6: i32 = 229;
const LINUX_SLL2: i32 = 276;
/// What OpenBSD and some Linux programs write for raw IP.
const RAW_OTHERS: [i32; 2] = [12, 14];

/// EtherTypes.
const ETHER_IPV4: u16 = 0x0800;
const ETHER_IPV6: u16 = 0x86DD;
/// IEEE 802.1Q, 802.1ad and what came before it: four bytes more each.
const VLAN: [u16; 4] = [0x8100, 0x88A8, 0x9100, 0x9200];
const PPPOE_SESSION: u16 = 0x8864;
/// Of PPP (RFC 1661): IPv4 and IPv6.
const PPP_IP: [u16; 2] = [0x0021, 0x0057];
/// Tags upon tags are an attack, not a network.
const TAGS_MAX: usize = 8;

/// Whether a link type is one of ours.
pub(crate) fn known(link: i32) -> bool {
    matches!(link, NULL | ETHERNET | RAW | LOOP | LINUX_SLL | IPV4 | IPV6 | LINUX_SLL2)
        || RAW_OTHERS.contains(&link)
}

/// Where the IP packet begins. `None` if none is in it.
pub(crate) fn ip_offset(link: i32, frame: &[u8]) -> Option<usize> {
    match link {
        ETHERNET => behind_tags(frame, 12),
        LINUX_SLL => behind_tags(frame, 14),
        // The protocol is first; then 18 bytes, of which tags are a part of what follows.
        LINUX_SLL2 => ether(frame, word(frame, 0)?, 20),
        // An address family in the byte order of the machine that captured, or in that of the
        // network: 2 is IPv4, the numbers of IPv6 differ between systems. The version in the packet
        // is what counts.
        NULL | LOOP => Some(4),
        RAW | IPV4 | IPV6 => Some(0),
        link if RAW_OTHERS.contains(&link) => Some(0),
        _ => None,
    }
}

fn word(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]))
}

/// The EtherType is at `at`.
fn behind_tags(frame: &[u8], at: usize) -> Option<usize> {
    ether(frame, word(frame, at)?, at + 2)
}

/// Of this type is what begins at `begin`.
fn ether(frame: &[u8], mut kind: u16, mut begin: usize) -> Option<usize> {
    for _ in 0..TAGS_MAX {
        match kind {
            ETHER_IPV4 | ETHER_IPV6 => return Some(begin),
            PPPOE_SESSION => {
                return PPP_IP.contains(&word(frame, begin + 6)?).then_some(begin + 8);
            }
            kind if VLAN.contains(&kind) => {}
            _ => return None,
        }
        kind = word(frame, begin + 2)?;
        begin += 4;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ip_begins_behind_each_kind_of_header() {
        let mut ethernet = [0; 40];
        ethernet[12..14].copy_from_slice(&[8, 0]);
        assert_eq!(ip_offset(ETHERNET, &ethernet), Some(14));
        ethernet[12..14].copy_from_slice(&[0x88, 0xA8]);
        ethernet[16..18].copy_from_slice(&[0x81, 0x00]);
        ethernet[20..22].copy_from_slice(&[0x86, 0xDD]);
        assert_eq!(ip_offset(ETHERNET, &ethernet), Some(22), "a tag upon a tag");
        ethernet[12..14].copy_from_slice(&[8, 6]);
        assert_eq!(ip_offset(ETHERNET, &ethernet), None, "ARP");

        let mut cooked = [0; 40];
        cooked[14..16].copy_from_slice(&[8, 0]);
        assert_eq!(ip_offset(LINUX_SLL, &cooked), Some(16));
        let mut second = [0; 40];
        second[..2].copy_from_slice(&[0x86, 0xDD]);
        assert_eq!(ip_offset(LINUX_SLL2, &second), Some(20));
        assert_eq!(ip_offset(NULL, &[2, 0, 0, 0]), Some(4));
        assert_eq!(ip_offset(RAW, &[0x45]), Some(0));
        assert_eq!(ip_offset(147, &[0x45]), None);
    }

    #[test]
    fn short_frames_and_endless_tags_end() {
        for len in 0..20 {
            for link in [NULL, ETHERNET, LOOP, LINUX_SLL, LINUX_SLL2] {
                ip_offset(link, &vec![0; len]);
            }
        }
        let tags: Vec<u8> = [0x81, 0, 0x81, 0].repeat(100);
        assert_eq!(ip_offset(ETHERNET, &tags), None);
    }
}
