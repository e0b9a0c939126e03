//! Which way packets take: the one over the fewest nodes to each host, of equal ones that over
//! the node that was added first.

use super::{NodeId, World};
use crate::ecmp::Spread;
use crate::host::Application;
use crate::node::Node;
use std::collections::VecDeque;
use std::net::IpAddr;

/// Where a node sends what is for an address.
#[derive(Debug, Clone)]
pub(super) enum Route {
    /// Out of this port.
    Port(usize),
    /// By one of several ports, each flow by its own.
    Spread(Box<Spread>),
}

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
            Some(port) => self.routes[at].insert(address, Route::Port(port)),
            None => self.routes[at].remove(&address),
        };
    }

    /// Spreads what node `at` gets for `address` over several ways from now on.
    pub fn set_spread(&mut self, at: NodeId, address: IpAddr, spread: Spread) {
        self.routes[at].insert(address, Route::Spread(Box::new(spread)));
    }

    /// Has node `at` send what it gets for `alias` the way to `address` from now on.
    pub fn set_route_like(&mut self, at: NodeId, alias: IpAddr, address: IpAddr) {
        match self.routes[at].get(&address).cloned() {
            Some(route) => self.routes[at].insert(alias, route),
            None => self.routes[at].remove(&alias),
        };
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
                    self.routes[node].insert(address, Route::Port(port));
                    queue.push_back(node);
                }
            }
        }
    }
}
