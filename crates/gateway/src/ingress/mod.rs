//! Packets as they come in: what is a TCP segment, an ICMP error or neither is decided here, for
//! packets as bytes from a device and for those of the simulator alike.
//!
//! Fragments are made whole before. What the gateway does not take is forwarded as it came, but for
//! what it has rewritten.

mod fragment;
mod reassembly;
#[cfg(test)]
mod tests;

pub use reassembly::Packets;

use crate::observe::Reason;
use crate::{Disposition, Gateway, PerSide, Side};
use bentpipe_core::tcp::buffer::{Buffer, Payload};
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{self, AckRewrite, IcmpError, IpHeader, Packet, TcpHeader, Verify};
use reassembly::{Outcome, Reassembly};
use std::collections::VecDeque;

/// IPv6's fragment header (RFC 8200, 4.5).
const FRAGMENT_HEADER: usize = 8;

/// An IP packet that is no fragment.
#[derive(Debug)]
pub enum Datagram<'a> {
    /// A TCP segment whose headers have been read.
    Segment {
        /// The IP header.
        ip: &'a IpHeader,
        /// The TCP header.
        tcp: &'a mut TcpHeader,
        /// What follows it.
        payload: Payload<'a>,
    },
    /// Any packet, in its bytes.
    Bytes(&'a mut [u8], Checksums),
    /// A packet of so many bytes that is neither TCP nor an ICMP error.
    Foreign(usize),
}

/// What a device says of a packet's TCP checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksums {
    /// It is there, and has not been checked.
    Unverified,
    /// It is there, and right.
    Verified,
    /// Only that of the pseudo-header is there: the packet has not left this machine yet.
    Partial,
}

impl Checksums {
    fn verify(self) -> Verify {
        match self {
            Checksums::Unverified => Verify::Full,
            Checksums::Verified | Checksums::Partial => Verify::Skip,
        }
    }

    fn written(self) -> wire::Checksum {
        match self {
            Checksums::Unverified | Checksums::Verified => wire::Checksum::Full,
            Checksums::Partial => wire::Checksum::PseudoHeader,
        }
    }
}

impl<B: Buffer> Gateway<B> {
    /// Takes a packet that came in from `from`. If it is to be forwarded, it is so as it is
    /// afterwards.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        from: Side,
        datagram: Datagram<'_>,
    ) -> Disposition {
        match datagram {
            Datagram::Segment { ip, tcp, payload } => {
                let disposition = self.handle_packet(now, from, ip, tcp, payload);
                if let Disposition::RewriteAck(_, ack_rewrite) = disposition {
                    ack_rewrite.apply(tcp);
                }
                disposition
            }
            Datagram::Bytes(bytes, checksums) => {
                let disposition = self.handle_bytes(now, from, bytes, checksums.verify());
                if let Disposition::RewriteAck(_, ack_rewrite) = disposition {
                    rewrite_ack(bytes, 0, &ack_rewrite, checksums.written());
                }
                disposition
            }
            Datagram::Foreign(bytes) => {
                self.count_foreign(bytes);
                Disposition::Forward(Reason::NotTcp)
            }
        }
    }

    /// Takes a whole packet.
    fn handle_bytes(
        &mut self,
        now: Instant,
        from: Side,
        bytes: &[u8],
        verify: Verify,
    ) -> Disposition {
        match Packet::parse(bytes, verify) {
            Ok(Packet { ip, tcp, payload }) => {
                self.handle_packet(now, from, &ip, &tcp, Payload::Bytes(payload))
            }
            Err(_) => match IcmpError::parse(bytes) {
                Ok(error) => self.handle_icmp(now, from, &error, bytes.len()),
                Err(_) => {
                    self.count_foreign(bytes.len());
                    Disposition::Forward(Reason::NotTcp)
                }
            },
        }
    }
}

/// What comes in on both sides as bytes, fragments among it.
#[derive(Debug, Default)]
pub struct Ingress {
    /// Fragments that came in on each side.
    fragments: PerSide<Reassembly>,
    /// What hosts on a side are told of the path from them.
    answers: VecDeque<(Side, Vec<u8>)>,
}

/// What is to be forwarded.
#[derive(Debug, PartialEq, Eq)]
pub enum Forward {
    /// Nothing.
    Nothing,
    /// The packet that came, its acknowledgment rewritten perhaps.
    Itself,
    /// These, on the same way.
    Fragments(Packets),
}

impl Ingress {
    /// Takes a packet that came in from `side`; it is forwarded as it is afterwards.
    pub fn take<B: Buffer>(
        &mut self,
        now: Instant,
        side: Side,
        bytes: &mut [u8],
        checksums: Checksums,
        gateway: &mut Gateway<B>,
    ) -> Forward {
        match self.fragments[side].take(now, bytes, |key| gateway.is_split(key)) {
            Outcome::NotFragment => {
                match gateway.handle_datagram(now, side, Datagram::Bytes(bytes, checksums)) {
                    Disposition::Consumed => Forward::Nothing,
                    Disposition::Forward(_) | Disposition::RewriteAck(..) => Forward::Itself,
                }
            }
            Outcome::Kept(others) => Forward::Fragments(others),
            Outcome::Whole(packet, mut fragments) => {
                match gateway.handle_bytes(now, side, &packet, Verify::Full) {
                    Disposition::Consumed => {
                        let answer = gateway.tell_path_mtu(side, &packet, &fragments);
                        self.answers.extend(answer.map(|answer| (side, answer)));
                        return Forward::Nothing;
                    }
                    Disposition::Forward(_) => {}
                    Disposition::RewriteAck(_, ack_rewrite) => {
                        // The first has the TCP header: they are in order.
                        let first = &mut fragments[0];
                        let more = if first[0] >> 4 == 6 { FRAGMENT_HEADER } else { 0 };
                        rewrite_ack(first, more, &ack_rewrite, wire::Checksum::Full);
                    }
                }
                Forward::Fragments(fragments)
            }
        }
    }

    /// When [`Ingress::expire`] is to be called, if ever.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.fragments.iter().filter_map(Reassembly::poll_timeout).min()
    }

    /// The fragments from `side` that did not become whole in time, and are to be forwarded.
    pub fn expire<B: Buffer>(&mut self, now: Instant, side: Side, gateway: &Gateway<B>) -> Packets {
        self.fragments[side].expire(now, |key| gateway.is_split(key))
    }

    /// The next packet to be sent towards a side, before what [`Gateway::poll_transmit`] gives.
    pub fn poll_answer(&mut self) -> Option<(Side, Vec<u8>)> {
        self.answers.pop_front()
    }
}

/// Rewrites the acknowledgment in the segment of a packet, of which so much besides its IP header
/// precedes it. (If the TCP header is cut in pieces it goes on as it is.)
fn rewrite_ack(packet: &mut [u8], more: usize, ack_rewrite: &AckRewrite, checksum: wire::Checksum) {
    let start = more + if packet[0] >> 4 == 6 { 40 } else { 20 };
    if let Some(segment) = packet.get_mut(start..) {
        ack_rewrite.write(segment, checksum);
    }
}
