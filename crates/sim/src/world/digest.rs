//! A number that two runs have in common if the same packets have arrived at the same moments.

use super::LineId;
use crate::packet::{Content, Packet};
use bentpipe_core::time::Instant;

/// A digest over packets: where, when and what. FNV-1a's constants, a word at a time and rotated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digest(u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    pub(super) fn add(&mut self, now: Instant, line: LineId, packet: &Packet) {
        let [a, b, c] = match &packet.content {
            Content::Tcp(tcp, body) => [
                u64::from(tcp.seq.0) << 32 | u64::from(tcp.ack.0),
                u64::from(tcp.flags.0) << 32 | body.len() as u64,
                u64::from(tcp.window) << 16 | u64::from(tcp.src_port),
            ],
            Content::Udp(udp) => [u64::from(udp.src_port), u64::from(udp.dst_port), udp.len.into()],
            Content::Echo(echo) => [echo.identifier.into(), echo.sequence.into(), echo.len.into()],
            Content::Error(bytes) => [bytes.len() as u64, 0, 0],
        };
        for word in &[now.as_nanos(), line as u64, a, b, c] {
            self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        }
    }

    pub(super) fn value(self) -> u64 {
        self.0
    }
}
