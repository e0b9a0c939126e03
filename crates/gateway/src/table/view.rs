//! Flows as an operator sees them: read only, and apart from what the flows are made of.

use super::flow::{Flow, Phase};
use super::remote_view::RemoteName;
use crate::Side;
use crate::announce::ToldLink;
use crate::leg::Leg;
use crate::lifecycle::{CloseState, SplicedFlow};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::limiter::Limiter;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset, Rate};
use std::net::{IpAddr, SocketAddr};

/// How far a flow has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowState {
    /// Between the SYN and the client's acknowledgment of the SYN-ACK. Before the SYN-ACK, flows
    /// are counted and not shown.
    Opening,
    /// Split, and neither host has ended or reset it.
    Open,
    /// One host has ended its direction.
    HalfClosed,
    /// One host has reset; what it had sent before is still being delivered.
    Draining,
    /// It is being released to plain forwarding.
    Releasing,
    /// It is over; repeated segments are still answered.
    Over,
}

impl FlowState {
    /// All of them.
    pub const ALL: [FlowState; 6] = [
        FlowState::Opening,
        FlowState::Open,
        FlowState::HalfClosed,
        FlowState::Draining,
        FlowState::Releasing,
        FlowState::Over,
    ];

    pub(super) fn of<B: Buffer>(flow: &Flow<B>) -> FlowState {
        let spliced = match flow.phase() {
            Phase::Opening(_) => return FlowState::Opening,
            Phase::Hibernated(flow) if flow.is_half_closed() => return FlowState::HalfClosed,
            Phase::Hibernated(_) => return FlowState::Open,
            Phase::Spliced(spliced) => spliced,
            Phase::Broken(_) => return FlowState::Over,
        };
        match spliced.close_state() {
            CloseState::Open => {
                let legs = spliced.splice().legs();
                let ended = legs.iter().any(|leg| leg.tcb.receiver.fin_received());
                if ended { FlowState::HalfClosed } else { FlowState::Open }
            }
            CloseState::Draining { .. } => FlowState::Draining,
            CloseState::Releasing(_) => FlowState::Releasing,
            CloseState::Closed { .. } | CloseState::Released | CloseState::Reset { .. } => {
                FlowState::Over
            }
        }
    }

    /// A word for tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            FlowState::Opening => "opening",
            FlowState::Open => "open",
            FlowState::HalfClosed => "half-closed",
            FlowState::Draining => "draining",
            FlowState::Releasing => "releasing",
            FlowState::Over => "over",
        }
    }
}

/// What losses on the satellite link are taken for by flows that begin now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TakenFor {
    /// The link's own, by flows whose other gateway has announced itself. Others tell them apart.
    Link,
    /// Each flow tells the link's own from congestion, by the queue.
    ToldApart,
    /// Congestion.
    Believed,
}

impl TakenFor {
    /// A word for JSON.
    pub fn name(self) -> &'static str {
        match self {
            TakenFor::Link => "link",
            TakenFor::ToldApart => "told-apart",
            TakenFor::Believed => "believed",
        }
    }
}

/// The satellite link as it stands at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkView {
    /// What losses are taken for.
    pub losses: TakenFor,
    /// The circuit breaker has opened (RFC 8084): the link carried less than half of what it was
    /// sent, and losses, which were the link's own before, are believed.
    pub circuit_broken: bool,
    /// The rate that is configured, or that a peer gateway has told.
    pub rate: Option<Rate>,
    /// A peer gateway has told it.
    pub told: bool,
    /// What a peer gateway says of the link, as seen from here, where something else is configured.
    pub contradiction: Option<ToldLink>,
    /// The rate at which flows take turns on it, if they do: lower while the link carries less than
    /// configured, or what it was found to carry if nothing is configured.
    pub used_at: Option<Rate>,
}

/// A flow as it stands at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowView {
    /// Its number among the flows that there are. Another one may have it later.
    pub number: usize,
    /// Who opened it, if NAT on this host has translated that address.
    pub opener: IpAddr,
    /// The host that sent the SYN.
    pub client: SocketAddr,
    /// The host to which it was sent.
    pub server: SocketAddr,
    /// How far the flow has come.
    pub state: FlowState,
    /// Time since its last SYN before the SYN-ACK came.
    pub age: Duration,
    /// Time since a host was last heard.
    pub idle: Duration,
    /// Memory that its two streams take.
    pub held: Bytes,
    /// The remote to which it leads, where remotes have links of their own.
    pub remote: Option<RemoteName>,
    /// The legs towards the client and the server, once the flow is split.
    pub legs: Option<[LegView; 2]>,
}

/// The leg of a flow towards one of its hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegView {
    /// Where the host is.
    pub side: Side,
    /// The smoothed round-trip time to the host, once measured (RFC 6298).
    pub srtt: Option<Duration>,
    /// Its variation (RFC 6298).
    pub rttvar: Duration,
    /// The shortest round-trip time that was measured.
    pub min_rtt: Option<Duration>,
    /// The congestion window.
    pub cwnd: Bytes,
    /// The slow start threshold; none before the first loss, if none was set.
    pub ssthresh: Option<Bytes>,
    /// Bytes held to be in the network.
    pub in_flight: Bytes,
    /// What the host's window leaves room for behind what has been sent.
    pub usable_window: Bytes,
    /// Payload in order from the host.
    pub received: Bytes,
    /// Payload that the host has acknowledged.
    pub delivered: Bytes,
    /// Payload for the host that it has not acknowledged: in flight, or waiting.
    pub backlog: Bytes,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Bytes retransmitted.
    pub retransmitted: Bytes,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Its limiter: what keeps its next segment back. None if one may leave.
    pub limiter: Option<Limiter>,
    /// What was delivered to the host, over the age of the flow.
    pub goodput: Rate,
}

impl FlowView {
    pub(super) fn of<B: Buffer>(
        now: Instant,
        slot: usize,
        opener: IpAddr,
        remote: Option<RemoteName>,
        flow: &Flow<B>,
    ) -> FlowView {
        let restored: SplicedFlow<B>;
        let spliced = match flow.phase() {
            Phase::Opening(_) | Phase::Broken(_) => None,
            Phase::Spliced(spliced) => Some(&**spliced),
            Phase::Hibernated(hibernated) => {
                // A copy to be looked at: the flow goes on hibernating.
                restored = hibernated.restore(flow.sides(), flow.ends());
                Some(&restored)
            }
        };
        let age = now.saturating_since(flow.began());
        let (heard, held, legs) = match spliced {
            None => (flow.began(), 0, None),
            Some(spliced) => {
                let of = |leg| LegView::of(spliced, leg, flow.sides()[leg], age);
                let held = spliced.splice().held() as u64;
                (spliced.last_heard(), held, Some(Leg::BOTH.map(of)))
            }
        };
        FlowView {
            number: slot,
            opener,
            client: flow.client().into(),
            server: flow.server().into(),
            state: FlowState::of(flow),
            age,
            idle: now.saturating_since(heard),
            held: Bytes::new(held),
            remote,
            legs,
        }
    }
}

impl LegView {
    fn of<B: Buffer>(flow: &SplicedFlow<B>, leg: Leg, side: Side, age: Duration) -> LegView {
        let tcb = flow.splice().tcb(leg);
        let (sender, receiver) = (&tcb.sender, &tcb.receiver);
        let stats = sender.stats();
        // Offset 0 is the SYN; a FIN is an offset behind the last byte, but not a byte.
        let end = sender.written();
        let delivered = sender.snd_una().min(end) - Offset::FIRST;
        let goodput = match age.as_nanos() {
            0 => 0,
            nanos => u128::from(delivered.count()) * 8_000_000_000 / nanos,
        };
        LegView {
            side,
            srtt: sender.rtt().srtt(),
            rttvar: sender.rtt().rttvar(),
            min_rtt: sender.rtt().min_rtt(),
            cwnd: sender.cwnd(),
            ssthresh: Some(sender.ssthresh()).filter(|&it| it < Bytes::MAX),
            in_flight: sender.in_flight(),
            usable_window: sender.window_edge().saturating_sub(sender.snd_nxt()),
            received: receiver.rcv_nxt() - Offset::FIRST,
            delivered,
            backlog: end - Offset::FIRST - delivered,
            retransmissions: stats.retransmissions,
            retransmitted: stats.retransmitted_bytes,
            timeouts: stats.timeouts,
            limiter: flow.limiter(leg),
            goodput: Rate::from_bits_per_sec(u64::try_from(goodput).unwrap_or(u64::MAX)),
        }
    }
}
