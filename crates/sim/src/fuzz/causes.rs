//! Checks of each segment's cause: old data needs one of retransmissions or probes, new data none
//! of retransmissions.

use super::edges::Endpoint;
use crate::world::{NodeId, Segment, SegmentEvent};
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::wire::{Flags, SeqNum};
use std::collections::{BTreeMap, BTreeSet};

/// How far each node has sent, by the endpoint in whose name it speaks and the one to which it
/// does.
#[derive(Debug, Default)]
pub(super) struct Causes {
    ends: BTreeMap<(NodeId, Endpoint, Endpoint), SeqNum>,
    /// How far they have forwarded what its receiver had no room for, as far as an onlooker knows.
    doubtful: BTreeMap<(NodeId, Endpoint, Endpoint), SeqNum>,
    /// The numbers of the SYNs, by the same names, and what SYN-ACKs have acknowledged: a host that
    /// listens on may answer two SYNs by the same number (fault seed 50360948).
    isns: BTreeMap<(NodeId, Endpoint, Endpoint), (SeqNum, SeqNum)>,
    /// Nodes that were told of connections, or have missed a part of them: what had passed before
    /// they knew where the hosts are, they do not know.
    told: BTreeSet<NodeId>,
}

impl Causes {
    /// Takes a segment down.
    ///
    /// # Errors
    /// What is wrong with its cause.
    pub(super) fn see(&mut self, segment: &Segment) -> Result<(), String> {
        let Segment { node, src, dst, seq, ack, len, flags, cause, .. } = *segment;
        if segment.event != SegmentEvent::Sent {
            return Ok(());
        }
        let name = (node, src, dst);
        if flags.contains(Flags::SYN) && self.isns.insert(name, (seq, ack)) != Some((seq, ack)) {
            self.ends.remove(&name);
        }
        let Some(cause) = cause else { return Err(format!("{segment:?} has no cause")) };
        if len == 0 || flags.contains(Flags::SYN) {
            return Ok(());
        }
        let end = seq + len as u64;
        let before = self.ends.get(&name).copied();
        let again = before.is_some_and(|before| end.distance_from(before) <= 0);
        let behind = |ends: &BTreeMap<_, SeqNum>| {
            ends.get(&name).is_none_or(|end| seq.distance_from(*end) >= 0)
        };
        let new = before.is_some() && behind(&self.ends) && behind(&self.doubtful);
        if !again {
            self.ends.insert(name, end);
        }
        let either = matches!(
            cause,
            Cause::TailLossProbe
                | Cause::ProbeTimeout
                | Cause::WindowProbe
                | Cause::KeepAlive
                | Cause::Blind
        );
        let retransmits = cause.is_retransmission();
        let again = again && !self.told.contains(&node);
        let fits = either || (!again || retransmits) && (!new || !retransmits);
        let of_data = cause >= Cause::AckClock && cause <= Cause::Blind;
        if fits && of_data {
            return Ok(());
        }
        Err(format!(
            "node {node}, {src:?} to {dst:?}: {seq:?} with {len} bytes, again: {again}, by {cause}"
        ))
    }

    /// What the node has forwarded, it may retransmit.
    pub(super) fn inherit(&mut self, segment: &Segment) {
        let Segment { node, src, dst, seq, len, flags, .. } = *segment;
        let (name, end) = ((node, src, dst), seq + len as u64);
        if flags.contains(Flags::SYN) {
            self.ends.remove(&name);
        } else if len > 0 && self.ends.get(&name).is_none_or(|at| end.distance_from(*at) > 0) {
            self.ends.insert(name, end);
        }
    }

    /// What the node has forwarded though its receiver had no room for it: the gateway may know of
    /// more room (fault seed 146975388).
    pub(super) fn doubt(&mut self, segment: &Segment) {
        let Segment { node, src, dst, seq, len, .. } = *segment;
        let end = seq + len as u64;
        let furthest = self.doubtful.entry((node, src, dst)).or_insert(end);
        if end.distance_from(*furthest) > 0 {
            *furthest = end;
        }
    }

    /// The box at `node` ends, and tells the next one of its connections.
    pub(super) fn hand_over(&mut self, node: NodeId) {
        self.forget(node);
        self.told.insert(node);
    }

    /// Packets take another path: what passes the node is not all, and its receivers may have no
    /// use for it.
    pub(super) fn lose_sight(&mut self, node: NodeId) {
        self.told.insert(node);
    }

    /// Another box stands in the place of `node`.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.ends.retain(|(at, _, _), _| *at != node);
        self.doubtful.retain(|(at, _, _), _| *at != node);
        self.isns.retain(|(at, _, _), _| *at != node);
        self.told.remove(&node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn segment(seq: u32, cause: Option<Cause>) -> Segment {
        let ends = [1, 2].map(|host| (Ipv4Addr::new(10, 0, 0, host).into(), 80));
        let (flags, seq) = (Flags::ACK, SeqNum(seq));
        Segment { event: SegmentEvent::Sent, flags, seq, len: 100, cause, ..Segment::syn(0, ends) }
    }

    #[test]
    fn what_is_sent_again_has_a_cause_of_that() {
        let mut causes = Causes::default();
        assert!(causes.see(&segment(500, Some(Cause::Written))).is_ok());
        assert!(causes.see(&segment(600, Some(Cause::AckClock))).is_ok());
        assert!(causes.see(&segment(500, Some(Cause::AckClock))).is_err(), "it was sent");
        assert!(causes.see(&segment(500, Some(Cause::Rack))).is_ok());
        assert!(causes.see(&segment(700, Some(Cause::Timeout))).is_err(), "it was not");
        assert!(causes.see(&segment(800, Some(Cause::Segments))).is_err(), "of acknowledgments");
        assert!(causes.see(&segment(900, None)).is_err());
    }
}
