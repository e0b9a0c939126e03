//! A host's firewall, as far as it decides on forwarded TCP: chains of rules in one form, whether
//! nftables or iptables has them.
//!
//! [`nft`] and [`iptables`] read it, [`trial`] lets a packet run through it, [`blame`] compares what
//! becomes of a packet on its way through us with what becomes of it without us, and [`remedy`] has the
//! rules that make it the same.

pub(super) mod blame;
mod expression;
mod iptables;
mod nft;
mod remedy;
#[cfg(test)]
mod tests;
mod trial;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

pub(super) use expression::{mentions_key, text};
pub(super) use iptables::read as read_iptables;
pub(super) use nft::{parse as parse_nft, read as read_nft, tables_of_iptables};

/// All chains that there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Firewall {
    pub(super) chains: BTreeMap<ChainName, Chain>,
}

/// A chain's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChainName {
    pub(super) program: Program,
    /// `ip`, `ip6` or `inet`.
    pub(super) family: String,
    pub(super) table: String,
    pub(super) chain: String,
}

/// The program that changes a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Program {
    /// `nft`.
    Nft,
    /// A kind of `iptables`: it could not read what `nft` adds to its tables.
    Iptables(&'static str),
}

/// A chain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Chain {
    pub(super) base: Option<Base>,
    pub(super) rules: Vec<Rule>,
}

/// What makes a chain one that packets come to by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) hook: Hook,
    /// It translates addresses, of a connection's first packet.
    pub(super) nat: bool,
    pub(super) priority: i64,
    /// Its policy.
    pub(super) accepts: bool,
}

/// Where a forwarded packet meets chains, in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hook {
    Prerouting,
    Forward,
    Postrouting,
}

/// A rule: what is asked and done, in that order. The first condition that does not hold ends it.
pub(super) type Rule = Vec<Step>;

/// A part of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    When(Condition),
    Decide(Verdict),
    /// The first whose conditions hold; if none, the rule ends.
    Map(Vec<(Vec<Condition>, Verdict)>),
    SetMark(Value),
    SaveMark(Value),
    /// Source NAT.
    Translate,
}

/// What a rule decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Accept,
    Drop,
    Return,
    Jump(String),
    Goto(String),
}

/// A mark that is computed: `(from & and) ^ xor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    Of { from: MarkOf, and: u32, xor: u32 },
    Unknown,
}

/// Whose mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkOf {
    Packet,
    Connection,
}

/// A condition: in any of these rows every test holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) any: Vec<Vec<Test>>,
    pub(super) negated: bool,
}

/// What a condition asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Test {
    In(Pattern),
    Out(Pattern),
    Ipv6(bool),
    State(State),
    Reply(bool),
    Mark {
        of: MarkOf,
        mask: u32,
        from: u32,
        to: u32,
    },
    Constant(bool),
    /// There is no route back to the source by the interface.
    NoWayBack,
    /// Something else about the packet, which holds for the one packet and not for the other.
    Packet(Property),
    /// Something that the packet alone does not tell: a rate, a time, what cannot be read.
    Unknowable,
}

/// Something about a packet that a rule asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Property {
    /// In the words of the program that changes the rule, or something else that is as unique.
    pub(super) text: String,
    /// Whether a rule may be written with that text.
    pub(super) quotable: bool,
    /// If it is about the source: its networks.
    pub(super) sources: Option<Vec<Network>>,
}

/// What conntrack says of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    New,
    Established,
    /// Invalid, related, untracked.
    Other,
}

/// An interface's name, or how it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    Name(String),
    Prefix(String),
    Group(String),
}

/// A network of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Network {
    pub(super) address: IpAddr,
    pub(super) length: u8,
}

impl Firewall {
    /// Adds the chains of another program.
    pub(super) fn extend(&mut self, other: Firewall) {
        self.chains.extend(other.chains);
    }
}

impl Condition {
    pub(super) fn one(test: Test, negated: bool) -> Condition {
        Condition { any: vec![vec![test]], negated }
    }
}

impl Pattern {
    /// `wildcard` is what the program writes for "and so on".
    pub(super) fn of(name: &str, wildcard: char) -> Pattern {
        match name.strip_suffix(wildcard) {
            Some(prefix) => Pattern::Prefix(prefix.into()),
            None => Pattern::Name(name.into()),
        }
    }

    pub(super) fn matches(&self, interface: &str) -> bool {
        match self {
            Pattern::Name(name) => name == interface,
            Pattern::Prefix(prefix) => interface.starts_with(prefix.as_str()),
            // Nobody has put our devices into one; the configured interfaces are rarely in one.
            Pattern::Group(group) => group == "default" || group == "0",
        }
    }
}

impl Network {
    /// `address` or `address/length`.
    pub(super) fn parse(text: &str) -> Option<Network> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        Some(Network { address, length: length.unwrap_or(longest).min(longest) })
    }

    /// Whether some address is in both.
    pub(super) fn meets(&self, other: &Network) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(v4) => u128::from(u32::from(v4)) << 96,
            IpAddr::V6(v6) => u128::from(v6),
        };
        let length = self.length.min(other.length);
        let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
        self.address.is_ipv4() == other.address.is_ipv4()
            && bits(self.address) & mask == bits(other.address) & mask
    }
}

impl fmt::Display for ChainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChainName { program, family, table, chain } = self;
        match program {
            Program::Nft => write!(f, "{family} {table} {chain}"),
            Program::Iptables(program) => write!(f, "{chain} of {program}'s table {table}"),
        }
    }
}
