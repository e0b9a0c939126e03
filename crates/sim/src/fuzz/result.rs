//! What has come of the connections of a plan.

use super::plan::{Call, FaultPlan};
use crate::World;
use crate::host::script::Report;
use bentpipe_core::tcp::tcb::Tcb;
use bentpipe_core::units::Bytes;

impl Call {
    /// What each end has done and seen, if it exists yet. Hosts are nodes 0 and 1.
    pub(super) fn reports<'w>(&self, world: &'w World) -> [Option<&'w Report>; 2] {
        [0, 1].map(|end| world.host(self.host(end)).report(&self.keys[end]))
    }

    /// Whether both directions were read to their ends.
    pub(super) fn completed(&self, world: &World) -> bool {
        self.reports(world).iter().all(|report| report.is_some_and(|report| report.clean_end))
    }

    /// What that end has of the connection, or had at its end.
    pub(super) fn tcb<'w>(&self, world: &'w World, end: usize) -> Option<&'w Tcb> {
        world.host(self.host(end)).connection(&self.keys[end])?.last_tcb()
    }

    /// Whether neither host takes anything that the other one says: where gateways had promised
    /// more than the hosts have room for, and left, both may speak from beside each other's windows
    /// for ever. A documented limit.
    fn hosts_are_deaf(&self, world: &World) -> bool {
        let [Some(caller), Some(called)] = [0, 1].map(|end| self.tcb(world, end)) else {
            return false;
        };
        let takes = |to: &Tcb, from: &Tcb| {
            to.receiver.acceptable(Some(from.seq_without_data()), Bytes::ZERO)
        };
        !takes(caller, called) && !takes(called, caller)
    }
}

impl FaultPlan {
    /// Whether a gateway that left has left the hosts of a connection deaf to each other.
    pub(super) fn leaves_deaf(&self, call: &Call, world: &World) -> bool {
        self.drains() && !call.completed(world) && call.hosts_are_deaf(world)
    }
}
