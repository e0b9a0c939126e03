//! A look at the segments that hosts send and the acknowledgments that they get.

use super::NodeId;
use crate::host::SessionKey;
use crate::packet::{Content, Packet};
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Flags, SeqNum};

/// A segment at a host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passed {
    pub(crate) at: Instant,
    pub(crate) host: NodeId,
    /// The connection's name there.
    pub(crate) key: SessionKey,
    pub(crate) what: What,
}

/// What has passed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    /// A SYN with this number was sent.
    Opened(SeqNum),
    /// Data were sent: their first number, and their length.
    Sent(SeqNum, u32),
    /// An acknowledgment has come.
    Acknowledged(SeqNum),
}

/// What has passed since it was last asked.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    pub(crate) passed: Vec<Passed>,
}

impl Tap {
    pub(super) fn sent(&mut self, at: Instant, host: NodeId, packet: &Packet) {
        let Content::Tcp(tcp, body) = &packet.content else { return };
        let what = if tcp.has(Flags::SYN) {
            What::Opened(tcp.seq)
        } else if body.is_empty() {
            return;
        } else {
            What::Sent(tcp.seq, body.len() as u32)
        };
        let key = (tcp.src_port, packet.ip.dst, tcp.dst_port);
        self.passed.push(Passed { at, host, key, what });
    }

    pub(super) fn arrived(&mut self, at: Instant, host: NodeId, packet: &Packet) {
        let Content::Tcp(tcp, _) = &packet.content else { return };
        if tcp.has(Flags::ACK) {
            let key = (tcp.dst_port, packet.ip.src, tcp.src_port);
            self.passed.push(Passed { at, host, key, what: What::Acknowledged(tcp.ack) });
        }
    }
}
