//! A look at what hosts and gateways send and get: segments and acknowledgments for time-sequence
//! graphs, and all packets for a capture.

use super::{NodeId, World};
use crate::capture::{Capture, CapturePoint};
use crate::host::{Application, SessionKey};
use crate::node::Node;
use crate::packet::{Content, Packet};
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Flags, SeqNum};
use bentpipe_results::Direction;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// A segment at a host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passed {
    pub(crate) at: Instant,
    pub(crate) host: NodeId,
    /// The connection's name there.
    pub(crate) key: SessionKey,
    pub(crate) event: SequenceEvent,
}

/// The event of a time-sequence graph that a segment is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SequenceEvent {
    /// A SYN with this number was sent.
    Opened(SeqNum),
    /// Data were sent: their first number, and their length.
    Sent(SeqNum, u32),
    /// An acknowledgment has come.
    Acknowledged(SeqNum),
    /// A queue has dropped these data: their first number.
    Dropped(SeqNum),
}

/// What is to be known of packets that pass hosts and gateways.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    /// Segments and acknowledgments since it was last asked, if they are wanted.
    pub(super) passed: Option<Vec<Passed>>,
    /// Where whole packets go, and what connections do.
    pub(super) capture: Option<Capture>,
    /// Connections of the gateway whose turn it is, of which something has happened since it sent
    /// all that it may.
    pub(super) touched: BTreeSet<[SocketAddr; 2]>,
}

/// A segment with data on its way into a queue, which may drop it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queued {
    src: IpAddr,
    key: SessionKey,
    seq: SeqNum,
}

impl Queued {
    fn of(packet: &Packet) -> Option<Queued> {
        let Content::Tcp(tcp, body) = &packet.content else { return None };
        let key = (tcp.src_port, packet.ip.dst, tcp.dst_port);
        (!body.is_empty()).then_some(Queued { src: packet.ip.src, key, seq: tcp.seq })
    }
}

impl Tap {
    /// The segment to name if the queue drops `packet`; `None` if no sequence is recorded.
    #[inline]
    pub(super) fn queued(&self, packet: &Packet) -> Option<Queued> {
        self.passed.as_ref().and_then(|_| Queued::of(packet))
    }

    pub(super) fn sent(&mut self, at: Instant, host: NodeId, packet: &Packet) {
        if let Some(capture) = &mut self.capture {
            let point = CapturePoint { node: host, side: None };
            capture.packet(at, point, Direction::Sent, packet);
            capture.segment(at, point, Direction::Sent, packet);
        }
        let Some(passed) = &mut self.passed else { return };
        let Content::Tcp(tcp, body) = &packet.content else { return };
        let event = if tcp.has(Flags::SYN) {
            SequenceEvent::Opened(tcp.seq)
        } else if body.is_empty() {
            return;
        } else {
            SequenceEvent::Sent(tcp.seq, body.len() as u32)
        };
        let key = (tcp.src_port, packet.ip.dst, tcp.dst_port);
        passed.push(Passed { at, host, key, event });
    }

    pub(super) fn arrived(&mut self, at: Instant, host: NodeId, packet: &Packet) {
        if let Some(capture) = &mut self.capture {
            let point = CapturePoint { node: host, side: None };
            capture.packet(at, point, Direction::Received, packet);
            capture.segment(at, point, Direction::Received, packet);
        }
        let Some(passed) = &mut self.passed else { return };
        let Content::Tcp(tcp, _) = &packet.content else { return };
        if tcp.has(Flags::ACK) {
            let key = (tcp.dst_port, packet.ip.src, tcp.src_port);
            passed.push(Passed { at, host, key, event: SequenceEvent::Acknowledged(tcp.ack) });
        }
    }
}

impl<A: Application> World<A> {
    /// The host that has sent `queued` hears that a queue has dropped it.
    #[cold]
    pub(super) fn tell_dropped(&mut self, queued: Queued) {
        let Queued { src, key, seq } = queued;
        let is_source = |node: &Node<A>| matches!(node, Node::Host(host) if host.address() == src);
        let Some(host) = self.nodes.iter().position(is_source) else { return };
        if let Some(passed) = self.tap.as_mut().and_then(|tap| tap.passed.as_mut()) {
            passed.push(Passed { at: self.now, host, key, event: SequenceEvent::Dropped(seq) });
        }
    }

    /// The capture hears what the connections of host `id` have done, and those of a gateway that
    /// has sent all that it may.
    pub(super) fn tell_observed(&mut self, id: NodeId) {
        if let Node::Gateway(..) = self.nodes[id] {
            self.tell_rested(id);
        }
        if let Some(capture) = self.tap.as_mut().and_then(|tap| tap.capture.as_mut())
            && let Node::Host(host) = &mut self.nodes[id]
        {
            let address = host.address();
            for (key, observed) in host.observed() {
                let ends = [(address, key.0), (key.1, key.2)].map(SocketAddr::from);
                capture.observed(self.now, CapturePoint { node: id, side: None }, ends, &observed);
            }
        }
    }
}
