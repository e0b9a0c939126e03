//! A transparent Web cache: which packets are its, and where it stands.
//!
//! The cache itself is hosts, whose TCP is that of all others: one with the address of each Web
//! server, which takes connections in that server's name, and one with an address of its own, from
//! which it calls the servers. They hang at a box on the way, joined to it by ideal cables. A
//! connection is the cache's if its SYN goes out to a Web port; all else passes. What the cache
//! says on its connections is said where requests are known: in `workload::conversation`.

use super::FourTuple;
use crate::node::Middlebox;
use crate::packet::{Content, Packet};
use crate::simulation::Service;
use crate::world::NodeId;
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::Flags;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// A Web cache in its world.
#[derive(Debug, Clone)]
pub(crate) struct WebCache {
    /// The node where it stands, and the port of that on whose cable it is.
    pub(crate) at: (NodeId, usize),
    /// The address that it calls from.
    pub(crate) address: IpAddr,
    /// The host with that address.
    pub(crate) caller: NodeId,
    /// By the Web server: the host that has its address here.
    pub(crate) faces: BTreeMap<NodeId, NodeId>,
    /// The probability that it holds an object.
    pub(crate) hits: f64,
    /// Its TCP.
    pub(crate) tcp: ConnectionConfig,
}

/// The box on the way. Its ports: 0 and 1 as of all middleboxes, 2 the caller's, then the faces'.
#[derive(Debug)]
pub(super) struct Interceptor {
    address: IpAddr,
    servers: Vec<IpAddr>,
    /// The connections that are the cache's.
    taken: BTreeSet<FourTuple>,
}

/// The port of the host that calls the servers.
pub(crate) const CALLER: usize = 2;
/// The port of the first host that has a server's address.
pub(crate) const FACES: usize = 3;

impl Interceptor {
    /// Before a cache that calls from `address` and stands for `servers`, in the order of its
    /// faces.
    pub(super) fn new(address: IpAddr, servers: Vec<IpAddr>) -> Interceptor {
        Interceptor { address, servers, taken: BTreeSet::new() }
    }

    /// The port of the face that takes what goes out in `packet`.
    fn face(&mut self, packet: &Packet) -> Option<usize> {
        let (Content::Tcp(tcp, _), tuple) = (&packet.content, FourTuple::of(packet)?) else {
            return None;
        };
        if !Service::Web.ports().contains(&tcp.dst_port) {
            return None;
        }
        let server = self.servers.iter().position(|server| *server == packet.ip.dst)?;
        if tcp.has(Flags::SYN) && !tcp.has(Flags::ACK) {
            self.taken.insert(tuple);
        }
        self.taken.contains(&tuple).then_some(FACES + server)
    }
}

impl Middlebox for Interceptor {
    fn handle(
        &mut self,
        _now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    ) {
        let to = match port {
            0 | 1 if packet.ip.dst == self.address => CALLER,
            0 => self.face(&packet).unwrap_or(1),
            CALLER => 1,
            // From the link, and from the faces.
            _ => 0,
        };
        send(to, packet);
    }
}
