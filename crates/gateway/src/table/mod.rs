//! The flow table: finds the flow of a packet, opens new ones, keeps their timers, shares out
//! memory, and lets flows that have something to send take turns.

mod access;
mod adoption;
mod arrival;
mod awaiting_ack;
mod benefit;
mod broken;
mod clients;
mod flow;
mod flow_remote;
mod forwarded;
mod fragments;
#[cfg(test)]
mod fuzz;
mod half_open;
mod icmp;
mod in_force;
mod judge;
mod known;
mod legs;
mod links;
mod memories;
mod pool;
mod reconfigure;
mod release;
mod remembering;
mod remote_view;
mod remotes;
mod scheduler;
mod successor;
mod time_wait;
mod timers;
mod to_peer;
mod told;
mod transmit;
mod unsplit;
mod view;
mod watched;

pub use judge::Prospect;
pub use legs::LegObservation;
pub use memories::RememberedLink;
pub use remote_view::{RemoteName, RemoteView};
pub use transmit::{Disposition, Transmit};
pub use view::{FlowState, FlowView, LegView, LinkView, TakenFor};

use crate::Side;
use crate::announce::Identity;
use crate::benefit::Transfers;
use crate::config::Config;
use crate::forwarded::{Candidates, Gaps, Samples};
use crate::handshake::Relay;
use crate::key::FlowKey;
use crate::leg::{Leg, PerLeg};
use crate::observe::{Event, Events, Reason, Release, Summary, UnsplitLog};
use access::add_sender_stats;
use awaiting_ack::AwaitingAck;
use bentpipe_core::tcp::buffer::{Buffer, Chunks, Payload};
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Offset;
use bentpipe_core::wire::{Identifications, IpHeader};
use broken::{PanicLog, Whose, unless_broken};
use clients::Clients;
use flow::Flow;
use half_open::HalfOpen;
use links::Links;
use pool::Account;
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::iter;
use std::ops::Range;
use std::sync::Arc;
use time_wait::TimeWaitTable;
use told::ToldLinks;

/// The gateway. `B` keeps the streams' bytes.
#[derive(Debug)]
pub struct Gateway<B = Chunks> {
    /// As the operator has set them.
    configured: Config,
    /// In force: see `in_force`, which alone writes them.
    config: Arc<Config>,
    /// Connections without a SYN-ACK yet: not in `flows`.
    half_open: HalfOpen,
    /// What is known of connections that are forwarded.
    gaps: Gaps,
    /// Forwarded connections that are split once they prove long.
    candidates: Candidates<B>,
    /// Forwarded connections that are measured.
    samples: Samples,
    /// What transfers took that have ended.
    transfers: Transfers,
    clients: Clients,
    /// Which flows wait for their clients' acknowledgments of the SYN-ACK.
    awaiting_ack: AwaitingAck,
    flows: Slab<Flow<B>>,
    table: BTreeMap<FlowKey, usize>,
    timers: BTreeSet<(Instant, usize)>,
    ready: VecDeque<usize>,
    /// Segments without data that no flow keeps: handshakes on their way to the other side, and
    /// resets of flows that are gone.
    relays: VecDeque<(Side, Relay)>,
    /// What all flows take of the pool.
    account: Account,
    /// Flows whose streams have shares of it for themselves.
    with_share: usize,
    /// What the flows that were there when the pool became smaller may take together.
    outlasting: usize,
    /// Flows that are over: not in `flows`.
    over: TimeWaitTable,
    /// When a flow that begins may be promised much again.
    next_large: Instant,
    links: Links,
    /// What peer gateways tell of the satellite link.
    told: ToldLinks,
    /// Of all packets that are sent.
    identifications: Identifications,
    /// Its name towards peer gateways.
    identity: Option<Identity>,
    /// Another gateway has answered on the satellite link.
    peer_known: bool,
    /// It was enabled by hand, although the policy says that it observes.
    enabled: bool,
    /// Why there are no new flows, and those that there are will be released, if that is so.
    leaving: Option<Release>,
    summary: Summary,
    events: Events,
    unsplit: UnsplitLog,
    panic_log: PanicLog,
}

impl<B: Buffer> Gateway<B> {
    /// A gateway without flows.
    pub fn new(config: Config) -> Gateway<B> {
        let links = Links::new(&config);
        let mut gateway = Gateway {
            configured: config.clone(),
            config: Arc::new(config),
            half_open: HalfOpen::default(),
            gaps: Gaps::default(),
            candidates: Candidates::default(),
            samples: Samples::default(),
            transfers: Transfers::default(),
            clients: Clients::default(),
            awaiting_ack: AwaitingAck::default(),
            flows: Slab::new(),
            table: BTreeMap::new(),
            timers: BTreeSet::new(),
            ready: VecDeque::new(),
            relays: VecDeque::new(),
            account: Account::default(),
            with_share: 0,
            outlasting: 0,
            over: TimeWaitTable::default(),
            next_large: Instant::ZERO,
            links,
            told: ToldLinks::default(),
            identifications: Identifications::new(0),
            identity: None,
            peer_known: false,
            enabled: false,
            leaving: None,
            summary: Summary::default(),
            events: Events::default(),
            unsplit: UnsplitLog::default(),
            panic_log: PanicLog::default(),
        };
        gateway.put_in_force();
        gateway
    }

    /// Counters since the beginning, those of live flows included.
    pub fn summary(&self) -> Summary {
        let mut summary = self.summary;
        for (_, flow) in &self.flows {
            if let Some(spliced) = flow.spliced() {
                add_sender_stats(&mut summary, flow.sides(), spliced);
            }
        }
        summary
    }

    /// The same by reference, without what the senders of live flows count.
    pub fn counted(&self) -> &Summary {
        &self.summary
    }

    /// Flows in the table, opening and ended ones included.
    pub fn flows(&self) -> usize {
        self.flows.len() + self.half_open.len() + self.over.len()
    }

    /// Of those, connections without a SYN-ACK yet.
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// Of those, connections that are over, whose ends the gateway still answers.
    pub fn over(&self) -> usize {
        self.over.len()
    }

    /// Bytes held by all streams, and of those that are about to be split.
    pub fn held(&self) -> usize {
        self.account.held() + self.candidates.held()
    }

    /// About how many bytes it takes: what all streams hold, and what is known of connections.
    pub fn footprint(&self) -> usize {
        // As crates/gateway/tests/many_flows.rs and syn_memory.rs have it, about.
        self.held() + (self.flows.len() << 12) + ((self.half_open.len() + self.over.len()) << 7)
    }

    /// Gives up room that tables have kept since there were more flows.
    pub fn shrink(&mut self) {
        self.flows.shrink_to_fit();
        self.ready.shrink_to_fit();
        self.relays.shrink_to_fit();
    }

    /// Flows that a defect of the gateway has ended.
    pub fn panicked(&self) -> u64 {
        self.summary.panicked
    }

    /// How far each flow in the table has come.
    pub fn flow_states(&self) -> impl Iterator<Item = FlowState> {
        let half_open = iter::repeat_n(FlowState::Opening, self.half_open.len());
        let over = iter::repeat_n(FlowState::Over, self.over.len());
        self.flows.iter().map(|(_, flow)| FlowState::of(flow)).chain(half_open).chain(over)
    }

    /// Each flow whose SYN-ACK has come and that is not over, as it stands at `now`.
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
        slots.filter_map(move |slot| {
            let flow = self.flows.get(slot)?;
            let opener = self.clients.origin(&flow.key(), flow.client().0);
            let remote = flow.remote.map(|id| self.links.remotes.name_of(id));
            unless_broken(|| FlowView::of(now, slot, opener, remote, flow))
        })
    }

    /// Each remote that has a link of its own.
    pub fn remote_views(&self) -> impl Iterator<Item = RemoteView> {
        self.links.remotes.views()
    }

    /// How many slots the table has.
    pub fn slots(&self) -> usize {
        self.flows.capacity()
    }

    /// Whether another gateway has answered on the satellite link.
    pub fn peer_known(&self) -> bool {
        self.peer_known
    }

    /// Counts the identifications of IPv4 packets from where `seed` says. Without that they begin
    /// in every gateway alike, which others can guess.
    pub fn number_packets_by(&mut self, seed: u64) {
        self.identifications = Identifications::new(seed);
    }

    /// The next thing that has happened, if anything has that has not been asked for. A thousand
    /// wait to be asked for; of more only the number is kept.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// A packet of `bytes` that is not whole, plain TCP was forwarded.
    pub fn count_foreign(&mut self, bytes: usize) {
        self.summary.count_forwarded(Reason::NotTcp, bytes);
    }

    /// The next packet to be sent now, if any. Flows take turns: a super-segment each, or on a link
    /// whose rate is known as many bytes as the others.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let relayed = |(to, (ip, tcp))| Transmit {
            to,
            ip,
            cause: Cause::of_control(&tcp),
            tcp,
            gso_size: None,
            source: None,
            data: Offset::SYN..Offset::SYN,
        };
        let mut transmit = match self.relays.pop_front() {
            Some(relay) => relayed(relay),
            None => match self.poll_flows(now) {
                Some(transmit) => transmit,
                // Some may have come up meanwhile.
                None => relayed(self.relays.pop_front()?),
            },
        };
        let IpHeader { src, dst, .. } = transmit.ip;
        transmit.ip.identification = self.identifications.take(src, dst, transmit.packets() as u16);
        let remote = transmit.source.and_then(|(id, _)| self.flows.get(id)?.remote);
        self.links.of_mut(transmit.to, remote).sent(now, transmit.sent());
        Some(transmit)
    }

    fn poll_flows(&mut self, now: Instant) -> Option<Transmit> {
        loop {
            let (id, turn) = self.next_to_ask(now)?;
            let asked = self.guarded(now, Whose::Slot(id), |gateway| gateway.ask(now, id, turn));
            // Resets of a flow that has broken are among the relays.
            let transmit = asked.flatten();
            if transmit.is_some() {
                return transmit;
            }
        }
    }

    /// What flow `id` sends now; in its `turn` on a link, if that is why it is asked.
    fn ask(&mut self, now: Instant, id: usize, turn: Option<Side>) -> Option<Transmit> {
        self.with_sending(now, id, |flow, context| {
            let sides = context.sides;
            context.begin_with_free_share(flow);
            context.end_spread(now, flow);
            context.limit_bursts(flow);
            let busy = PerLeg::of(|leg| {
                let side = sides[leg];
                turn != Some(side) && context.link(side).is_busy(now, &context.turns[side])
            });
            let in_turn = |leg: &Leg| turn == Some(sides[*leg]);
            let first = Leg::BOTH.into_iter().find(in_turn).unwrap_or(Leg::Client);
            let (leg, ip, mut out) = match flow.poll_transmit(now, busy, context.allowance, first) {
                Ok(sent) => sent,
                Err(limiters) => {
                    for leg in Leg::BOTH {
                        let link = context.links.of_mut(sides[leg], context.remote);
                        if limiters[leg] == Some(Limiter::LinkTurn) {
                            link.wait(id, &mut context.turns[sides[leg]]);
                        } else {
                            link.expect(flow.paced_until(leg));
                        }
                    }
                    return None;
                }
            };
            context.report(now, id, flow, leg, &mut out);
            let smss = flow.splice().tcb(leg).sender.smss();
            let len = out.data.end - out.data.start;
            let gso_size = (len > smss).then_some(smss.count() as u16);
            let to = sides[leg];
            let (source, data) = (Some((id, leg)), out.data);
            let cause = out.cause;
            let transmit = Transmit { to, ip, tcp: out.tcp, gso_size, cause, source, data };
            if let Some(side) = turn {
                let sent = Some(transmit.sent()).filter(|_| to == side);
                let link = context.links.of_mut(side, context.remote);
                link.used(id, &mut context.turns[side], sent);
            }
            context.watch_links(now, flow);
            Some(transmit)
        })
    }

    /// The flow to be asked for something to send, and the link on which it is its turn, if any.
    /// Turns come when all that may want one are in the queue.
    fn next_to_ask(&mut self, now: Instant) -> Option<(usize, Option<Side>)> {
        if let Some(id) = self.ready.pop_front() {
            if let Some(flow) = self.flows.get_mut(id) {
                flow.set_queued(false);
            }
            return Some((id, None));
        }
        while let Some((id, side)) = self.links.next(now) {
            let flow = &mut self.flows[id];
            if self.links.of_mut(side, flow.remote).begins(id, &mut flow.turns[side]) {
                return Some((id, Some(side)));
            }
        }
        None
    }

    /// Calls `visit` with the payload of `transmit`, piece by piece.
    pub fn payload(&self, transmit: &Transmit, visit: impl FnMut(Payload<'_>)) {
        if let Some(stream) = self.stream_of(transmit) {
            stream.read(transmit.data.clone(), visit);
        }
    }

    fn stream_of(&self, transmit: &Transmit) -> Option<&B> {
        let (id, leg) = transmit.source?;
        Some(self.flows.get(id)?.spliced()?.splice().stream_towards(leg))
    }
}

impl Gateway<Chunks> {
    /// The payload of `transmit` as slices, for a vectored write.
    pub fn payload_slices(&self, transmit: &Transmit) -> impl Iterator<Item = &[u8]> + Clone {
        self.stream_of(transmit).into_iter().flat_map(|s| s.slices(transmit.data.clone()))
    }
}
