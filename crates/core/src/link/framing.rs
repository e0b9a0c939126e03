//! What a link layer adds to each packet on the line.

use crate::units::Bytes;

/// A packet's frame: how much longer it is on the line than the packet. It counts where the line's
/// time is: in serialisation and in bits that can be wrong. Queues and counters have packets, not
/// frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Framing {
    /// Headers, trailers, preamble and gap: 38 bytes with Ethernet.
    pub overhead: Bytes,
    /// Shorter packets are padded to this: 46 bytes with Ethernet.
    pub min_packet: Bytes,
}

impl Framing {
    /// Packets as they are.
    pub const NONE: Framing = Framing { overhead: Bytes::new(0), min_packet: Bytes::new(0) };

    /// The length on the line of a packet of `wire_len` bytes.
    #[inline]
    pub fn framed(&self, wire_len: u64) -> u64 {
        wire_len.max(self.min_packet.count()).saturating_add(self.overhead.count())
    }
}
