//! A look at what hosts send and get: segments and acknowledgments for time-sequence graphs, and
//! all packets for a capture.

use super::{NodeId, World};
use crate::capture::{Capture, Direction};
use crate::host::{Application, SessionKey};
use crate::node::Node;
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

/// What is to be known of packets that pass the hosts.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    /// Segments and acknowledgments since it was last asked, if they are wanted.
    pub(super) passed: Option<Vec<Passed>>,
    /// Where whole packets go.
    pub(super) capture: Option<Capture>,
}

impl Tap {
    pub(super) fn sent(&mut self, at: Instant, host: NodeId, packet: &Packet) {
        if let Some(capture) = &mut self.capture {
            capture.take(at, host, Direction::Sent, packet);
        }
        let Some(passed) = &mut self.passed else { return };
        let Content::Tcp(tcp, body) = &packet.content else { return };
        let what = if tcp.has(Flags::SYN) {
            What::Opened(tcp.seq)
        } else if body.is_empty() {
            return;
        } else {
            What::Sent(tcp.seq, body.len() as u32)
        };
        let key = (tcp.src_port, packet.ip.dst, tcp.dst_port);
        passed.push(Passed { at, host, key, what });
    }

    pub(super) fn arrived(&mut self, at: Instant, host: NodeId, packet: &Packet) {
        if let Some(capture) = &mut self.capture {
            capture.take(at, host, Direction::Received, packet);
        }
        let Some(passed) = &mut self.passed else { return };
        let Content::Tcp(tcp, _) = &packet.content else { return };
        if tcp.has(Flags::ACK) {
            let key = (tcp.dst_port, packet.ip.src, tcp.src_port);
            passed.push(Passed { at, host, key, what: What::Acknowledged(tcp.ack) });
        }
    }
}

impl<A: Application> World<A> {
    /// The capture hears what the connections of host `id` have done.
    pub(super) fn tell_observed(&mut self, id: NodeId) {
        if let Some(capture) = self.tap.as_mut().and_then(|tap| tap.capture.as_mut())
            && let Node::Host(host) = &mut self.nodes[id]
        {
            let address = host.address();
            for (key, observed) in host.observed() {
                capture.observed(self.now, id, address, key, &observed);
            }
        }
    }
}
