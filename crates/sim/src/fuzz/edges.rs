//! Right edges of windows, as they can be seen on the wire (RFC 9293, 3.8.6): acknowledgment plus
//! window, by node and connection.
//!
//! An edge belongs to whoever promised it. So each node is watched for itself: after a route
//! change a host hears of two windows, one of the far host and one of a gateway, and either keeps
//! its own promises; a gateway that begins anew has promised nothing.

mod stamps;

use crate::world::{NodeId, Segment, SegmentEvent};
use bentpipe_core::wire::{Flags, SeqNum};
use stamps::Stamps;
use std::collections::BTreeMap;
use std::mem;
use std::net::IpAddr;

pub(super) type Endpoint = (IpAddr, u16);

/// What a node has promised to the other end of each of its connections.
#[derive(Debug, Default)]
pub(super) struct Edges {
    /// By node, the endpoint in whose name it speaks, and the one to which it does.
    promises: BTreeMap<(NodeId, Endpoint, Endpoint), Promise>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Promise {
    /// The SYN that the node sent, and the shift that it offered in any of its copies, or the
    /// SYN-ACK and that in its last copy.
    ours: Option<(SeqNum, Option<u8>)>,
    /// The SYN that belongs to it, and the shift in any of its copies; of a SYN-ACK, in all copies
    /// until the node acknowledged it.
    theirs: Option<(SeqNum, Option<u8>)>,
    /// The latest SYN that came, likewise. It may be forged, or that of another connection.
    came: Option<(SeqNum, Option<u8>)>,
    /// The shift that a SYN-ACK had offered before a copy of it accepted less. Until the client is
    /// heard nobody knows which one it has taken (fault seed 50554939).
    taken_back: Option<u8>,
    /// What has passed since the route changed may have been dropped by its receiver, so that it
    /// promises nothing (fault seed 138694).
    vague: bool,
    edge: Option<SeqNum>,
    /// The field of its window counts units of so many bytes.
    unit: u32,
    /// The last acknowledgment and the window behind it in bytes.
    last: Option<(SeqNum, u32)>,
    /// The window of the SYN that the node forwarded, in bytes.
    first: u16,
    /// The next sequence number, as far as can be seen.
    next: SeqNum,
    /// What the other end's segments bear.
    stamps: Stamps,
}

/// The state of one end, as the wire tells it to an onlooker.
#[derive(Debug, Clone, Copy)]
pub(super) struct WireState {
    /// The last acknowledgment that it sent.
    pub(super) ack: SeqNum,
    /// The window behind it, in bytes.
    pub(super) window: u32,
    /// The sequence number of its latest segment.
    pub(super) seq: SeqNum,
}

impl Edges {
    /// Takes a segment down.
    ///
    /// # Errors
    /// What is wrong, if a right edge has moved left by as much as the field can express.
    pub(super) fn see(&mut self, segment: &Segment) -> Result<(), String> {
        let Segment { node, flags, seq, .. } = *segment;
        if segment.event != SegmentEvent::Sent {
            if segment.event != SegmentEvent::Received || !flags.contains(Flags::SYN) {
                return Ok(());
            }
            let promise = self.promises.entry((node, segment.dst, segment.src)).or_default();
            let syn = (seq, segment.window_scale);
            match promise.ours {
                // The answer to what was sent.
                Some((isn, _)) if flags.contains(Flags::ACK) && segment.ack == isn + 1 => {
                    let theirs = promise.theirs.get_or_insert(syn);
                    // A copy that accepts less takes the others back until they are acknowledged.
                    if promise.last.is_none() {
                        theirs.1 = theirs.1.and(segment.window_scale);
                    }
                }
                // A SYN-ACK with a window scale answers a copy that offered one (RFC 7323, 1.3).
                // That need not be the first: a gateway may have forgotten that by the time when
                // another one comes to which one nearer to the client has added the option.
                _ => {
                    let before =
                        promise.came.filter(|(isn, _)| *isn == seq).and_then(|came| came.1);
                    promise.came = Some((seq, before.or(segment.window_scale)));
                }
            }
            return Ok(());
        }
        if flags.contains(Flags::RST) {
            return Ok(());
        }
        let promise = self.promises.entry((node, segment.src, segment.dst)).or_default();
        if flags.contains(Flags::SYN) {
            let answers =
                |(isn, _): &(SeqNum, _)| flags.contains(Flags::ACK) && *isn + 1 == segment.ack;
            let answered = promise.came.filter(answers);
            match &mut promise.ours {
                // Of SYNs any copy may be answered. A SYN-ACK that accepts less takes the others
                // back, also where its client has gone on: by that it shows that it has accepted no
                // more (fault seed 40619452).
                Some((isn, scale)) if *isn == seq && flags.contains(Flags::ACK) => {
                    let before = mem::replace(scale, segment.window_scale);
                    if before != segment.window_scale {
                        promise.taken_back = before;
                        // What was promised before was in units that the host has never heard of.
                        promise.edge = None;
                    }
                }
                Some((isn, scale)) if *isn == seq => *scale = scale.or(segment.window_scale),
                _ => {
                    let (ours, came) = (Some((seq, segment.window_scale)), promise.came);
                    *promise = Promise { ours, came, ..Promise::default() };
                }
            }
            // The first copy may have been forwarded, where the SYN has gone another way, or it
            // answered a copy of the SYN that offered less (fault seeds 40376757, 60174400).
            promise.theirs = answered.or(promise.theirs);
        }
        if !flags.contains(Flags::ACK) {
            return Ok(());
        }
        let (Some((_, ours)), Some((_, theirs))) = (promise.ours, promise.theirs) else {
            return Ok(());
        };
        let scaled = !flags.contains(Flags::SYN);
        let shift = ours.zip(theirs).map_or(0, |(ours, _)| ours);
        let window = u32::from(segment.window) << if scaled { shift } else { 0 };
        let edge = segment.ack + u64::from(window);
        promise.unit = 1 << shift;
        // A SYN-ACK that comes again says what it said, and takes nothing back of what an
        // acknowledgment right behind it has promised since, which has room for more.
        let stands = |(last, before): (SeqNum, u32)| last == segment.ack && before > window;
        if !scaled && promise.last.is_some_and(stands) {
            if promise.next == seq {
                // Only SYN-ACKs have promised: a gateway may have given the handshake up, and had
                // less memory when the next copy came (fault seed 122234080).
                (promise.edge, promise.last) = (Some(edge), Some((segment.ack, window)));
            }
            return Ok(());
        }
        promise.last = Some((segment.ack, window));
        promise.next = seq;
        let Some(before) = promise.edge.replace(edge) else { return Ok(()) };
        let left = before.distance_from(edge);
        if mem::take(&mut promise.vague) {
            return Ok(());
        }
        if left > 0 {
            promise.edge = Some(before);
        }
        // RFC 7323, 2.4: as the acknowledgment moves, the field cannot express the same edge.
        let shrinks = |shift: u8| {
            let edge = segment.ack + u64::from(u32::from(segment.window) << shift);
            before.distance_from(edge) >= 1 << shift
        };
        if shrinks(shift) && promise.taken_back.is_none_or(shrinks) {
            return Err(format!(
                "node {node}, {:?} to {:?}: from {before:?} back by {left} bytes to {edge:?}, \
                 units of {} bytes",
                segment.src,
                segment.dst,
                1 << shift
            ));
        }
        Ok(())
    }

    /// What the node has forwarded, it goes on with: its promises are as good as its own. One that
    /// was reordered, and acknowledges less than another, says nothing of the window (RFC 9293,
    /// 3.10.7.4; fault seed 299593).
    pub(super) fn inherit(&mut self, segment: &Segment) {
        let Segment { node, src, dst, flags, seq, .. } = *segment;
        let last = self.promises.get(&(node, src, dst)).and_then(|promise| promise.last);
        if !flags.contains(Flags::SYN)
            && last.is_some_and(|(ack, _)| segment.ack.distance_from(ack) < 0)
        {
            return;
        }
        let was_stamped = self.promises.get(&(node, dst, src)).is_some_and(|it| it.stamps.borne);
        if segment.timestamps.is_some() && !was_stamped && !flags.contains(Flags::SYN) {
            // Its receiver has dropped what came without: another gateway has added them, past
            // which that went (fault seed 116366915).
            self.promises.entry((node, src, dst)).or_default().edge = None;
        }
        let vague = self.promises.get(&(node, src, dst)).is_some_and(|promise| promise.vague);
        self.see(&Segment { event: SegmentEvent::Sent, ..*segment }).ok();
        self.promises.entry((node, src, dst)).or_default().vague = vague;
        self.note_timestamp(segment);
        if !flags.contains(Flags::SYN) {
            return;
        }
        if !flags.contains(Flags::ACK) {
            let promise = self.promises.entry((node, src, dst)).or_default();
            // Any copy may be the one that is answered. A gateway behind us may have allowed less
            // in this one, as it had no room for the connection when another one came (fault seed
            // 92354095).
            if promise.last.is_none() && segment.window < promise.first {
                promise.edge = None;
            }
            promise.first = segment.window;
        } else if let Some(asked) = self.promises.get_mut(&(node, dst, src)) {
            // The SYN's window counts from here, and is not scaled (RFC 7323, 2.2).
            asked.edge.get_or_insert(seq + 1 + u64::from(asked.first));
        }
    }

    /// The receiver keeps the timestamp of what is in order (RFC 7323, 4.3).
    fn note_timestamp(&mut self, segment: &Segment) {
        let Segment { node, src, dst, flags, seq, timestamps, .. } = *segment;
        if timestamps.is_none() && flags.contains(Flags::SYN | Flags::ACK) {
            // What the SYN offered is not accepted.
            self.promises.entry((node, src, dst)).or_default().stamps.refuse(segment.ack);
        }
        let receiver = self.promises.entry((node, dst, src)).or_default();
        // Of a receiver that has not been heard here it may be (fault seed 147295642).
        let in_order = receiver.last.is_none_or(|(ack, _)| seq.distance_from(ack) <= 0);
        receiver.stamps.note(segment, in_order);
    }

    /// Whether the segment's receiver has room for all of it, as far as it has said anything by way
    /// of the node.
    pub(super) fn has_room(&self, segment: &Segment) -> bool {
        let Segment { node, src, dst, seq, len, .. } = *segment;
        let edge = self.promises.get(&(node, dst, src)).and_then(|promise| promise.edge);
        edge.is_none_or(|edge| (seq + len as u64).distance_from(edge) <= 0)
    }

    /// Whether the segment's receiver may take it, as far as it has said anything by way of the
    /// node: it lies within its window and brings something that it has not acknowledged (RFC 9293,
    /// 3.10.7.4), and looks no older than what it has had in order (RFC 7323, 5.3).
    pub(super) fn allow(&self, segment: &Segment) -> bool {
        let Segment { node, src, dst, flags, seq, len, timestamps, .. } = *segment;
        let Some(promise) = self.promises.get(&(node, dst, src)) else { return true };
        // What passed since the route changed may have closed a window that its receiver never
        // closed (fault seed 110678310).
        let within = promise.vague || promise.edge.is_none_or(|edge| seq.distance_from(edge) <= 0);
        let end = seq + len as u64;
        let is_new = promise.last.is_none_or(|(ack, _)| end.distance_from(ack) >= 0);
        flags.contains(Flags::SYN) || (within && is_new && !promise.stamps.make_old(timestamps))
    }

    /// The right edge of the window that `node` offers in the name of `src` to `dst`, and the unit
    /// in bytes to which it is rounded.
    pub(super) fn edge(&self, node: NodeId, src: Endpoint, dst: Endpoint) -> Option<(SeqNum, u32)> {
        let promise = self.promises.get(&(node, src, dst))?;
        Some((promise.edge?, promise.unit))
    }

    /// The right edge that a segment offers which the node passes on.
    pub(super) fn offered(&self, segment: &Segment) -> Option<SeqNum> {
        let promise = self.promises.get(&(segment.node, segment.src, segment.dst))?;
        Some(segment.ack + u64::from(segment.window) * u64::from(promise.unit))
    }

    /// What an onlooker knows of what `node` says in the name of `src` to `dst`.
    pub(super) fn seen(&self, node: NodeId, src: Endpoint, dst: Endpoint) -> Option<WireState> {
        let promise = self.promises.get(&(node, src, dst))?;
        let (ack, window) = promise.last?;
        Some(WireState { ack, window, seq: promise.next })
    }

    /// The node answers for itself from this SYN on.
    pub(super) fn begin(&mut self, syn: &Segment) {
        if let Some(promise) = self.promises.get_mut(&(syn.node, syn.src, syn.dst)) {
            promise.edge = None;
        }
    }

    /// The box at `node` ends, and tells the next one of its connections. That has promised nothing
    /// yet.
    pub(super) fn hand_over(&mut self, node: NodeId) {
        for (_, promise) in self.promises.iter_mut().filter(|((at, _, _), _)| *at == node) {
            (promise.edge, promise.last) = (None, None);
        }
    }

    /// Packets take another path, and some pass a node no more: what hosts have said by way of it
    /// in whose names it does not speak, is not what they say now (fault seed 50546838).
    pub(super) fn lose_sight(&mut self, listens: impl Fn(&(NodeId, Endpoint, Endpoint)) -> bool) {
        for (_, promise) in self.promises.iter_mut().filter(|(name, _)| listens(name)) {
            (promise.edge, promise.last) = (None, None);
            promise.stamps.lose_sight();
            promise.vague = true;
        }
    }

    /// Another box stands in the place of `node`.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.promises.retain(|(at, _, _), _| *at != node);
    }
}

#[cfg(test)]
mod tests;
