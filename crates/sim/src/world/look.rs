//! What can be seen of a world: its time, its nodes and lines, and what has passed.

use super::{Egress, LineId, NodeId, Passed, Touched, World};
use crate::capture::{Capture, Name};
use crate::host::{Application, Host};
use crate::line::Line;
use crate::listener::Listener;
use crate::node::Node;
use crate::packet::Packet;
use bentpipe_core::time::Instant;
use bentpipe_gateway::Gateway;

impl<A: Application> World<A> {
    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// A digest of every packet that has arrived anywhere, and when.
    pub fn trace(&self) -> u64 {
        self.trace.value()
    }

    /// Tells `listener` of every packet that arrives anywhere, and of what gateways tell, for the
    /// reader of a failed run.
    pub fn tell(&mut self, listener: Listener) {
        self.listener = Some(listener);
    }

    /// Takes down from now on what passes the hosts; see [`World::passed`].
    pub(crate) fn tap(&mut self) {
        self.tap.get_or_insert_default().passed.get_or_insert_default();
    }

    /// What has passed the hosts since the last call.
    pub(crate) fn passed(&mut self) -> Vec<Passed> {
        let passed = self.tap.as_mut().and_then(|tap| tap.passed.as_mut());
        passed.map(std::mem::take).unwrap_or_default()
    }

    /// Hands over from now on the packets that pass hosts and gateways.
    pub(crate) fn capture(&mut self, capture: Capture) {
        for (id, node) in self.nodes.iter_mut().enumerate() {
            if let Node::Host(host) = node
                && capture.watches(id)
            {
                host.watch();
            }
        }
        self.tap.get_or_insert_default().capture = Some(capture);
    }

    /// Tells the capture, if there is one, whose packets bear a name.
    pub(crate) fn name(&mut self, owner: usize, name: Name) {
        if let Some(capture) = self.tap.as_mut().and_then(|tap| tap.capture.as_mut()) {
            capture.name(owner, name);
        }
    }

    /// Takes down from now on what each event touches; see [`World::touched`].
    pub(crate) fn watch(&mut self) {
        self.touched.get_or_insert_default();
    }

    /// Gives what has been touched since the last call, for `spare`, which is used next.
    pub(crate) fn touched(&mut self, spare: &mut Touched) {
        spare.clear();
        if let Some(touched) = &mut self.touched {
            std::mem::swap(touched, spare);
        }
    }

    /// How many packets have arrived anywhere.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The host `id`.
    ///
    /// # Panics
    /// If that node is no host.
    pub fn host(&self, id: NodeId) -> &Host<A> {
        match &self.nodes[id] {
            Node::Host(host) => host,
            other => panic!("node {id} is {other:?}, not a host"),
        }
    }

    /// The host `id`, to plan its connections.
    ///
    /// # Panics
    /// If that node is no host.
    pub fn host_mut(&mut self, id: NodeId) -> &mut Host<A> {
        match &mut self.nodes[id] {
            Node::Host(host) => host,
            other => panic!("node {id} is {other:?}, not a host"),
        }
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node<A> {
        &self.nodes[id]
    }

    /// The gateways.
    pub fn gateways(&self) -> impl Iterator<Item = &Gateway<A::Buffer>> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Gateway(gateway, _) => Some(gateway.as_ref()),
            _ => None,
        })
    }

    /// A line, by its number.
    pub fn line(&self, id: LineId) -> &Line {
        &self.lines[id].line
    }

    /// Lets happen on a line what does by now, so that its counts are as of now. Nothing else
    /// changes by it.
    pub fn refresh(&mut self, id: LineId) {
        self.lines[id].line.direction_mut().advance(self.now);
    }

    /// A line, by its node and port of departure.
    pub fn line_from(&self, id: NodeId, port: usize) -> Option<&Line> {
        let line = self.exits[id].get(port).copied().flatten()?;
        Some(&self.lines[line].line)
    }

    /// Counts what arrives, and tells of it if that is wanted.
    pub(super) fn note(&mut self, id: LineId, packet: &Packet) {
        self.packets += 1;
        if let Some(listener) = &mut self.listener {
            let Egress { node, port, .. } = self.lines[id];
            listener.tell(format!("{:.6} at {node}.{port}: {packet}", self.now.as_secs_f64()));
        }
        self.trace.add(self.now, id, packet);
    }
}
