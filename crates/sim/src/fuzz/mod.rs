//! Deterministic fault testing: from a seed, hosts with real bytes, up to two gateways (the code
//! that is deployed), a bad satellite link, and whatever else can befall them; checked after every
//! event.
//!
//! [`FaultPlan::draw`] says what happens, [`FaultPlan::play`] lets it happen. Both depend on the
//! seed alone, so that a violation is replayed by its seed, packet by packet. A panic while playing
//! is a violation as well: the world and its hosts assert what every TCP must keep (no deadline in
//! the past, nobody sends without end, each byte read is the right one). Catching it is the
//! caller's business, as is running many seeds at once.

mod adoption;
mod attack;
mod causes;
mod clocks;
mod connection_ends;
mod cut;
mod describe;
mod draw;
mod edges;
mod invariants;
mod line_faults;
mod losses;
mod plan;
mod result;
mod shrink;
mod stage;
mod streams;

mod violation;

pub use attack::{Attack, Forgery};
pub use cut::{Cut, PlanTextError, SmallerPlan};
pub use line_faults::Faults;
pub use plan::{
    Call, Change, Detour, FaultPlan, Hazard, Meddler, Middle, MiddleboxPosition, Passage, Path,
    Strait,
};
pub use shrink::shrink;
pub use violation::{Invariant, Violation};

use crate::Listener;
use bentpipe_core::time::Instant;
use invariants::InvariantChecker;
use stage::Stage;
use std::time::Duration;

/// By then everything is over. The applications of disturbed runs reset their connections within
/// the first hour, but where resets take another path, two gateways may go on answering each other:
/// each asks its host every 900 s, and gives up after 15 times in vain.
const LIMIT: Duration = Duration::from_secs(6 * 3600);

/// More events than any plan needs, by an order of magnitude: something goes round in circles.
const MAX_EVENTS: u64 = 3_000_000;

/// What a plan came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Played {
    /// Events of the world.
    pub events: u64,
    /// Packets that arrived anywhere.
    pub packets: u64,
    /// Bytes that applications read.
    pub bytes: u64,
    /// Flows that gateways split, those of crashed gateways left out.
    pub split: u64,
    /// Of those, flows that were split in mid-life.
    pub adopted: u64,
    /// Of those, flows that a gateway split of which another one had told it.
    pub recalled: u64,
    /// Connections both of whose directions were read to their ends.
    pub completed: u64,
    /// Connections whose hosts do not hear each other any more, as gateways that had promised more
    /// than they have have left: a documented limit.
    pub deaf: u64,
    /// Forged segments and ICMP errors that were injected.
    pub forged: u64,
    /// Connections that were opened again from the port of one that had been reset.
    pub called_again: u64,
    /// Packets that were cut by a router that had cleared DF, and made whole again.
    pub pieced: u64,
    /// Fakes that were sent ahead of true segments.
    pub faked: u64,
    /// Times that a gateway's leg learned of a smaller MTU.
    pub path_mtu_falls: u64,
    /// A digest of every packet and its moment; see [`World::trace`](crate::World::trace).
    pub trace: u64,
}

impl FaultPlan {
    /// Lets happen what is planned, and checks after every event. `listener` hears of each packet
    /// that arrives.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    ///
    /// # Panics
    /// If the world, a host or a gateway finds a bug in itself.
    pub fn play(&self, listener: Option<Listener>) -> Result<Played, Violation> {
        let mut stage = Stage::new(self, listener);
        let mut checker = InvariantChecker::new(self);
        let end = Instant::ZERO + LIMIT;
        let mut events = 0;
        stage.world.start();
        loop {
            let next = stage.world.next_event().filter(|at| *at <= end);
            // What is planned for a moment comes before what the network does at it.
            match (stage.next_change(), next) {
                (Some(at), next) if next.is_none_or(|next| at <= next) => {
                    let change = stage.change(self, &checker.edges, at);
                    checker.heed(change);
                }
                (_, Some(_)) => {
                    stage.world.step(end);
                }
                (_, None) => break,
            }
            events += 1;
            checker.check(self, &mut stage.world)?;
            if events > MAX_EVENTS {
                return Err(checker.violation(
                    &stage.world,
                    Invariant::Livelock,
                    format!("{MAX_EVENTS} events, and still not over"),
                ));
            }
        }
        checker.check_end(self, &mut stage.world)?;
        let world = &stage.world;
        let reports = || self.calls.iter().flat_map(|call| call.reports(world)).flatten();
        Ok(Played {
            events,
            packets: world.packets(),
            bytes: reports().map(|report| report.read).sum(),
            split: world.gateways().map(|gateway| gateway.summary().split).sum(),
            adopted: world.gateways().map(|gateway| gateway.summary().adopted).sum(),
            recalled: stage.recalled(),
            called_again: stage.called_again(),
            pieced: stage.pieced(),
            faked: stage.faked(),
            path_mtu_falls: world.gateways().map(|g| g.summary().path_mtu_falls).sum(),
            completed: self.calls.iter().filter(|call| call.completed(world)).count() as u64,
            deaf: self.calls.iter().filter(|call| self.leaves_deaf(call, world)).count() as u64,
            forged: stage.forged(),
            trace: world.trace(),
        })
    }
}
