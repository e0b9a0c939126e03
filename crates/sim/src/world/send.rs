//! What leaves a node: by which port, and onto which line.

use super::routes::Route;
use super::{LineId, NodeId, World, line_element};
use crate::host::Application;
use crate::packet::Packet;
use bentpipe_core::time::Instant;

impl<A: Application> World<A> {
    pub(super) fn send_all(&mut self, id: NodeId, packets: Vec<(usize, Packet)>) {
        for (port, packet) in packets {
            self.send(id, port, Box::new(packet));
        }
    }

    /// Sends a packet on its way to its destination. Without a route it is dropped.
    pub(super) fn forward(&mut self, id: NodeId, packet: Box<Packet>) {
        if let Some(port) = self.exit(id, &packet) {
            self.send(id, port, packet);
        }
    }

    /// By which port a packet leaves node `id`.
    #[inline(always)]
    pub(super) fn exit(&self, id: NodeId, packet: &Packet) -> Option<usize> {
        match self.routes[id].get(&packet.ip.dst)? {
            &Route::Port(port) => Some(port),
            Route::Spread(spread) => spread.port(packet),
        }
    }

    pub(super) fn send_from_host(&mut self, id: NodeId, packet: Box<Packet>) {
        if self.tap.is_some() {
            self.tell_observed(id);
        }
        if let Some(tap) = &mut self.tap {
            tap.sent(self.now, id, &packet);
        }
        self.send(id, 0, packet);
    }

    pub(super) fn send(&mut self, id: NodeId, port: usize, packet: Box<Packet>) {
        if let Some(line) = self.exits[id].get(port).copied().flatten() {
            if let Some(touched) = &mut self.touched {
                touched.line(line);
            }
            let egress = &mut self.lines[line];
            let queued = self.tap.as_ref().and_then(|tap| tap.queued(&packet));
            let direction = egress.line.direction_mut();
            let dropped = queued.map(|_| direction.counters().dropped.packets);
            direction.push(self.now, packet);
            // Queues that drop what they hold drop one as another comes, too: those are few, and
            // no time-sequence graph of ours has them.
            let is_dropped =
                dropped.is_some_and(|before| direction.counters().dropped.packets > before);
            let medium = egress.medium;
            if let Some(queued) = queued.filter(|_| is_dropped) {
                self.tell_dropped(queued);
            }
            match medium {
                Some(medium) => self.contend(medium),
                None => {
                    self.arm_line(line);
                }
            }
        }
    }

    /// Sets a line's alarm, and says to when. Twice for each packet: a call would cost as much as
    /// what it does.
    #[inline(always)]
    pub(super) fn arm_line(&mut self, id: LineId) -> Option<Instant> {
        let next = self.lines[id].line.next().map(|at| at.max(self.now));
        self.event_queue.set(line_element(id), next);
        next
    }
}
