//! IPv4's identifications (RFC 791, 2.3), by which the fragments of a packet find each other.
//!
//! A packet with DF needs none (RFC 6864, 4.1), but routers that clear DF are common, and behind
//! one of them packets with equal identifications are put together from each other's fragments (RFC
//! 4963). So every packet has one, as Linux's have.
//!
//! Identifications must be unique for addresses and protocol (RFC 6864, 4.2). Two connections
//! between the same hosts that count for themselves meet sooner or later. So there is a counter for
//! each pair of addresses and direction, in a table of fixed size, as in Linux (`ip_idents`, for
//! packets without DF). Where a pair begins to count depends on a seed that nobody else knows.

use std::net::{IpAddr, Ipv4Addr};

/// Counters. Pairs of addresses that share one have other beginnings.
const COUNTERS: usize = 4096;

/// The identifications of all packets that are sent, in other hosts' names as well.
#[derive(Debug)]
pub struct Identifications {
    seed: u64,
    counters: Box<[u16]>,
}

impl Identifications {
    /// Counters that begin where `seed` says.
    pub fn new(seed: u64) -> Identifications {
        Identifications { seed, counters: vec![0; COUNTERS].into() }
    }

    /// The identification of the next packet from `src` to `dst`, if they are IPv4's: the first of
    /// as many as there are `packets`. What cuts a super-segment counts on from it.
    pub fn take(&mut self, src: IpAddr, dst: IpAddr, packets: u16) -> u16 {
        let (IpAddr::V4(src), IpAddr::V4(dst)) = (src, dst) else { return 0 };
        let hash = self.hash(src, dst);
        let counter = &mut self.counters[hash as usize % COUNTERS];
        let first = counter.wrapping_add((hash >> 48) as u16);
        *counter = counter.wrapping_add(packets);
        first
    }

    /// The finaliser of SplitMix64, once for each half of what is hashed.
    fn hash(&self, src: Ipv4Addr, dst: Ipv4Addr) -> u64 {
        let mix = |mut word: u64| {
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        };
        let addresses = u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits());
        mix(mix(self.seed ^ addresses).wrapping_add(self.seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn host(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn the_packets_of_a_pair_of_addresses_are_all_numbered_otherwise_until_the_number_wraps() {
        let mut identifications = Identifications::new(7);
        let mut seen = BTreeSet::new();
        let mut packets = 0;
        while packets < 1 << 16 {
            // Other pairs do not disturb it.
            identifications.take(host(1), host(3), 5);
            let segments = [1, 3, 12][packets % 3].min((1 << 16) - packets);
            let first = identifications.take(host(1), host(2), segments as u16);
            seen.extend((0..segments).map(|number| first.wrapping_add(number as u16)));
            packets += segments;
        }
        assert_eq!(seen.len(), 1 << 16);
    }

    #[test]
    fn pairs_directions_and_seeds_have_their_own_beginnings() {
        let firsts: BTreeSet<u16> = (0..10)
            .flat_map(|seed| {
                let mut identifications = Identifications::new(seed);
                let pairs = [(1, 2), (2, 1), (1, 3)];
                pairs.map(|(src, dst)| identifications.take(host(src), host(dst), 1))
            })
            .collect();
        assert!(firsts.len() > 25, "{firsts:?}");
    }

    #[test]
    fn ipv6_has_none() {
        let v6 = IpAddr::from([0xFD00, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(Identifications::new(7).take(v6, v6, 1), 0);
    }
}
