//! Which connections: a small part of tcpdump's filters. `host 10.0.0.1 and port 80`;
//! `net 10.0.0.0/8`; `not`, `and`, `or`, parentheses.

use crate::connection::Connection;
use std::net::{IpAddr, SocketAddr};

/// Nesting beyond this is nobody's filter.
const DEPTH_MAX: usize = 64;

/// Why a filter cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// Where a term should be.
    #[error(
        "`{0}` is no term of a filter (terms are `host ADDRESS`, `net ADDRESS/BITS`, `port NUMBER`)"
    )]
    Term(String),
    /// Something else than an address.
    #[error("`{0}` is no IP address")]
    Address(String),
    /// Something else than a network.
    #[error("`{0}` is no network (such as 10.0.0.0/8)")]
    Network(String),
    /// Something else than a port.
    #[error("`{0}` is no port (0 to 65535)")]
    Port(String),
    /// It ends too early.
    #[error("the filter ends where a term, a value or `)` is missing")]
    End,
    /// Too much in it.
    #[error("`{0}` is too much: terms are joined by `and` and `or`")]
    Rest(String),
    /// Too deep.
    #[error("more than {DEPTH_MAX} parentheses or `not`s in each other")]
    Depth,
}

/// A filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter(Node);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Host(IpAddr),
    Net(IpAddr, u8),
    Port(u16),
    Not(Box<Node>),
    All(Vec<Node>),
    Any(Vec<Node>),
}

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// [`FilterError`] says which word is wrong.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        let text = text.replace('(', " ( ").replace(')', " ) ").replace("&&", " and ");
        let text = text.replace("||", " or ").replace('!', " not ");
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut words = words.as_slice();
        let node = any(&mut words, 0)?;
        match words.first() {
            None => Ok(Filter(node)),
            Some(rest) => Err(FilterError::Rest((*rest).to_owned())),
        }
    }

    /// Whether a connection is meant.
    #[must_use]
    pub fn takes(&self, connection: &Connection) -> bool {
        self.0.takes(&connection.ends)
    }

    /// Whether a connection between these two is wanted.
    pub fn takes_ends(&self, ends: &[SocketAddr; 2]) -> bool {
        self.0.takes(ends)
    }
}

impl Node {
    fn takes(&self, ends: &[SocketAddr; 2]) -> bool {
        let one = |is: &dyn Fn(&SocketAddr) -> bool| ends.iter().any(is);
        match self {
            Node::Host(address) => one(&|end| end.ip() == *address),
            Node::Net(network, bits) => one(&|end| within(end.ip(), *network, *bits)),
            Node::Port(port) => one(&|end| end.port() == *port),
            Node::Not(node) => !node.takes(ends),
            Node::All(nodes) => nodes.iter().all(|node| node.takes(ends)),
            Node::Any(nodes) => nodes.iter().any(|node| node.takes(ends)),
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

fn next<'a>(words: &mut &[&'a str]) -> Result<&'a str, FilterError> {
    let (&first, rest) = words.split_first().ok_or(FilterError::End)?;
    *words = rest;
    Ok(first)
}

/// Terms joined by `or`, which binds weaker than `and`.
fn any(words: &mut &[&str], depth: usize) -> Result<Node, FilterError> {
    let mut nodes = vec![all(words, depth)?];
    while words.first() == Some(&"or") {
        next(words)?;
        nodes.push(all(words, depth)?);
    }
    Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::Any(nodes) })
}

fn all(words: &mut &[&str], depth: usize) -> Result<Node, FilterError> {
    let mut nodes = vec![term(words, depth)?];
    while words.first() == Some(&"and") {
        next(words)?;
        nodes.push(term(words, depth)?);
    }
    Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::All(nodes) })
}

fn term(words: &mut &[&str], depth: usize) -> Result<Node, FilterError> {
    if depth > DEPTH_MAX {
        return Err(FilterError::Depth);
    }
    match next(words)? {
        "(" => {
            let node = any(words, depth + 1)?;
            match next(words)? {
                ")" => Ok(node),
                other => Err(FilterError::Rest(other.to_owned())),
            }
        }
        "not" => Ok(Node::Not(Box::new(term(words, depth + 1)?))),
        "host" => {
            let text = next(words)?;
            text.parse().map(Node::Host).map_err(|_| FilterError::Address(text.to_owned()))
        }
        "port" => {
            let text = next(words)?;
            text.parse().map(Node::Port).map_err(|_| FilterError::Port(text.to_owned()))
        }
        "net" => {
            let text = next(words)?;
            let wrong = || FilterError::Network(text.to_owned());
            let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
            let address: IpAddr = address.parse().map_err(|_| wrong())?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.parse().ok().filter(|&bits| bits <= most).ok_or_else(wrong)?;
            Ok(Node::Net(address, bits))
        }
        other => Err(FilterError::Term(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(filter: &str) -> bool {
        let ends = ["10.0.0.1:80".parse().unwrap(), "192.0.2.7:4000".parse().unwrap()];
        Filter::parse(filter).unwrap().0.takes(&ends)
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
    fn a_filter_that_is_wrong_says_where() {
        let why = |text: &str| Filter::parse(text).unwrap_err().to_string();
        assert_eq!(why("host here"), "`here` is no IP address");
        assert!(why("bytes 3").starts_with("`bytes` is no term of a filter"));
        assert!(why("port 80 port 81").starts_with("`port` is too much"));
        assert!(why("host").starts_with("the filter ends"));
        assert!(why("net 10.0.0.0/33").starts_with("`10.0.0.0/33` is no network"));
        assert!(why(&"(".repeat(100_000)).starts_with("more than 64"));
    }
}
