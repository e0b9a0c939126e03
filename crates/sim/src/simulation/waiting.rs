//! What workloads wait for besides their peers: each other, and room to send.

use super::{Net, Simulation};
use crate::barrier::{Barriers, Ticket};
use crate::world::Endpoint;

impl Net {
    /// Gives notice when fewer than `bytes` wait at `end` to be sent for the first time.
    pub fn watch_room(&mut self, end: Endpoint, bytes: u64) {
        self.world.with(end, |stream, _| stream.watch_room(bytes));
    }

    /// How many bytes wait at `end` to be sent for the first time, while it lives.
    pub fn unsent(&self, end: Endpoint) -> Option<u64> {
        let (connection, stream) = self.world.session(end)?;
        Some(stream.unsent(connection))
    }

    /// This workload has come to its barrier. It is woken with `mark`, if there is one, when the
    /// last has.
    pub fn reach(&mut self, ticket: Ticket, mark: Option<u64>) {
        let who = mark.map(|mark| (self.owner, mark));
        for (owner, mark) in self.barriers.reach(ticket, who) {
            self.timers_set += 1;
            self.timers.insert((self.world.now(), self.timers_set, owner, mark));
        }
    }
}

impl Simulation {
    /// Where flows wait for each other.
    pub fn barriers_mut(&mut self) -> &mut Barriers {
        &mut self.net.barriers
    }
}
