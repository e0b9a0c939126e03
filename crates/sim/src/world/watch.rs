//! What each event has touched, for checks that follow every event: which nodes and lines, and
//! which segments nodes have sent of their own, heard or passed on.

use super::{LineId, NodeId, World};
use crate::host::Application;
use crate::middleboxes::is_fake;
use crate::packet::{Content, Packet};
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::wire::{Flags, SeqNum, Timestamps};
use std::net::IpAddr;

/// What has been touched since it was last asked.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) lines: Vec<LineId>,
    pub(crate) segments: Vec<Segment>,
}

/// The part that a node had in the passage of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentEvent {
    /// The node sent it of its own accord.
    Sent,
    /// It arrived at the node.
    Received,
    /// An attacker forged it, and it arrived at the node.
    Forged,
    /// The node forwarded it, as a gateway does with what it does not deal with.
    Forwarded,
}

/// A TCP segment at a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) node: NodeId,
    pub(crate) event: SegmentEvent,
    pub(crate) src: (IpAddr, u16),
    pub(crate) dst: (IpAddr, u16),
    pub(crate) flags: Flags,
    pub(crate) seq: SeqNum,
    pub(crate) ack: SeqNum,
    /// The window field, as it stands in the header.
    pub(crate) window: u16,
    pub(crate) window_scale: Option<u8>,
    pub(crate) timestamps: Option<Timestamps>,
    /// Length of its payload in bytes.
    pub(crate) len: usize,
    /// Why it was sent, if a TCP of ours did.
    pub(crate) cause: Option<Cause>,
    /// Its receiver would not take it, or it ends before that: see [`Fakes`](crate::Fakes).
    pub(crate) is_fake: bool,
}

#[cfg(test)]
impl Segment {
    /// A SYN that comes to `node`, from the first end to the second, with sequence number 100 and a
    /// window of 1000.
    pub(crate) fn syn(node: NodeId, [src, dst]: [(IpAddr, u16); 2]) -> Segment {
        Segment {
            node,
            event: SegmentEvent::Received,
            src,
            dst,
            flags: Flags::SYN,
            seq: SeqNum(100),
            ack: SeqNum(0),
            window: 1_000,
            window_scale: None,
            timestamps: None,
            len: 0,
            cause: None,
            is_fake: false,
        }
    }
}

impl<A: Application> World<A> {
    /// Node `node` has to do with `packet`.
    pub(super) fn record(&mut self, node: NodeId, event: SegmentEvent, packet: &Packet) {
        if let Some(touched) = &mut self.touched {
            touched.packet(node, event, packet);
        }
    }
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

    fn packet(&mut self, node: NodeId, event: SegmentEvent, packet: &Packet) {
        let Content::Tcp(tcp, body) = &packet.content else { return };
        self.segments.push(Segment {
            node,
            event,
            src: (packet.ip.src, tcp.src_port),
            dst: (packet.ip.dst, tcp.dst_port),
            flags: tcp.flags,
            seq: tcp.seq,
            ack: tcp.ack,
            window: tcp.window,
            window_scale: tcp.options.window_scale,
            timestamps: tcp.options.timestamps,
            len: body.len(),
            cause: packet.cause,
            is_fake: is_fake(packet),
        });
    }

    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.lines.clear();
        self.segments.clear();
    }
}
