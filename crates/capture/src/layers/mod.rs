//! The layers around a TCP segment: link types, tags, labels and tunnels. Each function takes what
//! is left of a frame, and says what comes next.

mod ether;
mod gre;
mod link;
mod mpls;
mod ppp;
mod protocol;
#[cfg(test)]
mod tests;
mod udp;

pub(crate) use ether::ip_in_ethernet;
pub(crate) use protocol::{TCP, UDP, carries};

use crate::unread::Unread;
use crate::via::Tags;

/// The rest of a frame behind the layers that were read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rest<'a> {
    /// As much as was captured.
    pub(crate) bytes: &'a [u8],
    /// Its length on the wire, which is at least that.
    pub(crate) wire: usize,
}

impl<'a> Rest<'a> {
    pub(crate) fn new(bytes: &'a [u8], wire: usize) -> Rest<'a> {
        Rest { bytes, wire: wire.max(bytes.len()) }
    }

    /// Without the first bytes.
    pub(crate) fn skip(self, count: usize) -> Option<Rest<'a>> {
        Some(Rest { bytes: self.bytes.get(count..)?, wire: self.wire - count })
    }

    /// Its first bytes; or more than is left, if a header says so.
    pub(crate) fn with_length(self, wire: usize) -> Rest<'a> {
        Rest { bytes: &self.bytes[..self.bytes.len().min(wire)], wire }
    }

    fn byte(self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    fn word(self, at: usize) -> Option<u16> {
        self.bytes.get(at..)?.first_chunk().map(|&word| u16::from_be_bytes(word))
    }

    fn long(self, at: usize) -> Option<u32> {
        self.bytes.get(at..)?.first_chunk().map(|&long| u32::from_be_bytes(long))
    }

    /// The version of the IP packet that this is, if it is one.
    fn ip_version(self) -> Option<u8> {
        self.byte(0).map(|first| first >> 4).filter(|version| matches!(version, 4 | 6))
    }
}

/// A layer that comes next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Layer {
    /// A frame of this link type.
    Link(i32),
    /// An Ethernet frame, from its destination on.
    Ethernet,
    /// The layer of this EtherType; LLC, if it is a length.
    EtherType(u16),
    /// LLC (IEEE 802.2).
    Llc,
    /// PPP (RFC 1661), with or without address and control.
    Ppp,
    /// Cisco's HDLC.
    CiscoHdlc,
    /// A stack of labels (RFC 3032).
    Mpls,
    /// GRE (RFC 2784).
    Gre,
    /// IPv4 or IPv6, by the first byte.
    Ip,
    /// The layer of this protocol number of IP.
    Protocol(u8),
    /// UDP.
    Udp,
    /// A TCP header.
    Tcp,
    /// Something that may hold TCP.
    Unread(Unread),
}

/// The next layer and what is left with it; `None` if there is no TCP, or no more bytes.
pub(crate) type Next<'a> = Option<(Layer, Rest<'a>)>;

/// Reads one layer. IP and what ends the way are the caller's.
pub(crate) fn next<'a>(layer: Layer, rest: Rest<'a>, tags: &mut Tags) -> Next<'a> {
    match layer {
        Layer::Link(link) => link::link(link, rest, tags),
        Layer::Ethernet => Some((Layer::EtherType(rest.word(12)?), rest.skip(14)?)),
        Layer::EtherType(kind) => ether::ether_type(kind, rest, tags),
        Layer::Llc => ether::llc(rest),
        Layer::Ppp => ppp::ppp(rest),
        Layer::CiscoHdlc => Some((Layer::EtherType(rest.word(2)?), rest.skip(4)?)),
        Layer::Mpls => mpls::mpls(rest, tags),
        Layer::Gre => gre::gre(rest, tags),
        Layer::Protocol(number) => protocol::protocol(number, rest, tags),
        Layer::Udp => udp::udp(rest, tags),
        Layer::Ip | Layer::Tcp | Layer::Unread(_) => None,
    }
}

/// Notes what stands around; what is too much is left out.
fn push(tags: &mut Tags, tag: crate::via::Tag) {
    let _ = tags.try_push(tag);
}
