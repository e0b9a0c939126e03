//! Timestamps as they can be seen on the wire (RFC 7323): whose are echoed, and how old they look.
//!
//! What comes out of order is not echoed, or a sender would take the age of what filled the hole
//! for a round trip. And a receiver drops what looks older than what it has had in order, data and
//! all, so what a gateway sends in a host's name follows that host's own clock.

use super::edges::Endpoint;
use super::violation::Invariant;
use crate::world::{How, NodeId, Segment};
use bentpipe_core::wire::{Flags, SeqNum, Timestamps};
use std::collections::{BTreeMap, BTreeSet};

/// A gateway that holds something long after its hosts have gone on by another way need not know their
/// clocks. So far from what it has acknowledged itself, in bytes, it does not take them for its hosts.
const NEAR: u32 = 1 << 15;

/// The timestamps that nodes have sent, heard and passed on.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// By node and by the ends of what comes to it, its sender's first.
    heard: BTreeMap<(NodeId, Endpoint, Endpoint), Heard>,
    /// By ends: all that any node has sent. Attackers guess others.
    sent: BTreeMap<(Endpoint, Endpoint), BTreeSet<u32>>,
    /// By node and ends: the latest of those that it has sent or forwarded.
    latest: BTreeMap<(NodeId, Endpoint, Endpoint), u32>,
}

/// What one node has heard from an endpoint.
#[derive(Debug, Default)]
struct Heard {
    /// Last.ACK.sent.
    last_ack_sent: Option<SeqNum>,
    /// Those in segments that came in order, SYNs among them.
    in_order: BTreeSet<u32>,
}

impl Clocks {
    /// Takes a segment down.
    ///
    /// # Errors
    /// What is wrong with its timestamps.
    pub(super) fn see(&mut self, segment: &Segment) -> Result<(), (Invariant, String)> {
        match segment.how {
            How::Came | How::Forged => self.came(segment),
            How::Passed => self.passed(segment),
            How::Sent => return self.sent(segment),
        }
        Ok(())
    }

    /// Another box stands in the place of `node`.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.heard.retain(|(at, _, _), _| *at != node);
        self.latest.retain(|(at, _, _), _| *at != node);
    }

    fn came(&mut self, segment: &Segment) {
        let Segment { node, src, dst, seq, .. } = *segment;
        let is_syn = segment.flags.contains(Flags::SYN);
        let Some(Timestamps { value, .. }) = segment.timestamps else { return };
        let heard = self.heard.entry((node, src, dst)).or_default();
        if is_syn {
            heard.last_ack_sent.get_or_insert(seq + 1);
        }
        // One further, behind a FIN whose acknowledgment is withheld.
        let in_order = heard.last_ack_sent.is_some_and(|ack| seq.distance_from(ack) <= 1);
        if is_syn || in_order {
            heard.in_order.insert(value);
        }
    }

    fn passed(&mut self, segment: &Segment) {
        let Segment { node, src, dst, seq, .. } = *segment;
        let Some(Timestamps { value, .. }) = segment.timestamps else { return };
        let told = self.heard.get(&(node, src, dst)).and_then(|heard| heard.last_ack_sent);
        if told.is_none_or(|told| seq.distance_from(told).unsigned_abs() > NEAR) {
            return;
        }
        // What is forwarded before a flow is split, its receiver does not take.
        if let Some(latest) = self.latest.get_mut(&(node, src, dst))
            && is_older(*latest, value)
            && self.sent.get(&(src, dst)).is_some_and(|sent| sent.contains(&value))
        {
            *latest = value;
        }
    }

    fn sent(&mut self, segment: &Segment) -> Result<(), (Invariant, String)> {
        let Segment { node, src, dst, flags, .. } = *segment;
        if flags.contains(Flags::RST) {
            return Ok(());
        }
        let context = || format!("node {node}, {src:?} to {dst:?}, {:?}", segment.seq);
        let heard = self.heard.entry((node, dst, src)).or_default();
        if flags.contains(Flags::ACK) {
            heard.last_ack_sent = Some(segment.ack);
        }
        let Some(Timestamps { value, echo }) = segment.timestamps else { return Ok(()) };
        self.sent.entry((src, dst)).or_default().insert(value);
        if flags.contains(Flags::SYN) {
            self.latest.remove(&(node, src, dst));
            return Ok(());
        }
        if flags.contains(Flags::ACK) && !heard.in_order.contains(&echo) {
            let detail = format!("{}: echoes {echo}, which came out of order", context());
            return Err((Invariant::EchoInOrder, detail));
        }
        let latest = self.latest.entry((node, src, dst)).or_insert(value);
        if is_older(value, *latest) {
            let detail = format!("{}: says {value} behind {latest}", context());
            return Err((Invariant::TimestampOrder, detail));
        }
        *latest = value;
        Ok(())
    }
}

/// Whether `value` is before `other`, in numbers that wrap.
fn is_older(value: u32, other: u32) -> bool {
    (value.wrapping_sub(other) as i32) < 0
}
