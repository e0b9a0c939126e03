//! Gateways in a world: what comes to them, what they send, and what a capture hears of their legs.

use super::{NodeId, SegmentEvent, World};
use crate::capture::{Capture, CapturePoint};
use crate::host::Application;
use crate::node::Node;
use crate::packet::{Content, Packet};
use bentpipe_core::link::LinkPacket as _;
use bentpipe_gateway::{Checksums, Datagram, Disposition, Side};
use bentpipe_results::{Agreed, Direction, Observed};
use std::net::SocketAddr;

/// On which side a port is.
fn side(lan: &[usize], port: usize) -> Side {
    if lan.contains(&port) { Side::Lan } else { Side::Satellite }
}

/// Whence and whither a segment goes.
fn ends(packet: &Packet) -> Option<[SocketAddr; 2]> {
    let Content::Tcp(tcp, _) = &packet.content else { return None };
    Some([(packet.ip.src, tcp.src_port).into(), (packet.ip.dst, tcp.dst_port).into()])
}

impl<A: Application> World<A> {
    /// Hands a packet that has come in by `port` to gateway `id`. What it does not deal with is
    /// forwarded.
    pub(super) fn arrive_at_gateway(&mut self, id: NodeId, port: usize, mut packet: Box<Packet>) {
        let now = self.now;
        let Node::Gateway(gateway, lan) = &mut self.nodes[id] else { return };
        let from = side(lan, port);
        let point = CapturePoint { node: id, side: Some(from) };
        if let Some(capture) = self.tap.as_mut().and_then(|tap| tap.capture.as_mut()) {
            capture.packet(now, point, Direction::Received, &packet);
        }
        let len = packet.wire_len() as usize;
        let Packet { ip, content, .. } = &mut *packet;
        let datagram = match content {
            Content::Tcp(tcp, body) => Datagram::Segment { ip, tcp, payload: body.payload() },
            Content::Error(bytes) => Datagram::Bytes(bytes, Checksums::Unverified),
            Content::Udp(_) | Content::Echo(_) => Datagram::Foreign(len),
        };
        let verdict = gateway.handle_datagram(now, from, datagram);
        if verdict != Disposition::Consumed {
            self.record(id, SegmentEvent::Forwarded, &packet);
            return self.pass_on(id, packet);
        }
        if let Some(capture) = self.watching(id)
            && let Some(ends) = ends(&packet)
        {
            capture.segment(now, point, Direction::Received, &packet);
            self.touch(id, ends);
        }
    }

    /// Forwards what gateway `id` does not deal with.
    fn pass_on(&mut self, id: NodeId, packet: Box<Packet>) {
        let Some(port) = self.exit(id, &packet) else { return };
        if let Some(capture) = self.tap.as_mut().and_then(|tap| tap.capture.as_mut())
            && let Node::Gateway(_, lan) = &self.nodes[id]
        {
            let point = CapturePoint { node: id, side: Some(side(lan, port)) };
            capture.passed_on(self.now, point, &packet);
        }
        self.send(id, port, packet);
    }

    /// Sends a packet of gateway `id` itself towards `side`.
    pub(super) fn send_from_gateway(&mut self, id: NodeId, side: Side, packet: Box<Packet>) {
        if self.tap.is_some() {
            self.tell_sent(id, side, &packet);
        }
        self.forward(id, packet);
    }

    fn tell_sent(&mut self, id: NodeId, side: Side, packet: &Packet) {
        let point = CapturePoint { node: id, side: Some(side) };
        if let Some(ends) = ends(packet)
            && self.watching(id).is_some()
            && !self.tap.as_ref().is_some_and(|tap| tap.touched.contains(&sorted(ends)))
        {
            // What a timer has changed comes before what it has made leave.
            self.touch(id, ends);
        }
        if let Some(capture) = self.tap.as_mut().and_then(|tap| tap.capture.as_mut()) {
            capture.packet(self.now, point, Direction::Sent, packet);
            capture.segment(self.now, point, Direction::Sent, packet);
        }
    }

    /// Lets expire what is due at gateway `id`.
    pub(super) fn expire_gateway(&mut self, id: NodeId) {
        let watched = self.watching(id).is_some();
        let now = self.now;
        let Node::Gateway(gateway, _) = &mut self.nodes[id] else { return };
        let due: Vec<_> = if watched { gateway.due(now).collect() } else { Vec::new() };
        gateway.handle_timeout(now);
        for ends in due {
            self.touch(id, ends);
        }
    }

    /// The capture, if it wants to hear of the connections of node `id`.
    fn watching(&mut self, id: NodeId) -> Option<&mut Capture> {
        let capture = self.tap.as_mut()?.capture.as_mut()?;
        capture.watches(id).then_some(capture)
    }

    /// Something has happened to the connection between these two: the capture hears how its legs
    /// stand.
    fn touch(&mut self, id: NodeId, ends: [SocketAddr; 2]) {
        if let Some(tap) = &mut self.tap {
            tap.touched.insert(sorted(ends));
        }
        self.tell_legs(id, ends, false);
    }

    /// Gateway `id` has sent all that it may: the capture hears what keeps the next segments back.
    pub(super) fn tell_rested(&mut self, id: NodeId) {
        let touched = self.tap.as_mut().map(|tap| std::mem::take(&mut tap.touched));
        for ends in touched.into_iter().flatten() {
            self.tell_legs(id, ends, true);
        }
    }

    fn tell_legs(&mut self, id: NodeId, [one, other]: [SocketAddr; 2], rested: bool) {
        if let Some(capture) = self.tap.as_mut().and_then(|tap| tap.capture.as_mut())
            && let Node::Gateway(gateway, _) = &self.nodes[id]
            && capture.wants([one, other])
        {
            for leg in gateway.observe(one, other).into_iter().flatten() {
                let point = CapturePoint { node: id, side: Some(leg.side) };
                let observed = Observed {
                    state: None,
                    // Before it is asked for segments, it is what it was when it was last.
                    limiter: leg.limiter.filter(|_| rested),
                    tcb: Some(leg.tcb),
                    agreed: Some(Agreed { isns: leg.isns, shifts: leg.shifts }),
                    over: false,
                };
                capture.observed(self.now, point, [leg.local, leg.remote], &observed);
            }
        }
    }
}

/// A connection's name, whichever way a segment of it goes.
fn sorted(mut ends: [SocketAddr; 2]) -> [SocketAddr; 2] {
    ends.sort_unstable();
    ends
}
