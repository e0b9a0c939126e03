//! The boxes of a world.

use crate::host::script::Run;
use crate::host::{Application, Host};
use crate::packet::Packet;
use bentpipe_core::time::Instant;
use bentpipe_gateway::Gateway;
use bentpipe_scenario::MiddleboxSeries;
use std::fmt;

/// A box with ports. Hosts have one port (0), middleboxes two, the others any number.
#[derive(Debug)]
pub enum Node<A: Application = Run> {
    /// An end.
    Host(Host<A>),
    /// Passes packets on by their destination; see [`World::route`](crate::World::route).
    Router,
    /// A gateway, which passes on what it does not take as a router does. The ports given are those
    /// on its LAN side.
    Gateway(Box<Gateway<A::Buffer>>, Vec<usize>),
    /// Something in the network that meddles with passing packets.
    Middlebox(Box<dyn Middlebox>),
}

impl<A: Application> From<Host<A>> for Node<A> {
    fn from(host: Host<A>) -> Node<A> {
        Node::Host(host)
    }
}

/// Something in the network between its ports 0 and 1.
pub trait Middlebox: fmt::Debug {
    /// Takes a packet that has arrived on `port` (0 or 1). `send` takes what is to leave, and by
    /// which port; to pass the packet on is `send(1 - port, packet)`.
    fn handle(
        &mut self,
        now: Instant,
        port: usize,
        packet: Packet,
        send: &mut dyn FnMut(usize, Packet),
    );

    /// Lets expire what is due.
    fn handle_timeout(&mut self, now: Instant, send: &mut dyn FnMut(usize, Packet)) {
        let _ = (now, send);
    }

    /// What it makes of the packets that it has seen, if it keeps account of that.
    fn observed(&self, series: MiddleboxSeries, since: Instant) -> Option<f64> {
        let _ = (series, since);
        None
    }

    /// When [`Middlebox::handle_timeout`] is to be called, if ever.
    fn next(&self) -> Option<Instant> {
        None
    }
}
