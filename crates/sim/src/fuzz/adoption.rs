//! Gateways that split connections in mid-life: when they may, and whose word they go on with.
//!
//! A gateway that has only forwarded a connection begins to speak in its hosts' names where they
//! were: what they have promised, echoed and sent through it counts from then on as if it had done
//! so itself.

use super::edges::Endpoint;
use super::plan::{Call, FaultPlan, Middle};
use super::stage::BOXES;
use crate::world::{NodeId, Segment, SegmentEvent, World};
use bentpipe_core::tcp::buffer::{Buffer, Chunks};
use bentpipe_core::tcp::connection::Connection;
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::Flags;
use bentpipe_gateway::{Gateway, Reason};
use std::collections::BTreeSet;

/// What tells two segments apart.
type Identity = (Endpoint, Endpoint, u32, u32, usize, u16);

/// What was seen of such gateways.
#[derive(Debug)]
pub(super) struct Adoptions {
    /// By box: what must be acknowledged before, if it is one.
    after: [Option<Bytes>; 2],
    /// By box: it splits no connection from its SYN on.
    late: [bool; 2],
    /// What attackers have sent.
    forged: BTreeSet<Identity>,
    /// By box, in whose name it speaks, and to whom.
    spoken: BTreeSet<(NodeId, Endpoint, Endpoint)>,
    /// By box: connections that it has split, and how many of them in mid-life.
    counts: [(u64, u64); 2],
}

impl Adoptions {
    pub(super) fn new(plan: &FaultPlan) -> Adoptions {
        let after = [0, 1].map(|index| match &plan.middle[index] {
            Middle::Router => None,
            // One that was told of a connection waits for any byte.
            Middle::Gateway(config) => {
                config.adopt_after.or(config.soft_state.then_some(Bytes::ONE))
            }
        });
        let late = [0, 1].map(|index| match &plan.middle[index] {
            Middle::Router => false,
            Middle::Gateway(config) => config.adopt_after.is_some(),
        });
        let (forged, spoken) = (BTreeSet::new(), BTreeSet::new());
        Adoptions { after, late, forged, spoken, counts: Default::default() }
    }

    /// Whether a gateway that splits connections in mid-life does not speak in this name, or not
    /// yet.
    pub(super) fn listens(&self, name: &(NodeId, Endpoint, Endpoint)) -> bool {
        self.adopts(name.0) && !self.spoken.contains(name)
    }

    /// Whether a gateway splits connections in mid-life.
    pub(super) fn adopts(&self, node: NodeId) -> bool {
        BOXES.iter().zip(&self.after).any(|(at, after)| *at == node && after.is_some())
    }

    /// Whether a gateway begins to split a connection from its SYN on: what it has forwarded of
    /// that before counts no longer.
    pub(super) fn begins(&self, segment: &Segment) -> bool {
        let Segment { node, event, src, dst, flags, .. } = *segment;
        event == SegmentEvent::Sent
            && flags.contains(Flags::SYN)
            && !self.spoken.contains(&(node, src, dst))
    }

    /// Takes a segment down. Whether a gateway has forwarded it that may go on with what it says.
    pub(super) fn inherits(&mut self, segment: &Segment) -> bool {
        if self.after == [None, None] {
            return false;
        }
        let Segment { node, event, src, dst, flags, seq, ack, len, window, .. } = *segment;
        let identity = (src, dst, seq.0, ack.0, len, window);
        if event == SegmentEvent::Forged {
            self.forged.insert(identity);
        }
        if !self.adopts(node) || flags.contains(Flags::RST) {
            return false;
        }
        if event == SegmentEvent::Sent {
            self.spoken.insert((node, src, dst));
        }
        event == SegmentEvent::Forwarded
            && self.listens(&(node, src, dst))
            && !self.forged.contains(&identity)
    }

    /// Checks the gateway at `node`.
    ///
    /// # Errors
    /// What is wrong, if it has split a connection before that had proved long.
    pub(super) fn check(
        &mut self,
        plan: &FaultPlan,
        world: &World,
        node: NodeId,
        gateway: &Gateway<Chunks>,
    ) -> Result<(), String> {
        let index = node - BOXES[0];
        let Some(after) = self.after[index] else { return Ok(()) };
        let summary = gateway.counted();
        let counts = (summary.split, summary.adopted);
        let before = std::mem::replace(&mut self.counts[index], counts);
        if counts.1 != before.1 {
            // What hosts say through it from now on is theirs alone, though it may not have spoken
            // yet (fault seed 40585869).
            for view in gateway.flow_views(world.now()) {
                let [client, server] = [view.client, view.server].map(|end| (end.ip(), end.port()));
                self.spoken.extend([(node, client, server), (node, server, client)]);
            }
        }
        if counts.1 == before.1 && (counts == before || !self.late[index]) {
            return Ok(());
        }
        if self.late[index] && summary.split != summary.adopted {
            return Err(format!("node {node} has split a connection from its SYN on"));
        }
        if summary.forwarded_packets(Reason::Short) == 0 {
            return Err(format!("node {node} has forwarded nothing"));
        }
        let long = |call| sent(call, world).is_none_or(|bytes| bytes >= after);
        // A SYN of a flood opens a connection like any other (fault seed 135858998).
        let unplanned = |host| world.host(host).connections().any(|one| sent_by(one) >= after);
        if !plan.calls.iter().any(long) && ![0, 1].into_iter().any(unplanned) {
            return Err(format!("node {node}: no connection has carried {after:?}"));
        }
        Ok(())
    }

    /// Another box stands in the place of `node`.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.spoken.retain(|(at, _, _)| *at != node);
        self.counts[node - BOXES[0]] = (0, 0);
    }
}

/// What both ends of a connection have sent, in bytes, of which a gateway may have acknowledged all
/// in the other's name; None if one of them is gone.
fn sent(call: &Call, world: &World) -> Option<Bytes> {
    let sent = |end: usize| {
        let connection = world.host(call.host(end)).connection(&call.keys[end])?;
        connection.last_tcb().map(|_| sent_by(connection))
    };
    // One that has not begun has sent nothing.
    if call.reports(world).iter().any(Option::is_none) {
        return Some(Bytes::ZERO);
    }
    Some(sent(0)? + sent(1)?)
}

/// What one end of a connection has sent, in bytes.
fn sent_by<B: Buffer>(connection: &Connection<B>) -> Bytes {
    let sent = connection.last_tcb().map_or(0, |tcb| tcb.sender.snd_nxt().get());
    Bytes::new(sent.saturating_sub(1))
}
