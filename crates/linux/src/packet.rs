//! An IP packet as a device gives or takes it: its bytes, what stands in front of them, and the
//! state of its checksum.

use crate::internet_checksum::{ones_complement_sum, stored};
use crate::tun::FRAME_LEN;
use crate::vnet_hdr::Checksum;

/// An IP packet.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet {
    /// From the IP header on.
    pub bytes: Vec<u8>,
    /// What stands in front of that, on a device of frames.
    pub frame: Option<[u8; FRAME_LEN]>,
    /// Whether its transport's checksum is finished.
    pub checksum: Checksum,
}

impl Packet {
    /// One without a frame.
    pub fn new(bytes: Vec<u8>, checksum: Checksum) -> Packet {
        Packet { bytes, frame: None, checksum }
    }

    /// Finishes the transport's checksum, if that was left for the kernel to do.
    pub fn complete(&mut self) {
        let Checksum::Needed { start, offset } = std::mem::take(&mut self.checksum) else { return };
        let (start, field) = (usize::from(start), usize::from(start) + usize::from(offset));
        let Some(summed) = self.bytes.get(start..) else { return };
        let checksum = match stored(ones_complement_sum(0, summed)) {
            // To UDP zero is "no checksum" (RFC 768); to the others both are the same number.
            0 => 0xffff_u16,
            checksum => checksum,
        };
        if let Some(bytes) = self.bytes.get_mut(field..field + 2) {
            bytes.copy_from_slice(&checksum.to_be_bytes());
        }
    }
}
