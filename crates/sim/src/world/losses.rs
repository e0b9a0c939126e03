//! Packets that links have lost or damaged: who has sent them is told, so that what senders make of
//! losses can be held against what they were.

use super::{LineId, NodeId, World};
use crate::host::Application;
use crate::node::Node;
use crate::packet::Packet;

impl<A: Application> World<A> {
    /// Tells the senders of what a line has lost. Hardly any packet is: out of the way of all that
    /// are not.
    #[cold]
    pub(super) fn tell_losses(&mut self, id: LineId) {
        while let Some(packet) = self.lines[id].line.direction_mut().take_lost() {
            self.tell_loss(&packet);
        }
    }

    fn tell_loss(&mut self, packet: &Packet) {
        // Caches have hosts that bear the servers' addresses.
        for node in &mut self.nodes {
            if let Node::Host(host) = node
                && host.address() == packet.ip.src
            {
                host.note_lost(packet);
            }
        }
    }

    /// A packet has come that is damaged, but for its headers. Routers look at no more than those.
    pub(super) fn arrive_damaged(&mut self, node: NodeId, packet: Box<Packet>) {
        match &mut self.nodes[node] {
            Node::Router if self.addresses[node] != Some(packet.ip.dst) => {
                return self.forward(node, packet);
            }
            Node::Host(host) => host.handle_damaged(&packet),
            Node::Router | Node::Gateway(..) | Node::Middlebox(_) => {}
        }
        self.tell_loss(&packet);
        self.packet_pool.take_back(packet);
    }
}
