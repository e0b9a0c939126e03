//! Filters as they are written.

use super::{DEPTH_MAX, FilterError, Node, Side, What};
use std::net::{IpAddr, Ipv4Addr};

/// IANA's names of services that are common with TCP.
const SERVICES: [(&str, u16); 24] = [
    ("ftp-data", 20),
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("domain", 53),
    ("gopher", 70),
    ("finger", 79),
    ("http", 80),
    ("kerberos", 88),
    ("pop3", 110),
    ("sunrpc", 111),
    ("nntp", 119),
    ("imap", 143),
    ("imap2", 143),
    ("bgp", 179),
    ("ldap", 389),
    ("https", 443),
    ("submission", 587),
    ("ldaps", 636),
    ("imaps", 993),
    ("pop3s", 995),
    ("mysql", 3306),
    ("postgresql", 5432),
];

/// What an identifier is: as the words before it say, or those before the last one.
#[derive(Clone, Copy)]
struct Qualifier {
    /// Only of this version of IP.
    version6: Option<bool>,
    side: Side,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Host,
    Net,
    Port,
    PortRange,
}

struct Words<'a> {
    rest: &'a [&'a str],
    /// What an identifier without words before it is, behind another.
    last: Option<Qualifier>,
}

pub(super) fn parse(text: &str) -> Result<Node, FilterError> {
    let mut spaced = text.replace('(', " ( ").replace(')', " ) ").replace("&&", " and ");
    spaced = spaced.replace("||", " or ");
    // A `!` before `=` compares.
    spaced = spaced.replace("!=", "\u{0}").replace('!', " not ").replace('\u{0}', "!=");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut words = Words { rest: &words, last: None };
    let node = words.joined(0)?;
    match words.rest.first() {
        None => Ok(node),
        Some(rest) => Err(FilterError::Rest((*rest).to_owned())),
    }
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Result<&'a str, FilterError> {
        let (&first, rest) = self.rest.split_first().ok_or(FilterError::End)?;
        self.rest = rest;
        Ok(first)
    }

    /// The next word, if it is one of these.
    fn takes<T: Copy>(&mut self, of: &[(&str, T)]) -> Option<T> {
        let first = self.rest.first()?;
        let &(_, is) = of.iter().find(|(word, _)| word == first)?;
        self.rest = &self.rest[1..];
        Some(is)
    }

    /// Terms joined by `and` and `or`, which bind equally and from left to right.
    fn joined(&mut self, depth: usize) -> Result<Node, FilterError> {
        let mut node = self.term(depth)?;
        let (mut last, mut turns) = (None, 0);
        while let Some(both) = self.takes(&[("and", true), ("or", false)]) {
            let next = self.term(depth)?;
            // A chain of one kind is one node. Another one puts what was before deeper.
            match &mut node {
                Node::All(nodes) | Node::Any(nodes) if last == Some(both) => nodes.push(next),
                _ if depth + turns > DEPTH_MAX => return Err(FilterError::Depth),
                _ if both => node = Node::All(vec![node, next]),
                _ => node = Node::Any(vec![node, next]),
            }
            turns += usize::from(last != Some(both));
            last = Some(both);
        }
        Ok(node)
    }

    fn term(&mut self, depth: usize) -> Result<Node, FilterError> {
        if depth > DEPTH_MAX {
            return Err(FilterError::Depth);
        }
        if self.takes(&[("not", ())]).is_some() {
            return Ok(Node::Not(Box::new(self.term(depth + 1)?)));
        }
        if self.takes(&[("(", ())]).is_some() {
            return self.closed(depth);
        }
        self.primitive(depth)
    }

    /// What is in parentheses, of which the first has been taken.
    fn closed(&mut self, depth: usize) -> Result<Node, FilterError> {
        let node = self.joined(depth + 1)?;
        match self.next()? {
            ")" => Ok(node),
            other => Err(FilterError::Rest(other.to_owned())),
        }
    }

    fn primitive(&mut self, depth: usize) -> Result<Node, FilterError> {
        let begin = self.rest;
        let protocol = self.takes(&[("tcp", None), ("ip", Some(false)), ("ip6", Some(true))]);
        if protocol.flatten().is_some() && self.takes(&[("proto", ())]).is_some() {
            return self.transport(protocol.flatten());
        }
        let side = self.side();
        let kinds = [
            ("host", Kind::Host),
            ("net", Kind::Net),
            ("port", Kind::Port),
            ("portrange", Kind::PortRange),
        ];
        let kind = self.takes(&kinds);
        let version6 = protocol.flatten();
        let qualifier = match (side, kind) {
            (None, None) => match protocol {
                Some(None) => return Ok(Node::All(Vec::new())),
                Some(Some(is)) => return Ok(Node::Version6(is)),
                None => self.implied()?,
            },
            (side, kind) => Qualifier {
                version6,
                side: side.unwrap_or(Side::Either),
                // As in `src 10.0.0.1`.
                kind: kind.unwrap_or(Kind::Host),
            },
        };
        self.last = Some(qualifier);
        // As in `port (80 or 443)`.
        if begin.len() > self.rest.len() && self.takes(&[("(", ())]).is_some() {
            return self.closed(depth);
        }
        self.identifier(qualifier)
    }

    /// Of an identifier without words before it: as the last one was.
    fn implied(&mut self) -> Result<Qualifier, FilterError> {
        let Some(&word) = self.rest.first() else { return Err(FilterError::End) };
        let of_packets = ["less", "greater", "len", "ether", "vlan", "mpls", "pppoes"];
        let of_others = ["udp", "icmp", "icmp6", "arp", "rarp", "sctp", "igmp", "esp", "ah"];
        if word.contains('[') || of_packets.contains(&word) {
            return Err(FilterError::Contents(word.to_owned()));
        }
        if of_others.contains(&word) {
            return Err(FilterError::OtherProtocol(word.to_owned()));
        }
        if let Some(last) = self.last.filter(|last| what(last.kind, word, None).is_ok()) {
            return Ok(last);
        }
        let kinds = [
            ("host", Kind::Host),
            ("port", Kind::Port),
            ("portrange", Kind::PortRange),
            ("net", Kind::Net),
        ];
        let number = word.starts_with(|first: char| first.is_ascii_hexdigit() || first == ':');
        let mut likely = kinds.iter().filter(|(_, kind)| what(*kind, word, None).is_ok());
        match likely.next().filter(|_| number) {
            Some((kind, _)) => Err(FilterError::Bare(word.to_owned(), kind)),
            None => Err(FilterError::Term(word.to_owned())),
        }
    }

    fn side(&mut self) -> Option<Side> {
        let first = self.takes(&[("src", Side::Source), ("dst", Side::Destination)])?;
        let (joins, other) = match (first, self.rest) {
            (Side::Source, [joins, "dst", ..]) | (Side::Destination, [joins, "src", ..]) => {
                (*joins, true)
            }
            _ => ("", false),
        };
        let side = match joins {
            "or" if other => Side::Either,
            "and" if other => Side::Both,
            _ => return Some(first),
        };
        self.rest = &self.rest[2..];
        Some(side)
    }

    /// Behind `ip proto`.
    fn transport(&mut self, version6: Option<bool>) -> Result<Node, FilterError> {
        let word = self.next()?;
        match word.trim_start_matches('\\') {
            "6" | "tcp" => Ok(version6.map_or(Node::All(Vec::new()), Node::Version6)),
            _ => Err(FilterError::OtherProtocol(word.to_owned())),
        }
    }

    fn identifier(&mut self, qualifier: Qualifier) -> Result<Node, FilterError> {
        let text = self.next()?;
        let masked = qualifier.kind == Kind::Net && self.takes(&[("mask", ())]).is_some();
        let mask = if masked { Some(self.next()?) } else { None };
        let what = what(qualifier.kind, text, mask)?;
        let node = Node::End(qualifier.side, what);
        Ok(match qualifier.version6 {
            Some(is) => Node::All(vec![Node::Version6(is), node]),
            None => node,
        })
    }
}

fn what(kind: Kind, text: &str, mask: Option<&str>) -> Result<What, FilterError> {
    let (what, wrong): (_, fn(String) -> FilterError) = match kind {
        Kind::Host => (text.parse().ok().map(What::Host), FilterError::Address),
        Kind::Net => (network(text, mask), FilterError::Network),
        Kind::Port => (port(text).map(|port| What::Ports(port, port)), FilterError::Port),
        Kind::PortRange => (range(text), FilterError::Ports),
    };
    what.ok_or_else(|| wrong(text.to_owned()))
}

fn port(text: &str) -> Option<u16> {
    let named = || SERVICES.iter().find(|(name, _)| *name == text).map(|&(_, port)| port);
    text.parse().ok().or_else(named)
}

/// `8000-8080`; a name may have a hyphen.
fn range(text: &str) -> Option<What> {
    let hyphens = text.match_indices('-').map(|(at, _)| at);
    let mut ranges = hyphens.filter_map(|at| Some((port(&text[..at])?, port(&text[at + 1..])?)));
    let (first, last) = ranges.next().or_else(|| port(text).map(|port| (port, port)))?;
    (first <= last).then_some(What::Ports(first, last))
}

/// `10.0.0.0/8`, `10.0.0.0 mask 255.0.0.0`, or the first numbers of an address alone.
fn network(text: &str, mask: Option<&str>) -> Option<What> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
        None => (text, None),
    };
    let (address, implied) = match address.parse::<IpAddr>() {
        Ok(address @ IpAddr::V4(_)) => (address, 32),
        Ok(address) => (address, 128),
        Err(_) => leading(address)?,
    };
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = match (bits, mask) {
        (Some(_), Some(_)) => return None,
        (bits, None) => bits.unwrap_or(implied),
        (None, Some(mask)) => {
            let mask = u32::from(mask.parse::<Ipv4Addr>().ok()?);
            let bits = mask.leading_ones();
            // It has no holes.
            if !address.is_ipv4() || mask.count_ones() != bits {
                return None;
            }
            bits as u8
        }
    };
    (bits <= most).then_some(What::Net(address, bits))
}

/// `192.168.1` is 192.168.1.0/24.
fn leading(text: &str) -> Option<(IpAddr, u8)> {
    let parts = text.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u8>>>()?;
    let mut octets = [0; 4];
    octets.get_mut(..parts.len()).filter(|_| parts.len() < 4)?.copy_from_slice(&parts);
    Some((IpAddr::from(octets), parts.len() as u8 * 8))
}
