//! The places where segments were seen: interfaces, and the tags and tunnels around.

use arrayvec::ArrayVec;
use std::collections::BTreeMap;

/// More tags than this around a segment are not told apart.
const TAGS_MAX: usize = 8;
/// The tags around a segment, the outermost first.
pub(crate) type Tags = ArrayVec<Tag, TAGS_MAX>;

/// A tunnel by its kind. Labels, keys and TEIDs are left out, as each direction has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tunnel {
    /// MPLS (RFC 3032).
    Mpls,
    /// PPP over Ethernet (RFC 2516).
    Pppoe,
    /// PPP in L2TP (RFC 2661) or PPTP (RFC 2637).
    Ppp,
    /// GRE (RFC 2784), with all that is made of it.
    Gre,
    /// IP in IP: IPIP, 6in4, 6rd, Teredo, LISP.
    Ip,
    /// Ethernet in IP or FabricPath.
    Ethernet,
    /// GTP-U (3GPP TS 29.281).
    GtpU,
    /// A copy that a switch sends elsewhere: ERSPAN.
    Mirror,
}

/// One layer around a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tag {
    /// The kernel's number of the interface (Linux cooked 2).
    Device(u32),
    /// A VLAN's identifier (IEEE 802.1Q); 0 is a priority without a VLAN.
    Vlan(u16),
    /// The instance of a backbone's service (I-SID, IEEE 802.1ah).
    Service(u32),
    /// The identifier of a virtual network (VXLAN, Geneve).
    Vni(u32),
    /// A tunnel.
    Tunnel(Tunnel),
}

impl Tag {
    /// True if equal addresses inside and outside can be different hosts.
    #[must_use]
    pub fn is_network(self) -> bool {
        match self {
            Tag::Vlan(identifier) => identifier != 0,
            Tag::Service(_) | Tag::Vni(_) => true,
            Tag::Device(_) | Tag::Tunnel(_) => false,
        }
    }
}

/// A place where segments were seen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Via {
    /// The interface's number in the file, from 0. Each section of a pcapng file has others.
    pub interface: u32,
    /// The tags and tunnels around the segment, the outermost first.
    pub tags: Vec<Tag>,
}

impl Via {
    /// The tags that tell its virtual network: VLANs, services, VNIs.
    pub fn network(&self) -> impl Iterator<Item = Tag> {
        self.tags.iter().copied().filter(|tag| tag.is_network())
    }

    /// True if both are in the same virtual network, on any interface.
    #[must_use]
    pub fn same_network(&self, other: &Via) -> bool {
        self.network().eq(other.network())
    }
}

/// The numbers of places, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Vias {
    pub(crate) all: Vec<Via>,
    numbers: BTreeMap<Via, u16>,
    /// That of the segment before, as most come by the same way.
    last: Option<(u32, Tags, u16)>,
}

impl Vias {
    /// The number of this place; `u16::MAX` for all behind the first 65,535.
    pub(crate) fn number(&mut self, interface: u32, tags: &Tags) -> u16 {
        if let Some((last, around, number)) = &self.last
            && *last == interface
            && around == tags
        {
            return *number;
        }
        let via = Via { interface, tags: tags.to_vec() };
        let number = match self.numbers.get(&via) {
            Some(&number) => number,
            None => {
                let next = u16::try_from(self.all.len()).unwrap_or(u16::MAX);
                if next < u16::MAX {
                    self.numbers.insert(via.clone(), next);
                    self.all.push(via);
                }
                next
            }
        };
        self.last = Some((interface, tags.clone(), number));
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_numbered_as_they_come_and_at_last_share_a_number() {
        let mut vias = Vias::default();
        let none = Tags::new();
        let vlan = |identifier| Tags::from_iter([Tag::Vlan(identifier)]);
        assert_eq!([0, 0, 1].map(|interface| vias.number(interface, &none)), [0, 0, 1]);
        assert_eq!([1, 2, 1].map(|identifier| vias.number(0, &vlan(identifier))), [2, 3, 2]);
        for interface in 4..70_000 {
            vias.number(interface, &none);
        }
        assert_eq!((vias.number(0, &none), vias.number(99_999, &none)), (0, u16::MAX));
        assert_eq!(vias.all.len(), usize::from(u16::MAX));
    }

    #[test]
    fn a_network_is_that_of_vlans_and_vnis() {
        let via = |interface, tags: &[Tag]| Via { interface, tags: tags.to_vec() };
        let plain = via(0, &[]);
        let others = [Tag::Vlan(0), Tag::Tunnel(Tunnel::Mpls), Tag::Device(3)];
        assert!(plain.same_network(&via(1, &others)));
        assert!(!plain.same_network(&via(0, &[Tag::Vlan(7)])));
        let [seven, eight] = [7, 8].map(|vni| via(0, &[Tag::Vlan(1), Tag::Vni(vni)]));
        assert!(!seven.same_network(&eight));
    }
}
