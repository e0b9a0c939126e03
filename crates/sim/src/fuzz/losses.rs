//! Connections that a gateway forwards and resets: some of their bytes must be lost, acknowledged
//! to their sender and held by nobody.

use super::plan::{Call, FaultPlan};
use super::stage::BOXES;
use crate::node::Node;
use crate::world::{NodeId, Segment, SegmentEvent, World};
use bentpipe_core::tcp::buffer::Chunks;
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::Flags;
use bentpipe_gateway::Gateway;
use std::net::SocketAddr;
use std::time::Duration;

/// A gateway that has heard neither host for so long, while another one hears both, is passed by:
/// what it sends in vain by then it gives up in the end.
const PASSED_BY: Duration = Duration::from_secs(17);

/// What was seen of such resets.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// By box.
    resets: [u64; 2],
}

impl Losses {
    /// Checks the gateway at `node`, which has sent `segments`.
    ///
    /// # Errors
    /// What is wrong, if it has reset a connection that misses nothing.
    pub(super) fn check(
        &mut self,
        plan: &FaultPlan,
        world: &World,
        node: NodeId,
        gateway: &Gateway<Chunks>,
        segments: &[Segment],
    ) -> Result<(), String> {
        let resets = gateway.counted().forwarded_resets;
        let before = std::mem::replace(&mut self.resets[node - BOXES[0]], resets);
        if resets == before {
            return Ok(());
        }
        let sent = |segment: &&Segment| segment.node == node && segment.event == SegmentEvent::Sent;
        let of_node = segments.iter().filter(sent);
        for reset in of_node.filter(|segment| segment.flags.contains(Flags::RST)) {
            let Some(call) = plan.calls.iter().find(|call| plan.is_of(call, reset)) else {
                continue;
            };
            if ![0, 1].iter().any(|&end| has_lost(plan, call, world, end)) {
                return Err(format!("node {node}: {reset:?}, of {:?}", call.keys));
            }
        }
        Ok(())
    }

    /// Another box stands in the place of `node`.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.resets[node - BOXES[0]] = 0;
    }
}

/// Whether bytes that were acknowledged to `end` will never come to the other one. True, too, if
/// one of them is over with the connection, so that nobody can be harmed.
fn has_lost(plan: &FaultPlan, call: &Call, world: &World, end: usize) -> bool {
    let [Some(sender), Some(receiver)] = [end, 1 - end].map(|end| call.tcb(world, end)) else {
        return true;
    };
    // A FIN counts as an offset, and is no byte of those that gateways have received.
    let una = sender.sender.snd_una() - Bytes::from(sender.sender.fin_acked());
    let missing = una.saturating_sub(receiver.receiver.expected());
    let [client, server] = [0, 1].map(|end| SocketAddr::from(plan.endpoint(call, end)));
    let legs = BOXES
        .iter()
        .filter_map(|&node| match world.node(node) {
            Node::Gateway(gateway, _) => Some(gateway),
            _ => None,
        })
        .flat_map(|gateway| gateway.flow_views(world.now()))
        .filter(|flow| (flow.client, flow.server) == (client, server))
        .filter_map(|flow| Some((flow.idle, flow.legs?)));
    let mut held = 0;
    for (idle, legs) in legs {
        // Offset 0 is the SYN. A gateway that the hosts' packets have passed by, and that stands in
        // their way again, waits for what its sender has no more.
        if legs[end].received.count() + 1 < una.get() {
            return true;
        }
        if idle < PASSED_BY {
            held += legs[1 - end].backlog.count();
        }
    }
    missing > Bytes::new(held)
}
