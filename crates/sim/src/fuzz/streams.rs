//! What a gateway takes upon itself for its flows, as it can be seen on the wire: it promises no
//! more than a stream may hold, and does not forget a flow before all that it has acknowledged has
//! been delivered.

use super::edges::{Edges, Endpoint};
use super::plan::{FaultPlan, Meddler, Middle};
use super::stage::BOXES;
use super::violation::Invariant;
use crate::world::{NodeId, Segment, SegmentEvent};
use bentpipe_core::tcp::buffer::Chunks;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Flags, SeqNum};
use bentpipe_gateway::{Config, FlowView, Gateway};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

/// No number within a stream is as far from another one: plans have short streams.
const FAR: i32 = 1 << 24;

/// The streams of the boxes.
#[derive(Debug)]
pub(super) struct Streams {
    /// By box, and by the ends of the stream: from whom it comes and to whom it goes.
    streams: BTreeMap<(NodeId, Endpoint, Endpoint), Stream>,
    /// By box: the most that one of its streams may hold.
    limits: [u64; 2],
    /// By box: another one has told it of its connections.
    told: [bool; 2],
    tables: [Table; 2],
}

#[derive(Debug, Default, Clone, Copy)]
struct Stream {
    /// The number of its first byte.
    start: Option<SeqNum>,
    /// What the SYN or SYN-ACK has promised to its sender, in bytes.
    first_window: u16,
    /// What the box has acknowledged to its sender.
    told: Option<SeqNum>,
    /// What its receiver has acknowledged to the box.
    heard: Option<SeqNum>,
    /// One past what its receiver itself has promised, before the box took the connection over.
    inherited: Option<SeqNum>,
    /// Its sender has gone beyond all that the box has promised, so somebody else has promised
    /// more.
    beyond: bool,
    /// The box has reset the connection.
    reset: bool,
}

/// The flows of a box.
#[derive(Debug, Default)]
struct Table {
    /// How many there were, how many of them half-open and how many over; and how many had been
    /// released.
    counts: ([usize; 3], u64),
    /// Clients and servers.
    flows: BTreeSet<(Endpoint, Endpoint)>,
}

impl Streams {
    pub(super) fn new(plan: &FaultPlan) -> Streams {
        // Who is told of a gateway answers that it is one, and a liar tells of one as well (fault
        // seed 500062083).
        let announces = |middle: &Middle| matches!(middle, Middle::Gateway(it) if it.announce);
        let lies =
            |meddler: &Meddler| matches!(meddler, Meddler::Lies { lies, .. } if lies.announces);
        let announced = plan.middle.iter().any(announces)
            || plan.meddlers.iter().any(|(_, meddler)| lies(meddler));
        // What was sent to a host that is not heard does not count if a peer gateway holds more.
        let times = if announced { 2 } else { 1 };
        let share = |config: &Config| {
            let chunk = Chunks::SIZE as u64;
            let guaranteed = config.guaranteed.count().next_multiple_of(chunk) + chunk;
            (config.memory.count() / 4).max(guaranteed)
        };
        // After a reload streams keep their limits, and have their shares of another pool.
        let limits = [0, 1].map(|index| {
            let [largest, share] = [Config::largest_stream, share]
                .map(|of: fn(&Config) -> u64| plan.configs(index).map(of).max().unwrap_or(0));
            (times * largest).min(share)
        });
        Streams { streams: BTreeMap::new(), limits, told: [false; 2], tables: Default::default() }
    }

    /// Takes a segment down that `edges` has seen.
    ///
    /// # Errors
    /// What is wrong, if it promises too much.
    pub(super) fn see(&mut self, segment: &Segment, edges: &Edges) -> Result<(), String> {
        let Segment { node, src, dst, flags, seq, ack, .. } = *segment;
        let Some(index) = BOXES.iter().position(|at| *at == node) else { return Ok(()) };
        if segment.event == SegmentEvent::Sent {
            return self.sent(segment, edges, self.limits[index]);
        }
        if flags.contains(Flags::RST) || segment.event == SegmentEvent::Forwarded {
            return Ok(());
        }
        if flags.contains(Flags::ACK)
            && let Some(stream) = self.streams.get_mut(&(node, dst, src))
            && stream.holds(ack)
        {
            later(&mut stream.heard, ack);
        }
        if let Some(stream) = self.streams.get_mut(&(node, src, dst))
            && let Some((edge, _)) = edges.edge(node, dst, src)
        {
            stream.beyond |= (1..FAR).contains(&seq.distance_from(edge));
        }
        Ok(())
    }

    /// Takes down what the box has forwarded: it goes on with its hosts' numbers and promises.
    pub(super) fn inherit(&mut self, segment: &Segment, edges: &Edges) {
        let Segment { node, src, dst, flags, .. } = *segment;
        if flags.contains(Flags::SYN) {
            self.sent(&Segment { event: SegmentEvent::Sent, ..*segment }, edges, 0).ok();
        }
        // A segment that was overtaken promises what it says all the same (fault seed 40558450).
        let edges = [edges.edge(node, src, dst).map(|(edge, _)| edge), edges.offered(segment)];
        for edge in edges.into_iter().flatten() {
            later(&mut self.streams.entry((node, dst, src)).or_default().inherited, edge);
        }
    }

    /// Whoever was told of a connection takes what was offered before it knew where the hosts are,
    /// whoever has said so.
    pub(super) fn overhear(&mut self, segment: &Segment, edges: &Edges) {
        let Segment { node, src, dst, .. } = *segment;
        let told = BOXES.iter().position(|at| *at == node).is_some_and(|index| self.told[index]);
        if let Some(offered) = edges.offered(segment).filter(|_| told) {
            later(&mut self.streams.entry((node, dst, src)).or_default().inherited, offered);
        }
    }

    fn sent(&mut self, segment: &Segment, edges: &Edges, limit: u64) -> Result<(), String> {
        let Segment { node, src, dst, flags, seq, ack, .. } = *segment;
        if flags.contains(Flags::RST) {
            for ends in [(node, src, dst), (node, dst, src)] {
                self.streams.entry(ends).or_default().reset = true;
            }
            return Ok(());
        }
        if flags.contains(Flags::SYN) {
            let onwards = self.streams.entry((node, src, dst)).or_default();
            if onwards.start != Some(seq + 1) {
                // What was promised to its sender stays, if that was the answer to this.
                let first_window =
                    if flags.contains(Flags::ACK) { onwards.first_window } else { 0 };
                *onwards = Stream { start: Some(seq + 1), first_window, ..Stream::default() };
            }
            let back = self.streams.entry((node, dst, src)).or_default();
            back.first_window = back.first_window.max(segment.window);
            return Ok(());
        }
        let Some(stream) = self.streams.get_mut(&(node, dst, src)) else { return Ok(()) };
        let (Some(start), true) = (stream.start, flags.contains(Flags::ACK)) else { return Ok(()) };
        later(&mut stream.told, ack);
        let Some((edge, unit)) = edges.edge(node, src, dst) else { return Ok(()) };
        let delivered = stream.heard.unwrap_or(start);
        let first = start + u64::from(stream.first_window);
        // The field of the window is rounded up. Of a window of zero the acknowledgment of a FIN
        // may lie one further, which takes no room.
        let max = i64::from(unit) - 1 + i64::from(segment.window == 0);
        let beyond = |edge: SeqNum, limit: SeqNum| i64::from(edge.distance_from(limit)) > max;
        let inherited = stream.inherited.is_some_and(|inherited| !beyond(edge, inherited));
        if beyond(edge, delivered + limit) && beyond(edge, first) && !inherited {
            return Err(format!(
                "node {node}, {src:?} to {dst:?}: a window up to {edge:?}, where {delivered:?} is \
                 delivered and a stream holds {limit} bytes, units of {unit}"
            ));
        }
        Ok(())
    }

    /// Checks a gateway that something has happened to.
    ///
    /// # Errors
    /// What is wrong, if it has handed a flow back too early.
    pub(super) fn check(
        &mut self,
        now: Instant,
        node: NodeId,
        gateway: &Gateway,
    ) -> Result<(), (Invariant, String)> {
        let table = &mut self.tables[node - BOXES[0]];
        let released = gateway.counted().all_released();
        let begun = [gateway.flows(), gateway.half_open(), gateway.over()];
        let counts = (begun, released);
        if counts == table.counts {
            return Ok(());
        }
        let ends = |view: FlowView| {
            let [client, server] = [view.client, view.server];
            ((client.ip(), client.port()), (server.ip(), server.port()))
        };
        let flows = gateway.flow_views(now).map(ends).collect();
        let before = mem::replace(&mut table.flows, flows);
        if mem::replace(&mut table.counts, counts).1 == released {
            return Ok(());
        }
        for &(client, server) in before.difference(&table.flows) {
            for (from, to) in [(client, server), (server, client)] {
                let stream = self.streams.get(&(node, from, to)).copied().unwrap_or_default();
                if stream.is_owed() {
                    let detail = format!("node {node}, {from:?} to {to:?}: {stream:?}");
                    return Err((Invariant::DeliveredFirst, detail));
                }
            }
        }
        Ok(())
    }

    /// The box at `node` ends, and tells the next one of its connections. That has acknowledged
    /// nothing yet.
    pub(super) fn hand_over(&mut self, node: NodeId) {
        for (_, stream) in self.streams.iter_mut().filter(|((at, _, _), _)| *at == node) {
            let Stream { start, heard, .. } = *stream;
            *stream = Stream { start, heard, ..Stream::default() };
        }
        self.told[node - BOXES[0]] = true;
        self.tables[node - BOXES[0]] = Table::default();
    }

    /// Another box stands in the place of `node`.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.streams.retain(|(at, _, _), _| *at != node);
        self.told[node - BOXES[0]] = false;
        self.tables[node - BOXES[0]] = Table::default();
    }
}

impl Stream {
    /// Whether a number may be one of the stream's.
    fn holds(&self, seq: SeqNum) -> bool {
        self.start.is_some_and(|start| (0..FAR).contains(&seq.distance_from(start)))
    }

    /// Whether its receiver may miss something of what was acknowledged to its sender.
    fn is_owed(&self) -> bool {
        let (Some(start), Some(told)) = (self.start, self.told) else { return false };
        let missing = told.distance_from(self.heard.unwrap_or(start)) > 0;
        missing && !self.beyond && !self.reset
    }
}

/// Moves `to` forward to `seq`.
fn later(to: &mut Option<SeqNum>, seq: SeqNum) {
    if to.is_none_or(|to| seq.distance_from(to) > 0) {
        *to = Some(seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// Fault seed 2549103: all that a SYN's window has promised is held, and a FIN comes behind it.
    #[test]
    fn a_fin_behind_a_full_window_takes_no_room() {
        let [client, server] = [1, 2].map(|host| (Ipv4Addr::new(10, 0, 0, host).into(), 80));
        let syn = Segment::syn(BOXES[0], [client, server]);
        let syn = Segment { event: SegmentEvent::Sent, window: 60_000, ..syn };
        let (flags, seq, ack) = (Flags::SYN | Flags::ACK, SeqNum(500), SeqNum(101));
        let synack = Segment { src: server, dst: client, flags, seq, ack, ..syn };
        let came = Segment { event: SegmentEvent::Received, ..synack };
        let acks = |ack: u32, window: u16| {
            let (flags, seq, ack) = (Flags::ACK, SeqNum(101), SeqNum(501 + ack));
            Segment { flags, seq, ack, window, ..syn }
        };
        for (last, fits) in [
            (acks(60_000, 0), true),
            (acks(60_001, 0), true),
            (acks(60_002, 0), false),
            (acks(60_000, 1), false),
        ] {
            let mut edges = Edges::default();
            let mut streams = Streams {
                streams: BTreeMap::new(),
                limits: [20_000; 2],
                told: [false; 2],
                tables: Default::default(),
            };
            let mut seen = Ok(());
            for segment in [syn, came, synack, last] {
                edges.see(&segment).unwrap();
                seen = streams.see(&segment, &edges);
            }
            assert_eq!(seen.is_ok(), fits, "{seen:?}");
        }
    }
}
