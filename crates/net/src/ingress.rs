//! Packets as a device gives them, to the gateway: fragments made whole, headers read, and what the
//! gateway does not take handed back as it came.

#[cfg(test)]
mod tests;

use crate::reassembly::{Outcome, Packets, Reassembly};
use bentpipe_core::tcp::buffer::Payload;
use bentpipe_core::time::{Instant, earliest};
use bentpipe_core::wire::{IcmpError, Packet, Verify};
use bentpipe_gateway::{Disposition, Gateway, Reason, Side};

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
    /// The packet that came.
    Itself,
    /// These, on the same way.
    Fragments(Packets),
}

impl Ingress {
    /// Takes a packet that came in from `side`.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        side: Side,
        bytes: &[u8],
        verify: Verify,
        gateway: &mut Gateway,
    ) -> Forward {
        match self.fragments[side as usize].take(now, bytes) {
            Outcome::NotFragment => match whole(now, side, bytes, verify, gateway) {
                Disposition::Forward(_) => Forward::Itself,
                Disposition::Taken => Forward::Nothing,
            },
            Outcome::Kept(others) => Forward::Fragments(others),
            Outcome::Whole(packet, fragments) => {
                match whole(now, side, &packet, Verify::Full, gateway) {
                    Disposition::Forward(_) => Forward::Fragments(fragments),
                    Disposition::Taken => Forward::Nothing,
                }
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
