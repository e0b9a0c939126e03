//! Timestamps as they can be seen on the wire (RFC 7323): whose are echoed, and how old they look.
//!
//! What comes out of order is not echoed, or a sender would take the age of what filled the hole
//! for a round trip. And a receiver drops what looks older than what it has had in order, data and
//! all, so what a gateway sends in a host's name follows that host's own clock.

use super::edges::Endpoint;
use super::violation::Invariant;
use crate::world::{NodeId, Segment, SegmentEvent};
use bentpipe_core::wire::{Flags, SeqNum, Timestamps};
use std::collections::{BTreeMap, BTreeSet};

/// A gateway that holds something long after its hosts have gone on on another path need not know
/// their clocks. So far from what it has acknowledged itself, in bytes, it does not take them for
/// its hosts.
const NEAR: u32 = 1 << 15;

/// Nor does it take them for its hosts where they acknowledge so much more than it has done: it
/// need not follow them. Whoever hears both drops what the gateway sends, whatever its timestamps,
/// as an acknowledgment that is older than a window (RFC 5961, 5). A gateway takes that much for
/// near in any case. Where they acknowledge so much less, that is what they say themselves that is
/// dropped, before its timestamp is taken (fault seed 136439448).
const AHEAD: u32 = 1 << 16;

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
    /// The node itself has acknowledged more than a SYN.
    answers: bool,
    /// Those in segments that came in order, SYNs among them.
    in_order: BTreeSet<u32>,
}

impl Clocks {
    /// Takes a segment down.
    ///
    /// # Errors
    /// What is wrong with its timestamps.
    pub(super) fn see(&mut self, segment: &Segment) -> Result<(), (Invariant, String)> {
        match segment.event {
            SegmentEvent::Received | SegmentEvent::Forged => self.came(segment),
            SegmentEvent::Forwarded => self.passed(segment),
            SegmentEvent::Sent => return self.sent(segment),
        }
        Ok(())
    }

    /// What the node has forwarded it goes on with, as if it had said so itself; but not with the
    /// timestamp of what its receiver has not taken in order, which does not count for that (RFC
    /// 7323, 4.3; fault seed 40128101), nor of what that has had before: it is not acceptable (5.3;
    /// fault seed 80072420).
    pub(super) fn inherit(&mut self, segment: &Segment) {
        let Segment { node, src, dst, flags, seq, ack, len, .. } = *segment;
        let taken = self.heard.get(&(node, src, dst)).and_then(|heard| heard.last_ack_sent);
        let in_order = taken.is_some_and(|taken| {
            let end = seq + len as u64;
            seq == taken || seq.distance_from(taken) < 0 && end.distance_from(taken) > 0
        });
        let heard = self.heard.entry((node, dst, src)).or_default();
        if flags.contains(Flags::ACK)
            && heard.last_ack_sent.is_none_or(|told| ack.distance_from(told) > 0)
        {
            heard.last_ack_sent = Some(ack);
        }
        let Some(Timestamps { value, .. }) = segment.timestamps else { return };
        if !in_order && !flags.contains(Flags::SYN) {
            return;
        }
        // As its receiver may keep it, so may the gateway, which cannot know whether that has had
        // it (fault seed 50546838).
        self.heard.entry((node, src, dst)).or_default().in_order.insert(value);
        let latest = self.latest.entry((node, src, dst)).or_insert(value);
        if flags.contains(Flags::SYN) || is_older(*latest, value) {
            *latest = value;
        }
    }

    /// Takes down the echo of a segment that the node has forwarded.
    ///
    /// Its sender has had that in order (RFC 7323, 4.3).
    pub(super) fn inherit_echo(&mut self, segment: &Segment) {
        let Segment { node, src, dst, .. } = *segment;
        if let Some(Timestamps { echo, .. }) = segment.timestamps {
            self.heard.entry((node, dst, src)).or_default().in_order.insert(echo);
        }
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
        let Segment { node, src, dst, seq, ack, .. } = *segment;
        let Some(Timestamps { value, .. }) = segment.timestamps else { return };
        let told = |from, to| self.heard.get(&(node, from, to))?.last_ack_sent;
        // Before it has answered, the receiver's own word counts: what is out of order has no
        // timestamp that does (RFC 7323, 4.3; fault seed 50662110).
        let reach = match self.heard.get(&(node, src, dst)) {
            Some(heard) if heard.answers => NEAR as i32,
            _ => 0,
        };
        let near = -(NEAR as i32)..=reach;
        if told(src, dst).is_none_or(|told| !near.contains(&seq.distance_from(told)))
            || told(dst, src).is_some_and(|told| ack.distance_from(told).unsigned_abs() > AHEAD)
        {
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
            heard.answers |= !flags.contains(Flags::SYN);
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
pub(super) fn is_older(value: u32, other: u32) -> bool {
    (value.wrapping_sub(other) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// A gateway stands for the server, and has acknowledged 100 bytes. A newer segment of the
    /// server's, which acknowledges `ahead` more (or less), passes; then the gateway says once more
    /// what it has said.
    fn older_behind(ahead: i32) -> Result<(), (Invariant, String)> {
        let [client, server] = [1, 2].map(|host| (Ipv4Addr::new(10, 0, 0, host).into(), 80));
        let stamped = |value, echo| Some(Timestamps { value, echo });
        let from_client =
            Segment { timestamps: stamped(7, 0), ..Segment::syn(2, [client, server]) };
        let (flags, ack) = (Flags::ACK, SeqNum(201));
        let repeated = Segment {
            event: SegmentEvent::Sent,
            src: server,
            dst: client,
            flags,
            seq: SeqNum(501),
            ack,
            timestamps: stamped(50, 7),
            ..from_client
        };
        // As a host that it hears has sent it to another one.
        let newer = Segment {
            ack: SeqNum(ack.0.wrapping_add_signed(ahead)),
            timestamps: stamped(60, 7),
            ..repeated
        };
        let to_server = Segment {
            event: SegmentEvent::Sent,
            flags,
            seq: SeqNum(101),
            ack: SeqNum(501),
            timestamps: None,
            ..from_client
        };
        let mut clocks = Clocks::default();
        clocks.see(&from_client)?;
        clocks.see(&repeated)?;
        clocks.see(&to_server)?;
        clocks.see(&Segment { node: 1, ..newer }).ok();
        clocks.see(&Segment { event: SegmentEvent::Forwarded, ..newer })?;
        clocks.see(&repeated)
    }

    /// Fault seed 1238755: what the gateway held was no use any more to a host that had gone on for
    /// so long.
    #[test]
    fn what_is_dropped_for_its_acknowledgment_may_look_old() {
        for ahead in [0, 1_000, 1 << 16, -1_000, -(1 << 16)] {
            assert!(older_behind(ahead).is_err(), "{ahead}");
        }
        for ahead in [(1 << 16) + 1, -(1 << 16) - 1] {
            assert_eq!(older_behind(ahead).map_err(|(_, detail)| detail), Ok(()), "{ahead}");
        }
    }

    /// Fault seed 40128101: a probe of the client's passes on its way to a server whose window it
    /// lies beyond. What the gateway says when it has taken the connection over may have a
    /// timestamp of before.
    #[test]
    fn what_a_host_does_not_take_has_no_timestamp_that_counts() {
        let [client, server] = [1, 2].map(|host| (Ipv4Addr::new(10, 0, 0, host).into(), 80));
        let stamped = |value| Some(Timestamps { value, echo: 7 });
        let passes = |[src, dst]: [Endpoint; 2], seq, ack, value| Segment {
            event: SegmentEvent::Forwarded,
            src,
            dst,
            flags: Flags::ACK,
            seq: SeqNum(seq),
            ack: SeqNum(ack),
            timestamps: stamped(value),
            ..Segment::syn(2, [client, server])
        };
        for (seq, len, counts) in
            [(101, 0, true), (102, 0, false), (51, 50, false), (51, 51, true), (100, 0, false)]
        {
            let mut clocks = Clocks::default();
            clocks.inherit(&passes([server, client], 501, 101, 7));
            let passing = Segment { len, ..passes([client, server], seq, 501, 60) };
            clocks.inherit(&passing);
            clocks.inherit_echo(&passing);
            let said =
                Segment { event: SegmentEvent::Sent, ..passes([client, server], 101, 501, 50) };
            assert_eq!(clocks.see(&said).is_err(), counts, "{seq} {len}");
        }
    }

    /// Fault seed 159036914: the server's segment lies beyond the client's window. What it echoes
    /// has come in order all the same, and a gateway that takes the connection over says so once
    /// more.
    #[test]
    fn what_a_host_echoes_has_come_in_order_though_its_peer_drops_it() {
        let [client, server] = [1, 2].map(|host| (Ipv4Addr::new(10, 0, 0, host).into(), 80));
        let said = |event, value, echo| Segment {
            event,
            src: server,
            dst: client,
            flags: Flags::ACK,
            seq: SeqNum(501),
            ack: SeqNum(101),
            timestamps: Some(Timestamps { value, echo }),
            ..Segment::syn(2, [client, server])
        };
        for (echo, sound) in [(60, true), (50, false)] {
            let mut clocks = Clocks::default();
            clocks.inherit_echo(&said(SegmentEvent::Forwarded, 7, 60));
            assert_eq!(clocks.see(&said(SegmentEvent::Sent, 8, echo)).is_ok(), sound, "{echo}");
        }
    }
}
