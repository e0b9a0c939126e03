//! What each event has touched, for checks that follow every event: which nodes and lines, and
//! which segments nodes have sent of their own.

use super::{LineId, NodeId};
use crate::packet::{Content, Packet};
use bentpipe_core::wire::{Flags, SeqNum};
use std::net::IpAddr;

/// What has been touched since it was last asked.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) lines: Vec<LineId>,
    pub(crate) segments: Vec<Segment>,
}

/// A segment that a node has sent of its own (not passed on), or a SYN that has come to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) node: NodeId,
    /// It came; the node did not send it.
    pub(crate) came: bool,
    pub(crate) src: (IpAddr, u16),
    pub(crate) dst: (IpAddr, u16),
    pub(crate) flags: Flags,
    pub(crate) seq: SeqNum,
    pub(crate) ack: SeqNum,
    /// The window field, as it stands in the header.
    pub(crate) window: u16,
    pub(crate) window_scale: Option<u8>,
}

impl Touched {
    pub(super) fn node(&mut self, id: NodeId) {
        if self.nodes.last() != Some(&id) {
            self.nodes.push(id);
        }
    }

    pub(super) fn line(&mut self, id: LineId) {
        if self.lines.last() != Some(&id) {
            self.lines.push(id);
        }
    }

    /// Node `node` sends `packet` of its own.
    pub(super) fn sent(&mut self, node: NodeId, packet: &Packet) {
        self.segment(node, packet, false);
    }

    /// `packet` has come to `node`: only SYNs are taken down.
    pub(super) fn came(&mut self, node: NodeId, packet: &Packet) {
        if let Content::Tcp(tcp, _) = &packet.content
            && tcp.has(Flags::SYN)
        {
            self.segment(node, packet, true);
        }
    }

    fn segment(&mut self, node: NodeId, packet: &Packet, came: bool) {
        let Content::Tcp(tcp, _) = &packet.content else { return };
        self.segments.push(Segment {
            node,
            came,
            src: (packet.ip.src, tcp.src_port),
            dst: (packet.ip.dst, tcp.dst_port),
            flags: tcp.flags,
            seq: tcp.seq,
            ack: tcp.ack,
            window: tcp.window,
            window_scale: tcp.options.window_scale,
        });
    }

    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.lines.clear();
        self.segments.clear();
    }
}
