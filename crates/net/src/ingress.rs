//! Packets as a device gives them, to the gateway: fragments made whole, headers read, and what the
//! gateway does not take handed back as it came.

#[cfg(test)]
mod tests;

use crate::reassembly::{Outcome, Packets, Reassembly};
use crate::vnet_hdr::{Checksum, VnetHdr};
use bentpipe_core::tcp::buffer::Payload;
use bentpipe_core::time::{Instant, earliest};
use bentpipe_core::wire::{self, Amendment, IcmpError, Packet, Verify};
use bentpipe_gateway::{Disposition, Gateway, Reason, Side};

/// IPv6's fragment header (RFC 8200, 4.5).
const FRAGMENT_HEADER: usize = 8;

/// What comes in on both sides.
#[derive(Debug, Default)]
pub(crate) struct Ingress {
    /// Fragments that came in on each side.
    fragments: [Reassembly; 2],
}

/// What is to be forwarded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Forward {
    /// Nothing.
    Nothing,
    /// The packet that came, amended perhaps.
    Itself,
    /// These, on the same way.
    Fragments(Packets),
}

impl Ingress {
    /// Takes a packet that came in from `side`; it is forwarded as it is afterwards.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        side: Side,
        header: &VnetHdr,
        bytes: &mut [u8],
        gateway: &mut Gateway,
    ) -> Forward {
        match self.fragments[side as usize].take(now, bytes) {
            Outcome::NotFragment => {
                let (verify, checksum) = match header.checksum {
                    Checksum::Complete => (Verify::Full, wire::Checksum::Full),
                    Checksum::Valid => (Verify::Skip, wire::Checksum::Full),
                    Checksum::Needed { .. } => (Verify::Skip, wire::Checksum::PseudoHeader),
                };
                match whole(now, side, bytes, verify, gateway) {
                    Disposition::Taken => return Forward::Nothing,
                    Disposition::Forward(_) => {}
                    Disposition::Amend(_, amendment) => amend(bytes, 0, &amendment, checksum),
                }
                Forward::Itself
            }
            Outcome::Kept(others) => Forward::Fragments(others),
            Outcome::Whole(packet, mut fragments) => {
                match whole(now, side, &packet, Verify::Full, gateway) {
                    Disposition::Taken => return Forward::Nothing,
                    Disposition::Forward(_) => {}
                    Disposition::Amend(_, amendment) => {
                        // The first has the TCP header: they are in order.
                        let first = &mut fragments[0];
                        let more = if first[0] >> 4 == 6 { FRAGMENT_HEADER } else { 0 };
                        amend(first, more, &amendment, wire::Checksum::Full);
                    }
                }
                Forward::Fragments(fragments)
            }
        }
    }

    /// When [`Ingress::expire`] is to be called, if ever.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let [lan, satellite] = &self.fragments;
        earliest(lan.poll_timeout(), satellite.poll_timeout())
    }

    /// The fragments from `side` that did not become whole in time.
    pub(crate) fn expire(&mut self, now: Instant, side: Side) -> Packets {
        self.fragments[side as usize].expire(now)
    }
}

/// Amends the segment of a packet, of which so much besides its IP header precedes it. (If the TCP
/// header is cut in pieces it goes on as it is.)
fn amend(packet: &mut [u8], more: usize, amendment: &Amendment, checksum: wire::Checksum) {
    let start = more + if packet[0] >> 4 == 6 { 40 } else { 20 };
    if !packet.get_mut(start..).is_some_and(|segment| amendment.write(segment, checksum)) {
        tracing::trace!("header in fragments: not amended");
    }
}

/// Takes a whole packet.
fn whole(
    now: Instant,
    side: Side,
    bytes: &[u8],
    verify: Verify,
    gateway: &mut Gateway,
) -> Disposition {
    match Packet::parse(bytes, verify) {
        Ok(Packet { ip, tcp, payload }) => {
            gateway.handle_packet(now, side, &ip, &tcp, Payload::Bytes(payload))
        }
        Err(error) => match IcmpError::parse(bytes) {
            Ok(error) => gateway.handle_icmp(now, side, &error, bytes.len()),
            Err(_) => {
                tracing::trace!(?side, %error, "forwarded");
                gateway.count_foreign(bytes.len());
                Disposition::Forward(Reason::NotTcp)
            }
        },
    }
}
