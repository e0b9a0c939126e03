//! The network of a site: 24 bits of IPv4, or 56 of IPv6 (RFC 6177).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// See the module's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SitePrefix {
    first: IpAddr,
}

impl SitePrefix {
    /// The lengths in bits: of IPv4, and of IPv6.
    pub const LENGTHS: [u8; 2] = [24, 56];

    /// That of an address. An IPv4 address that is written as one of IPv6 is of IPv4.
    pub fn of(address: IpAddr) -> SitePrefix {
        let [four, six] = SitePrefix::LENGTHS.map(u32::from);
        let first = match address.to_canonical() {
            IpAddr::V4(it) => Ipv4Addr::from(u32::from(it) & u32::MAX << (32 - four)).into(),
            IpAddr::V6(it) => Ipv6Addr::from(u128::from(it) & u128::MAX << (128 - six)).into(),
        };
        SitePrefix { first }
    }

    /// Its first address.
    pub fn first(self) -> IpAddr {
        self.first
    }

    /// Its length in bits.
    pub fn length(self) -> u8 {
        SitePrefix::LENGTHS[usize::from(self.first.is_ipv6())]
    }
}

impl fmt::Display for SitePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.length())
    }
}

#[cfg(test)]
mod tests {
    use super::SitePrefix;

    #[test]
    fn addresses_of_a_network_have_one_prefix() {
        let text = |address: &str| SitePrefix::of(address.parse().unwrap()).to_string();
        for (address, prefix) in [
            ("10.1.2.3", "10.1.2.0/24"),
            ("10.1.3.255", "10.1.3.0/24"),
            ("::ffff:10.1.2.9", "10.1.2.0/24"),
            ("2001:db8:0:1ff::1", "2001:db8:0:100::/56"),
            ("2001:db8:0:200::", "2001:db8:0:200::/56"),
        ] {
            assert_eq!(text(address), prefix);
        }
    }
}
