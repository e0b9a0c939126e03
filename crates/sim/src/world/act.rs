//! What those outside do in a world, and what it tells them.

use super::{Endpoint, NodeId, SegmentEvent, World, node_element};
use crate::host::Application;
use crate::node::Node;
use crate::packet::{Content, Datagram, Echo, Packet};
use bentpipe_core::tcp::connection::{Connection, ConnectionConfig};
use bentpipe_core::time::Instant;
use bentpipe_core::wire::IpHeader;
use bentpipe_gateway::{Config, Gateway};
use std::net::IpAddr;

impl<A: Application> World<A> {
    /// Puts another box in the place of a node that is no host. What the old one held is lost.
    pub fn replace(&mut self, id: NodeId, node: impl Into<Node<A>>) {
        if let Node::Gateway(gateway, _) = &self.nodes[id] {
            self.meters[id].close(self.now, gateway);
        }
        self.nodes[id] = node.into();
        self.event_queue.set(node_element(id), None);
        self.settle(id, false);
    }

    /// Puts a packet in front of node `id`, as if it had come in by `port`: an attacker's, who is
    /// anywhere in the network. No line carries it.
    pub fn inject(&mut self, id: NodeId, port: usize, packet: Packet) {
        if let Some(listener) = &mut self.listener {
            let now = self.now.as_secs_f64();
            listener.tell(format!("{now:.6} at {id}.{port}, forged: {packet}"));
        }
        self.record(id, SegmentEvent::Forged, &packet);
        self.arrive(id, port, Box::new(packet));
    }

    /// Opens a connection from host `from` to the peer and port of `key`; see
    /// [`Host`](crate::Host).
    pub fn open(
        &mut self,
        from: NodeId,
        key: crate::SessionKey,
        config: ConnectionConfig,
        application: A,
    ) -> Endpoint {
        let now = self.now;
        let slot = self.host_mut(from).open(now, key, config, None, application);
        self.settle(from, false);
        Endpoint { host: from, slot }
    }

    /// Lets the application of `end` do something with its connection, if it still lives.
    pub fn with(&mut self, end: Endpoint, act: impl FnOnce(&mut A, &mut Connection<A::Buffer>)) {
        let now = self.now;
        self.host_mut(end.host).with(now, end.slot, act);
        self.settle(end.host, false);
    }

    /// The connection of `end` and what uses it, while it lives.
    pub fn session(&self, end: Endpoint) -> Option<(&Connection<A::Buffer>, &A)> {
        self.host(end.host).session(end.slot)
    }

    /// Tells node `id` something, if it is a gateway, and lets it do what is due by that.
    fn tell_gateway(&mut self, id: NodeId, tell: impl FnOnce(&mut Gateway<A::Buffer>, Instant)) {
        if let Node::Gateway(gateway, _) = &mut self.nodes[id] {
            tell(gateway, self.now);
        }
        self.settle(id, false);
    }

    /// Tells node `id`, if it is a gateway, to hand its flows back.
    pub fn drain(&mut self, id: NodeId) {
        self.tell_gateway(id, Gateway::drain);
    }

    /// Lets node `id` do what has become due by a change from outside.
    pub fn wake(&mut self, id: NodeId) {
        self.settle(id, false);
    }

    /// Resets what is still open at node `id`, if it is a gateway: its time for draining is over.
    pub fn reset_all(&mut self, id: NodeId) {
        self.tell_gateway(id, Gateway::reset_all);
    }

    /// Lets node `id`, if it is a gateway, go on with other parameters.
    pub fn reconfigure(&mut self, id: NodeId, config: Config) {
        self.tell_gateway(id, |gateway, _| gateway.reconfigure(config));
    }

    /// Tells node `id`, if it is a gateway, that packets have gone past it.
    pub fn release_all(&mut self, id: NodeId) {
        self.tell_gateway(id, Gateway::release_all);
    }

    /// Sends a packet from node `from`, which has an address: the IP header's source.
    pub fn emit(&mut self, from: NodeId, dst: IpAddr, content: Content) {
        let Some(src) = self.addresses[from] else { return };
        let ip = IpHeader::between(src, dst);
        let packet = Box::new(Packet::new(ip, content));
        match self.nodes[from] {
            Node::Host(_) => self.send_from_host(from, packet),
            _ => self.forward(from, packet),
        }
    }

    /// Whether there may be notices, departed connections, answers or datagrams to be polled.
    #[inline]
    pub fn has_news(&self) -> bool {
        !(self.told.is_empty() && self.datagrams.is_empty() && self.echoes.is_empty())
    }

    /// What an application has told, and where.
    pub fn poll_notice(&mut self) -> Option<(Endpoint, A::Notice)> {
        for index in 0..self.told.len() {
            let host = self.told[index];
            if let Some((slot, notice)) = self.host_mut(host).poll_notice() {
                return Some((Endpoint { host, slot }, notice));
            }
        }
        None
    }

    /// A connection that is over, with what used it. To be asked when there are no more notices:
    /// then nothing refers to it any more.
    pub fn poll_departed(&mut self) -> Option<(Endpoint, A, Connection<A::Buffer>)> {
        while let Some(&host) = self.told.last() {
            if let Some((slot, application, connection)) = self.host_mut(host).poll_departed() {
                return Some((Endpoint { host, slot }, application, connection));
            }
            self.told.pop();
        }
        None
    }

    /// The next answer to a ping that has come: to which host, and when.
    pub fn poll_echo(&mut self) -> Option<(NodeId, Instant, Echo)> {
        self.echoes.pop_front()
    }

    /// The next UDP datagram that has come, and to which host.
    pub fn poll_datagram(&mut self) -> Option<(NodeId, Datagram)> {
        self.datagrams.pop_front()
    }
}
