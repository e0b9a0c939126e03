//! The flow table: finds the flow of a packet, opens new ones, keeps their timers, shares out
//! memory, and lets flows that have something to send take turns.

use crate::Side;
use crate::config::Config;
use crate::flow::{Allowance, Ending, Flow, Opening, Packet, Phase, Relay, SERVER};
use crate::key::FlowKey;
use crate::stats::{Reason, Summary};
use bentpipe_core::tcp::buffer::{Buffer, Chunks, Payload};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Flags, IpHeader, TcpHeader};
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// Payload of a full segment on Ethernet, by which the least initial window is counted.
const ETHERNET_MSS: u64 = 1460;

/// How often the hosts of an idle flow that cannot be handed back are asked whether they live.
const KEEP_ALIVE: Duration = Duration::from_secs(75);

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
    flows: Slab<Flow<B>>,
    table: BTreeMap<FlowKey, usize>,
    timers: BTreeSet<(Instant, usize)>,
    ready: VecDeque<usize>,
    /// Handshake segments on their way to the other side.
    relays: VecDeque<(Side, Relay)>,
    /// Bytes held by all streams.
    held: usize,
    /// What all senders towards each side want to keep in the network, in bytes.
    demand: [u64; 2],
    /// Another gateway has answered on the satellite link.
    peer_known: bool,
    summary: Summary,
}

impl<B: Buffer> Gateway<B> {
    /// A gateway without flows.
    pub fn new(config: Config) -> Gateway<B> {
        Gateway {
            config,
            flows: Slab::new(),
            table: BTreeMap::new(),
            timers: BTreeSet::new(),
            ready: VecDeque::new(),
            relays: VecDeque::new(),
            held: 0,
            demand: [0; 2],
            peer_known: false,
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
        self.flows.len()
    }

    /// Bytes held by all streams.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Whether another gateway has answered on the satellite link.
    pub fn peer_known(&self) -> bool {
        self.peer_known
    }

    /// A packet that is not whole, plain TCP was forwarded.
    pub fn count_foreign(&mut self) {
        self.summary.count_forwarded(Reason::NotTcp, false);
    }

    /// Takes a TCP packet that came in from `from`.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        from: Side,
        ip: &IpHeader,
        tcp: &TcpHeader,
        payload: Payload<'_>,
    ) -> Disposition {
        let key = FlowKey::of(ip, tcp);
        let verdict = match self.table.get(&key) {
            Some(&id) => self.handle_known(now, id, key, from, ip, tcp, payload),
            None => self.handle_new(now, key, from, ip, tcp, payload),
        };
        if let Disposition::Forward(reason) = verdict {
            let opens = tcp.has(Flags::SYN) && !tcp.has(Flags::ACK);
            self.summary.count_forwarded(reason, opens);
        }
        verdict
    }

    #[allow(clippy::too_many_arguments)]
    fn handle_known(
        &mut self,
        now: Instant,
        id: usize,
        key: FlowKey,
        from: Side,
        ip: &IpHeader,
        tcp: &TcpHeader,
        payload: Payload<'_>,
    ) -> Disposition {
        let flow = &mut self.flows[id];
        let Some(leg) = flow.leg_of(from, ip, tcp) else {
            return Disposition::Forward(Reason::Route);
        };
        flow.last_packet = now;
        match &flow.phase {
            Phase::Opening(_) => self.handle_opening(now, id, key, leg, from, ip, tcp, payload),
            Phase::Split(split) => {
                let new_syn = tcp.has(Flags::SYN) && !tcp.has(Flags::ACK) && !split.is_open();
                if new_syn {
                    // The port is used again (RFC 9293, 3.6.1).
                    self.remove(id, key);
                    return self.handle_new(now, key, from, ip, tcp, payload);
                }
                self.handle_split(now, id, leg, Packet { ip, tcp, payload });
                Disposition::Taken
            }
        }
    }

    /// A packet of no flow: a SYN may open one.
    fn handle_new(
        &mut self,
        now: Instant,
        key: FlowKey,
        from: Side,
        ip: &IpHeader,
        tcp: &TcpHeader,
        payload: Payload<'_>,
    ) -> Disposition {
        let unsplittable = Flags::ACK.0 | Flags::RST.0 | Flags::FIN.0 | Flags::URG.0;
        if !tcp.has(Flags::SYN) || tcp.flags.0 & unsplittable != 0 {
            return Disposition::Forward(Reason::UnknownFlow);
        }
        let mut options = tcp.options.clone();
        crate::announce::Announcement::strip(&mut options);
        if !payload.is_empty() || !options.other.is_empty() {
            return Disposition::Forward(Reason::Options);
        }
        if !self.has_room_for_flow() {
            return Disposition::Forward(Reason::NoRoom);
        }
        let (opening, relay) = Opening::new(now, &self.config, from, self.peer_known, ip, tcp);
        let id = self.flows.insert(Flow {
            client: (ip.src, tcp.src_port),
            server: (ip.dst, tcp.dst_port),
            sides: [from, from.other()],
            phase: Phase::Opening(Box::new(opening)),
            last_packet: now,
            demand: [0; 2],
            end_noted: false,
            armed: None,
            queued: false,
        });
        self.table.insert(key, id);
        self.relays.push_back((from.other(), relay));
        self.arm(id);
        Disposition::Taken
    }

    /// A flow is admitted only when its guaranteed share is there.
    fn has_room_for_flow(&self) -> bool {
        let share = 2 * self.config.guaranteed.count() as usize;
        let guaranteed = (self.flows.len() + 1).saturating_mul(share);
        self.flows.len() < self.config.max_flows && guaranteed <= self.memory()
    }

    fn memory(&self) -> usize {
        usize::try_from(self.config.memory.count()).unwrap_or(usize::MAX)
    }

    #[allow(clippy::too_many_arguments)]
    fn handle_opening(
        &mut self,
        now: Instant,
        id: usize,
        key: FlowKey,
        leg: usize,
        from: Side,
        ip: &IpHeader,
        tcp: &TcpHeader,
        payload: Payload<'_>,
    ) -> Disposition {
        let flow = &mut self.flows[id];
        let sides = flow.sides;
        let Phase::Opening(opening) = &mut flow.phase else {
            unreachable!("checked by the caller")
        };
        if tcp.has(Flags::RST) {
            if opening.refused_by(leg, tcp) {
                self.remove(id, key);
            }
            return Disposition::Forward(Reason::NotOpened);
        }
        match (leg, tcp.has(Flags::SYN), tcp.has(Flags::ACK)) {
            (SERVER, true, true) => {
                match opening.on_synack(now, &self.config, sides, &mut self.peer_known, ip, tcp) {
                    Some(relay) => self.relays.push_back((sides[0], relay)),
                    None => return Disposition::Forward(Reason::NotOpened),
                }
            }
            (SERVER, true, false) => {
                // Simultaneous open: the hosts do it between themselves.
                self.remove(id, key);
                return Disposition::Forward(Reason::NotOpened);
            }
            (SERVER, false, _) => return Disposition::Forward(Reason::NotOpened),
            (_, true, false) if opening.is_repeated_syn(tcp) => {
                let relay = opening.relay_syn(now, &self.config, from, ip);
                self.relays.push_back((sides[1], relay));
            }
            (_, true, _) => {
                // Another SYN on the same ports: the old attempt is over.
                self.remove(id, key);
                return self.handle_new(now, key, from, ip, tcp, payload);
            }
            (_, false, _) if opening.completes(tcp) => {
                let split = opening.complete(now, &self.config, sides, tcp);
                flow.phase = Phase::Split(Box::new(split));
                self.summary.split += 1;
                self.handle_split(now, id, leg, Packet { ip, tcp, payload });
                return Disposition::Taken;
            }
            (_, false, _) => return Disposition::Forward(Reason::NotOpened),
        }
        self.arm(id);
        Disposition::Taken
    }

    fn handle_split(&mut self, now: Instant, id: usize, leg: usize, packet: Packet<'_>) {
        let sides = self.flows[id].sides;
        let allowance = Allowance {
            capacity: self.capacity(),
            room: self.held + packet.payload.len() <= self.memory(),
            guaranteed: self.config.guaranteed.count(),
            windows: sides.map(|side| self.free_window(side)),
        };
        let flow = &mut self.flows[id];
        let Phase::Split(split) = &mut flow.phase else { unreachable!("checked by the caller") };
        let before = split.held();
        let progress = split.on_packet(now, leg, packet, allowance);
        self.held = self.held + split.held() - before;
        let stats = self.summary.side_mut(sides[leg]);
        stats.received_bytes += progress.received;
        stats.delivered_bytes += progress.delivered;
        self.count_demand(id);
        self.note_end(id);
        self.touch(id);
    }

    /// The window that a flow may begin with towards `side`: what the others leave free of the
    /// window that fills the link, and in any case the ordinary initial window.
    fn free_window(&self, side: Side) -> u64 {
        let leg = self.config.leg(side);
        let least = u64::from(leg.initial_window) * ETHERNET_MSS;
        match leg.filling_window() {
            Some(window) => window.saturating_sub(self.demand[side as usize]).max(least),
            None => u64::MAX,
        }
    }

    /// Keeps the sum of what senders want right.
    fn count_demand(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        for leg in 0..2 {
            let now = match &flow.phase {
                Phase::Split(split) if split.is_open() => split.leg(leg).tcb.sender.demand(),
                _ => 0,
            };
            let sum = &mut self.demand[flow.sides[leg] as usize];
            *sum = *sum - flow.demand[leg] + now;
            flow.demand[leg] = now;
        }
    }

    /// What a stream may hold now: windows stop opening when three quarters of the pool are
    /// taken, so that what is in flight still finds room.
    fn capacity(&self) -> u64 {
        if self.held > self.memory() / 4 * 3 {
            self.config.guaranteed.count()
        } else {
            self.config.stream_capacity.count()
        }
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
            Phase::Opening(_) => None,
        }
    }

    /// When [`Gateway::handle_timeout`] is to be called, if ever.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Lets expire what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, id)) = self.timers.first() {
            if at > now {
                return;
            }
            self.timers.pop_first();
            self.flows[id].armed = None;
            self.expire(now, id);
        }
    }

    fn expire(&mut self, now: Instant, id: usize) {
        let config = &self.config;
        let flow = &mut self.flows[id];
        let idle = flow.last_packet + config.idle_timeout <= now;
        let over = match &mut flow.phase {
            Phase::Opening(opening) => opening.deadline <= now,
            Phase::Split(split) => {
                let before = split.held();
                split.on_timer(now, config);
                self.held = self.held + split.held() - before;
                let handed_back = idle && split.is_open() && split.is_clean();
                self.summary.handed_back += u64::from(handed_back);
                if idle && split.is_open() && !handed_back {
                    // It cannot be handed back: it lives as long as its hosts answer.
                    split.keep_alive();
                    flow.last_packet = now + KEEP_ALIVE - config.idle_timeout;
                }
                handed_back || split.forgettable(now, config)
            }
        };
        if over {
            let key = flow.key();
            self.remove(id, key);
        } else {
            self.count_demand(id);
            self.note_end(id);
            self.touch(id);
        }
    }

    /// The flow may have something to send.
    fn touch(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        if !flow.queued {
            flow.queued = true;
            self.ready.push_back(id);
        }
    }

    /// Sets the flow's timer. A timer that is already set for an earlier moment stays: when it
    /// fires, the flow says when it is really due.
    fn arm(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        let due = match &flow.phase {
            Phase::Opening(opening) => opening.deadline,
            Phase::Split(split) => {
                // A flow that is over is forgotten by its own timer; its silence means nothing.
                let idle = split.is_open().then(|| flow.last_packet + self.config.idle_timeout);
                let due = split.poll_timer(&self.config).into_iter().chain(idle).min();
                due.unwrap_or(Instant::FAR_FUTURE)
            }
        };
        match flow.armed {
            Some(at) if at <= due => {}
            armed => {
                if let Some(at) = armed {
                    self.timers.remove(&(at, id));
                }
                self.timers.insert((due, id));
                flow.armed = Some(due);
            }
        }
    }

    fn remove(&mut self, id: usize, key: FlowKey) {
        let flow = self.flows.remove(id);
        self.table.remove(&key);
        for leg in 0..2 {
            self.demand[flow.sides[leg] as usize] -= flow.demand[leg];
        }
        if let Some(at) = flow.armed {
            self.timers.remove(&(at, id));
        }
        add_sender_stats(&mut self.summary, &flow);
        if let Phase::Split(split) = &flow.phase {
            self.held -= split.held();
        }
    }

    /// Counts and logs a flow's end, once.
    fn note_end(&mut self, id: usize) {
        let flow = &mut self.flows[id];
        let Phase::Split(split) = &flow.phase else { return };
        if flow.end_noted || split.is_open() {
            return;
        }
        flow.end_noted = true;
        let (client, server) = (flow.client, flow.server);
        let lost_bytes = split.lost_bytes();
        self.summary.lost_bytes += lost_bytes;
        match split.ending() {
            Ending::Closed { .. } => {
                self.summary.closed += 1;
                tracing::debug!(?client, ?server, "flow closed");
            }
            _ if lost_bytes > 0 => {
                self.summary.reset += 1;
                tracing::warn!(?client, ?server, lost_bytes, "flow reset, its bytes undelivered");
            }
            _ => {
                self.summary.reset += 1;
                tracing::debug!(?client, ?server, "flow reset");
            }
        }
    }
}

impl Gateway<Chunks> {
    /// The payload of `emission` as slices, for a vectored write.
    pub fn payload_slices(&self, emission: &Emission) -> impl Iterator<Item = &[u8]> + Clone {
        self.stream_of(emission).into_iter().flat_map(|s| s.slices(emission.data.clone()))
    }
}

/// Adds the flow's retransmissions to the counters of its sides.
fn add_sender_stats<B: Buffer>(summary: &mut Summary, flow: &Flow<B>) {
    let Phase::Split(split) = &flow.phase else { return };
    for leg in 0..2 {
        let sent = split.leg(leg).tcb.sender.stats();
        let side = summary.side_mut(flow.sides[leg]);
        side.retransmissions += sent.retransmissions;
        side.retransmitted_bytes += sent.retransmitted_bytes;
        side.timeouts += sent.timeouts;
    }
}
