//! What a rule matches, as text.

use bentpipe_core::wire::IpHeader;
use ipnet::IpNet;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Why a text is no part of a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Not a network.
    #[error("`{0}` is no network (for example 10.0.0.0/8, 2001:db8::/32 or an address)")]
    Network(String),
    /// Not ports. Nobody listens on port 0.
    #[error("`{0}` is no port or range of ports (1 to 65535, for example 443 or 8000-8999)")]
    Ports(String),
    /// Not a DSCP.
    #[error("`{0}` is no DSCP (0 to 63, cs0 to cs7, af11 to af43, ef, va or le)")]
    Dscp(String),
}

/// A network, of IPv4 or IPv6; or an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network(IpNet);

impl Network {
    /// Whether `address` is in it. Networks of one family have no addresses of the other.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }

    /// Whether its addresses are of IPv4.
    pub fn is_ipv4(&self) -> bool {
        matches!(self.0, IpNet::V4(_))
    }
}

impl FromStr for Network {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Network, TextError> {
        let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        network.map(Network).map_err(|_| TextError::Network(text.to_owned()))
    }
}

/// A port, or ports from one to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports(RangeInclusive<u16>);

impl Ports {
    /// Whether `port` is one of them.
    pub fn contains(&self, port: u16) -> bool {
        self.0.contains(&port)
    }
}

impl FromStr for Ports {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Ports, TextError> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(Ports(first..=last)),
            _ => Err(TextError::Ports(text.to_owned())),
        }
    }
}

/// A differentiated services code point (RFC 2474), by number or by the name of its per-hop
/// behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dscp(u8);

impl Dscp {
    /// Whether a packet has it.
    pub fn is_of(self, ip: &IpHeader) -> bool {
        ip.traffic_class >> 2 == self.0
    }
}

impl FromStr for Dscp {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Dscp, TextError> {
        let name = text.to_ascii_lowercase();
        let value = match name.as_bytes() {
            // RFC 3246, RFC 5865, RFC 8622.
            b"ef" => Some(46),
            b"va" => Some(44),
            b"le" => Some(1),
            // RFC 2474, 4.2.2.2.
            [b'c', b's', class @ b'0'..=b'7'] => Some((class - b'0') << 3),
            // RFC 2597, 6: class and drop precedence.
            [b'a', b'f', class @ b'1'..=b'4', drop @ b'1'..=b'3'] => {
                Some((class - b'0') << 3 | (drop - b'0') << 1)
            }
            _ => name.parse().ok().filter(|number| *number < 64),
        };
        value.map(Dscp).ok_or_else(|| TextError::Dscp(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_the_addresses_of_their_family() {
        let contains = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(contains("10.0.0.0/8", "10.255.0.1"));
        assert!(!contains("10.0.0.0/8", "11.0.0.1"));
        assert!(contains("10.1.2.3", "10.1.2.3"));
        assert!(!contains("10.1.2.3", "10.1.2.4"));
        assert!(contains("2001:db8::/32", "2001:db8:ffff::1"));
        assert!(!contains("2001:db8::/32", "2001:db9::1"));
        assert!(contains("0.0.0.0/0", "255.255.255.255"));
        assert!(!contains("0.0.0.0/0", "::1"));
        assert!(!contains("::/0", "10.0.0.1"));
    }

    #[test]
    fn ports_stand_alone_or_in_ranges() {
        for (text, within, beyond) in [("443", 443, 444), ("8000-8999", 8999, 9000)] {
            let ports: Ports = text.parse().unwrap();
            assert!(ports.contains(within) && !ports.contains(beyond));
        }
        assert!("1-65535".parse::<Ports>().unwrap().contains(u16::MAX));
    }

    #[test]
    fn code_points_have_names() {
        // The values of IANA's registry.
        for (text, value) in
            [("0", 0), ("63", 63), ("cs1", 8), ("CS7", 56), ("af11", 10), ("af43", 38), ("EF", 46)]
        {
            assert_eq!(text.parse(), Ok(Dscp(value)));
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_was_expected() {
        for text in ["10.0.0.0/33", "10.0.0", "host", "", "2001:db8::/129"] {
            let error = text.parse::<Network>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("/8"), "{error}");
        }
        for text in ["65536", "9-8", "-1", "80-", "http", "0", "0-65535"] {
            assert!(text.parse::<Ports>().unwrap_err().to_string().contains("443"), "{text}");
        }
        for text in ["64", "af14", "cs8", "af51", "-1", ""] {
            assert!(text.parse::<Dscp>().unwrap_err().to_string().contains("cs7"), "{text}");
        }
    }
}
