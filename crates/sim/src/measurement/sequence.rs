//! Every segment that a flow's sources send, and every acknowledgment that they get: what a
//! time-sequence graph (Shepard 1991) shows.

use super::output::Output;
use super::{FlowMeters, Role};
use crate::host::{SessionKey, Slot};
use crate::stream::Stream;
use crate::world::{Endpoint, NodeId, SequenceEvent, World};
use bentpipe_core::units::Offset;
use bentpipe_core::wire::SeqNum;
use bentpipe_results::Sample;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Takes down segments and acknowledgments as samples `segment` (the offset of its first byte; the
/// stream's first byte has offset 1), `segment-end` (one past its last), `ack` (the next byte
/// expected) and `dropped` (the offset of a segment that a queue has dropped as it came).
#[derive(Debug)]
pub(crate) struct SequenceLog {
    /// By flow: its name, if it is to be recorded.
    flows: Vec<Option<Arc<str>>>,
    connections: BTreeMap<(NodeId, SessionKey), Known>,
    output: Output,
}

/// What is known of a connection at one host.
#[derive(Debug, Clone)]
struct Known {
    slot: Slot,
    /// None: it is no source of a recorded flow.
    name: Option<Arc<str>>,
    isn: SeqNum,
    /// Offsets are near this one.
    near: u64,
}

impl SequenceLog {
    pub(super) fn new(flows: Vec<Option<Arc<str>>>, output: Output) -> SequenceLog {
        SequenceLog { flows, connections: BTreeMap::new(), output }
    }

    /// Sorts out what has passed the hosts. To be called before a connection could be over and
    /// another one have its name.
    pub(crate) fn record(&mut self, world: &mut World<Stream>, meters: &FlowMeters) {
        for passed in world.passed() {
            let place = (passed.host, passed.key);
            let slot = world.host(passed.host).slot(&passed.key);
            let opened = match passed.event {
                SequenceEvent::Opened(isn) => Some(isn),
                // A prearranged connection has no SYN, and begins at zero.
                _ if !self.connections.contains_key(&place) => Some(SeqNum(0)),
                _ => None,
            };
            if let (Some(isn), Some(slot)) = (opened, slot) {
                let flow = meters.whose(Endpoint { host: passed.host, slot });
                let flow = flow.filter(|(_, role)| *role == Role::Source);
                let name = flow.and_then(|(flow, _)| self.flows.get(flow.0)?.clone());
                self.connections.insert(place, Known { slot, name, isn, near: 0 });
            }
            let Some(known) = self.connections.get_mut(&place) else { continue };
            let Some(name) = &known.name else { continue };
            if slot.is_some_and(|slot| slot != known.slot) {
                continue;
            }
            let (number, quantity, len) = match passed.event {
                SequenceEvent::Opened(_) => continue,
                SequenceEvent::Sent(seq, len) => (seq, "segment", Some(len)),
                SequenceEvent::Acknowledged(ack) => (ack, "ack", None),
                SequenceEvent::Dropped(seq) => (seq, "dropped", None),
            };
            let Some(offset) =
                number.offset_near(known.isn, Offset::new(known.near)).map(Offset::get)
            else {
                continue;
            };
            known.near = offset;
            let add = |quantity, value: u64| {
                let (at, element) = (passed.at, name.clone());
                self.output.happened(Sample { at, element, quantity, value: value as f64 });
            };
            add(quantity, offset);
            if let Some(len) = len {
                add("segment-end", offset + u64::from(len));
            }
        }
    }
}
