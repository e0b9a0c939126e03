//! What ICMP says of a connection's path: its MTU, which is the [`Tcb`](crate::tcp::tcb::Tcb)'s
//! business, and unreachable destinations, which are soft errors (RFC 1122, 4.2.3.9; RFC 5461).

use super::{Connection, Event, Phase};
use crate::tcp::buffer::Buffer;
use crate::time::Instant;
use crate::wire::{IcmpError, IcmpErrorKind};

impl<B: Buffer> Connection<B> {
    /// An ICMP error has come about a segment with this connection's addresses and ports.
    pub fn on_icmp_error(&mut self, now: Instant, error: &IcmpError) {
        match &mut self.phase {
            Phase::Synchronised(tcb) => {
                tcb.on_icmp_error(now, error.kind, &error.quoted, self.config.min_mtu);
            }
            // RFC 5461, 2: soft errors. While a connection is opened, the application may want to
            // know; later its timers decide.
            Phase::Opening(handshake) => {
                if let IcmpErrorKind::Unreachable { .. } = error.kind
                    && handshake.is_own_syn(error.quoted.seq)
                {
                    self.events.push_back(Event::Unreachable);
                }
            }
            Phase::Closed => {}
        }
    }
}
