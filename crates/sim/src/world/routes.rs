//! Which way packets take: the one over the fewest nodes to each host, of equal ones that over
//! the node that was added first.

use super::{NodeId, World};
use crate::host::Application;
use crate::node::Node;
use std::collections::VecDeque;
use std::net::IpAddr;

impl<A: Application> World<A> {
    /// Works out every router's way to every host. To be called when all cables are laid, and
    /// again when that changes.
    pub fn route(&mut self) {
        for routes in &mut self.routes {
            routes.clear();
        }
        for id in 0..self.nodes.len() {
            if let Node::Host(host) = &self.nodes[id] {
                let address = host.address();
                self.route_to(id, address);
            }
        }
    }

    /// Sends what node `at` gets for `address` out of `port` from now on, or drops it.
    pub fn set_route(&mut self, at: NodeId, address: IpAddr, port: Option<usize>) {
        match port {
            Some(port) => self.routes[at].insert(address, port),
            None => self.routes[at].remove(&address),
        };
    }

    /// Which port of node `at` leads to `address`.
    pub fn route_of(&self, at: NodeId, address: IpAddr) -> Option<usize> {
        self.routes[at].get(&address).copied()
    }

    /// Breadth first from `destination`, over cables, which lead both ways.
    fn route_to(&mut self, destination: NodeId, address: IpAddr) {
        let mut reached = vec![false; self.nodes.len()];
        reached[destination] = true;
        let mut queue = VecDeque::from([destination]);
        while let Some(at) = queue.pop_front() {
            // A host does not pass packets on.
            if at != destination && matches!(self.nodes[at], Node::Host(_)) {
                continue;
            }
            let lines: Vec<usize> = self.exits[at].iter().copied().flatten().collect();
            for line in lines {
                let (node, port) = (self.lines[line].node, self.lines[line].port);
                if !reached[node] {
                    reached[node] = true;
                    self.routes[node].insert(address, port);
                    queue.push_back(node);
                }
            }
        }
    }
}
