//! Filters of connections: the part of pcap-filter(7) that is about addresses and ports.
//! `tcp port 80`; `src host 10.0.0.1 and dst port 443`; `net 10.0.0.0/8`; `portrange 8000-8080`.
//!
//! tcpdump chooses packets, this chooses connections: one is taken if a packet of it, either way,
//! would be. So `src` alone means either end, and `src host A and dst port 80` what A sends there.
//! As in tcpdump, `and` and `or` bind equally, from left to right. Names of hosts are not looked
//! up.

mod parse;

use crate::connection::Connection;
use std::net::{IpAddr, SocketAddr};

/// Nesting beyond this is nobody's filter.
const DEPTH_MAX: usize = 64;

/// Why a filter cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// Where a term should be.
    #[error(
        "`{0}` is no term of a filter (terms are `host ADDRESS`, `net ADDRESS/BITS`, `port NUMBER`, `portrange FROM-TO`, also \
         behind `src` or `dst`, and `tcp`, `ip`, `ip6`)"
    )]
    Term(String),
    /// An address or a port without a word before it.
    #[error("`{0}` says not what it is: write `{1} {0}`")]
    Bare(String, &'static str),
    /// Something else than an address.
    #[error("`{0}` is no IP address; names are not looked up")]
    Address(String),
    /// Something else than a network.
    #[error("`{0}` is no network (such as 10.0.0.0/8)")]
    Network(String),
    /// Something else than a port.
    #[error("`{0}` is no port (0 to 65535, or the name of a common service, such as http)")]
    Port(String),
    /// Something else than a range of ports.
    #[error("`{0}` is no range of ports (such as 8000-8080)")]
    Ports(String),
    /// Packets that are no TCP.
    #[error("`{0}` takes no TCP connection, and nothing else is read")]
    OtherProtocol(String),
    /// A look into packets.
    #[error("`{0}` looks into packets: connections are chosen by addresses and ports")]
    Contents(String),
    /// It ends too early.
    #[error("the filter ends where a term, a value or `)` is missing")]
    End,
    /// Too much in it.
    #[error("`{0}` is too much: terms are joined by `and` and `or`")]
    Rest(String),
    /// Too deep.
    #[error("more than {DEPTH_MAX} parentheses, `not`s, or turns from `and` to `or` in each other")]
    Depth,
}

/// A filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter(Node);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    End(Side, What),
    /// True if its addresses are IPv6.
    Version6(bool),
    Not(Box<Node>),
    /// Both of them, or everything if there is none.
    All(Vec<Node>),
    Any(Vec<Node>),
}

/// Which end of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Source,
    Destination,
    Either,
    Both,
}

/// What it is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Host(IpAddr),
    Net(IpAddr, u8),
    Ports(u16, u16),
}

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// [`FilterError`] says which word is wrong.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        parse::parse(text).map(Filter)
    }

    /// True if a connection is meant.
    #[must_use]
    pub fn takes(&self, connection: &Connection) -> bool {
        self.takes_ends(&connection.ends)
    }

    /// True if a connection between these two is wanted.
    pub fn takes_ends(&self, &[one, other]: &[SocketAddr; 2]) -> bool {
        self.0.takes(one, other) || self.0.takes(other, one)
    }
}

impl Node {
    /// True if it takes a packet.
    fn takes(&self, from: SocketAddr, to: SocketAddr) -> bool {
        match self {
            Node::End(side, what) => match side {
                Side::Source => what.is(from),
                Side::Destination => what.is(to),
                Side::Either => what.is(from) || what.is(to),
                Side::Both => what.is(from) && what.is(to),
            },
            Node::Version6(is) => from.is_ipv6() == *is,
            Node::Not(node) => !node.takes(from, to),
            Node::All(nodes) => nodes.iter().all(|node| node.takes(from, to)),
            Node::Any(nodes) => nodes.iter().any(|node| node.takes(from, to)),
        }
    }
}

impl What {
    fn is(self, end: SocketAddr) -> bool {
        match self {
            What::Host(address) => end.ip() == address,
            What::Net(network, bits) => within(end.ip(), network, bits),
            What::Ports(first, last) => (first..=last).contains(&end.port()),
        }
    }
}

fn within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let shifted = |value: u128, width: u32| {
        value.checked_shr(width - u32::from(bits).min(width)).unwrap_or(0)
    };
    match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(n)) => {
            shifted(u128::from(u32::from(a)), 32) == shifted(u128::from(u32::from(n)), 32)
        }
        (IpAddr::V6(a), IpAddr::V6(n)) => {
            shifted(u128::from(a), 128) == shifted(u128::from(n), 128)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the connection from 10.0.0.1:80 to 192.0.2.7:4000.
    fn takes(filter: &str) -> bool {
        let ends = ["10.0.0.1:80".parse().unwrap(), "192.0.2.7:4000".parse().unwrap()];
        Filter::parse(filter).unwrap_or_else(|why| panic!("{filter}: {why}")).takes_ends(&ends)
    }

    #[test]
    fn filters_choose_by_either_end() {
        assert!(takes("host 10.0.0.1 and port 80"));
        assert!(takes("port 4000"));
        assert!(!takes("host 10.0.0.1 and not port 80"));
        assert!(takes("port 1 or port 2 or (net 192.0.2.0/24 && !port 81)"));
        assert!(takes("net 0.0.0.0/0") && !takes("net ::/0"));
        assert!(!takes("host 2001:db8::1"));
    }

    #[test]
    fn a_connection_is_taken_for_a_packet_of_either_way() {
        for filter in ["src host 10.0.0.1", "src host 192.0.2.7", "dst 10.0.0.1", "src port 80"] {
            assert!(takes(filter), "{filter}");
        }
        // One packet has both.
        assert!(takes("src host 192.0.2.7 and dst port 80"));
        assert!(!takes("src host 10.0.0.1 and dst port 80"));
        assert!(takes("src or dst port 80") && !takes("src and dst net 10.0.0.0/8"));
        assert!(takes("not src host 10.0.0.1") && !takes("not host 10.0.0.1"));
    }

    #[test]
    fn filters_are_what_tcpdumps_users_type() {
        for filter in [
            "tcp",
            "ip",
            "tcp port 80",
            "tcp and port http",
            "tcp dst port 81 or 80",
            "ip host 10.0.0.1",
            "host 1.2.3.4 or 10.0.0.1",
            "tcp portrange 3000-4000",
            "!(port 81||port 82)&&net 10",
            "net 192.0.2 and not port (81 or 82)",
            "net 10.0.0.0 mask 255.0.0.0",
            "src net 192.0.2.0/24",
            "host 10.0.0.1 and ( port 80 or 443 )",
            "ip proto 6",
        ] {
            assert!(takes(filter), "{filter}");
        }
        for filter in ["ip6", "tcp port 443", "ip6 host ::1", "portrange 81-3999", "net 11"] {
            assert!(!takes(filter), "{filter}");
        }
        // From left to right, without precedence.
        assert!(!takes("port 80 or port 443 and host 10.0.0.2"));
        assert!(takes("port 80 or (port 443 and host 10.0.0.2)"));
    }

    #[test]
    fn a_filter_that_is_wrong_says_where() {
        let why = |text: &str| Filter::parse(text).unwrap_err().to_string();
        assert_eq!(why("host here"), "`here` is no IP address; names are not looked up");
        assert_eq!(why("10.0.0.1"), "`10.0.0.1` says not what it is: write `host 10.0.0.1`");
        assert_eq!(why("host ::1 and 80"), "`80` says not what it is: write `port 80`");
        assert_eq!(why("10.0.0.0/8"), "`10.0.0.0/8` says not what it is: write `net 10.0.0.0/8`");
        assert!(why("port 80 and hots 10.0.0.1").starts_with("`hots` is no term"));
        assert_eq!(why("tcp and 80"), "`80` says not what it is: write `port 80`");
        assert!(why("port gopher++").starts_with("`gopher++` is no port (0 to 65535, or the name"));
        assert!(why("portrange 9-8").starts_with("`9-8` is no range of ports"));
        assert!(why("udp port 53").starts_with("`udp` takes no TCP connection"));
        assert!(why("tcp[13] & 2 != 0").starts_with("`tcp[13]` looks into packets"));
        assert!(why("greater 100").starts_with("`greater` looks into packets"));
        assert!(why("bytes 3").starts_with("`bytes` is no term of a filter"));
        assert!(why("ip proto 17").starts_with("`17` takes no TCP connection"));
        assert!(why("port 80 port 81").starts_with("`port` is too much"));
        assert!(why("port 80 )").starts_with("`)` is too much"));
        assert!(why("host").starts_with("the filter ends") && why("( tcp").ends_with("missing"));
        assert!(why("net 10.0.0.0/33").starts_with("`10.0.0.0/33` is no network"));
        assert!(why(&"(".repeat(100_000)).starts_with("more than 64"));
        assert!(
            why(&("tcp".to_owned() + &" and tcp or tcp".repeat(100))).starts_with("more than 64")
        );
        assert!(takes(&("tcp".to_owned() + &" or tcp".repeat(1000))));
        assert!(why(&"not ".repeat(100_000)).starts_with("more than 64"));
    }
}
