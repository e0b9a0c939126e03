//! The flow table: finds the flow of a packet, opens new ones, keeps their timers, shares out
//! memory, and lets flows that have something to send take turns.

mod arrival;
mod clients;
mod departure;
#[cfg(test)]
mod fuzz;
mod half_open;
mod icmp;
mod resting;
mod sharing;
mod timers;

use crate::Side;
use crate::config::Config;
use crate::flow::{CLIENT, Flow, Phase, Relay, SERVER};
use crate::key::FlowKey;
use crate::stats::{Reason, Summary};
use crate::view::{FlowState, FlowView};
use bentpipe_core::tcp::buffer::{Buffer, Chunks, Payload};
use bentpipe_core::tcp::sender::SenderStats;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{IpHeader, TcpHeader};
use clients::Clients;
use half_open::HalfOpen;
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::iter;
use std::ops::Range;

/// What is to become of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// The gateway has dealt with it.
    Taken,
    /// Forward it as it is.
    Forward(Reason),
}

/// A packet to be sent. Its payload is fetched with [`Gateway::payload`] before anything else
/// is asked of the gateway.
#[derive(Debug, Clone)]
pub struct Emission {
    /// The side towards which it goes.
    pub to: Side,
    /// The IP header.
    pub ip: IpHeader,
    /// The TCP header.
    pub tcp: TcpHeader,
    /// Payload bytes in each wire segment, if the payload exceeds one.
    pub gso_size: Option<u16>,
    source: Option<(usize, usize)>,
    data: Range<u64>,
}

impl Emission {
    /// Payload length in bytes.
    pub fn payload_len(&self) -> usize {
        (self.data.end - self.data.start) as usize
    }
}

/// The gateway. `B` keeps the streams' bytes.
#[derive(Debug)]
pub struct Gateway<B = Chunks> {
    config: Config,
    /// Connections without a SYN-ACK yet: not in `flows`.
    half_open: HalfOpen,
    clients: Clients,
    flows: Slab<Flow<B>>,
    table: BTreeMap<FlowKey, usize>,
    timers: BTreeSet<(Instant, usize)>,
    ready: VecDeque<usize>,
    /// Segments without data that no flow keeps: handshakes on their way to the other side, and
    /// resets of flows that are gone.
    relays: VecDeque<(Side, Relay)>,
    /// Bytes held by all streams.
    held: usize,
    /// What all senders towards each side want to keep in the network, in bytes.
    demand: [u64; 2],
    /// Another gateway has answered on the satellite link.
    peer_known: bool,
    /// No new flows; those that there are leave.
    draining: bool,
    summary: Summary,
}

impl<B: Buffer> Gateway<B> {
    /// A gateway without flows.
    pub fn new(config: Config) -> Gateway<B> {
        Gateway {
            config,
            half_open: HalfOpen::default(),
            clients: Clients::default(),
            flows: Slab::new(),
            table: BTreeMap::new(),
            timers: BTreeSet::new(),
            ready: VecDeque::new(),
            relays: VecDeque::new(),
            held: 0,
            demand: [0; 2],
            peer_known: false,
            draining: false,
            summary: Summary::default(),
        }
    }

    /// Counters since the beginning, those of live flows included.
    pub fn summary(&self) -> Summary {
        let mut summary = self.summary;
        for (_, flow) in &self.flows {
            add_sender_stats(&mut summary, flow);
        }
        summary
    }

    /// Flows in the table, opening and ended ones included.
    pub fn flows(&self) -> usize {
        self.flows.len() + self.half_open.len()
    }

    /// Of those, connections without a SYN-ACK yet.
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// Bytes held by all streams.
    pub fn held(&self) -> usize {
        self.held
    }

    /// The parameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How far each flow in the table has come.
    pub fn flow_states(&self) -> impl Iterator<Item = FlowState> {
        let half_open = iter::repeat_n(FlowState::Opening, self.half_open.len());
        self.flows.iter().map(|(_, flow)| FlowState::of(flow)).chain(half_open)
    }

    /// Each flow whose SYN-ACK has come, as it stands at `now`.
    pub fn flow_views(&self, now: Instant) -> impl Iterator<Item = FlowView> {
        self.flow_views_in(now, 0..self.slots())
    }

    /// The flows in some of the table's slots: so that who has other things to do can look at all
    /// of them bit by bit. Flows keep their slots.
    pub fn flow_views_in(
        &self,
        now: Instant,
        slots: Range<usize>,
    ) -> impl Iterator<Item = FlowView> {
        slots.filter_map(move |slot| Some(FlowView::of(now, &self.config, self.flows.get(slot)?)))
    }

    /// How many slots the table has.
    pub fn slots(&self) -> usize {
        self.flows.capacity()
    }

    /// Whether another gateway has answered on the satellite link.
    pub fn peer_known(&self) -> bool {
        self.peer_known
    }

    /// A packet of `bytes` that is not whole, plain TCP was forwarded.
    pub fn count_foreign(&mut self, bytes: usize) {
        self.summary.count_forwarded(Reason::NotTcp, bytes, false);
    }

    /// The next packet to be sent now, if any. Flows take turns, a super-segment each.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Emission> {
        if let Some((to, (ip, tcp))) = self.relays.pop_front() {
            return Some(Emission { to, ip, tcp, gso_size: None, source: None, data: 0..0 });
        }
        while let Some(id) = self.ready.pop_front() {
            // A flow may have been removed meanwhile, and its place taken by another.
            let Some(flow) = self.flows.get_mut(id) else { continue };
            if let Phase::Split(split) = &mut flow.phase
                && let Some((leg, ip, out)) = split.poll_transmit(now)
            {
                let smss = split.leg(leg).tcb.sender.smss();
                let len = out.data.end - out.data.start;
                let gso_size = (len > smss).then_some(smss as u16);
                self.ready.push_back(id);
                return Some(Emission {
                    to: flow.sides[leg],
                    ip,
                    tcp: out.tcp,
                    gso_size,
                    source: Some((id, leg)),
                    data: out.data,
                });
            }
            flow.queued = false;
            self.arm(id);
            self.let_rest(id);
        }
        None
    }

    /// Calls `visit` with the payload of `emission`, piece by piece.
    pub fn payload(&self, emission: &Emission, visit: impl FnMut(Payload<'_>)) {
        if let Some(stream) = self.stream_of(emission) {
            stream.read(emission.data.clone(), visit);
        }
    }

    fn stream_of(&self, emission: &Emission) -> Option<&B> {
        let (id, leg) = emission.source?;
        match &self.flows.get(id)?.phase {
            Phase::Split(split) => Some(split.stream_towards(leg)),
            Phase::Opening(_) | Phase::Resting(_) => None,
        }
    }
}

impl Gateway<Chunks> {
    /// The payload of `emission` as slices, for a vectored write.
    pub fn payload_slices(&self, emission: &Emission) -> impl Iterator<Item = &[u8]> + Clone {
        self.stream_of(emission).into_iter().flat_map(|s| s.slices(emission.data.clone()))
    }
}

/// Adds the flow's retransmissions to the counters of its sides. Those of a resting flow are among
/// them.
fn add_sender_stats<B: Buffer>(summary: &mut Summary, flow: &Flow<B>) {
    for (side, sent) in sender_stats(flow) {
        let sums = summary.side_mut(side);
        sums.retransmissions += sent.retransmissions;
        sums.retransmitted_bytes += sent.retransmitted_bytes;
        sums.timeouts += sent.timeouts;
    }
}

/// Takes them out again: the flow counts for itself.
fn subtract_sender_stats<B: Buffer>(summary: &mut Summary, flow: &Flow<B>) {
    for (side, sent) in sender_stats(flow) {
        let sums = summary.side_mut(side);
        sums.retransmissions -= sent.retransmissions;
        sums.retransmitted_bytes -= sent.retransmitted_bytes;
        sums.timeouts -= sent.timeouts;
    }
}

/// What a flow's senders have counted, by side.
fn sender_stats<B: Buffer>(flow: &Flow<B>) -> impl Iterator<Item = (Side, SenderStats)> {
    let split = match &flow.phase {
        Phase::Split(split) => Some(split),
        Phase::Opening(_) | Phase::Resting(_) => None,
    };
    let legs = split.into_iter().flat_map(|split| [CLIENT, SERVER].map(|leg| split.leg(leg)));
    flow.sides.into_iter().zip(legs.map(|leg| leg.tcb.sender.stats()))
}
