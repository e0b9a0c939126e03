//! Flows: what each carries, and what holds its legs back.

use super::recent::Recent;
use crate::command::top::look::{Flow, Leg, Legs, Word};
use serde::Serialize;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// A flow.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FlowRow {
    pub(crate) number: usize,
    pub(crate) opener: IpAddr,
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    pub(crate) state: Word,
    pub(crate) age_s: f64,
    pub(crate) idle_s: f64,
    pub(crate) held_bytes: u64,
    /// The remote to which it leads, if that is known.
    pub(crate) remote: Option<Word>,
    /// None if nothing does.
    pub(crate) held_back: Option<HeldBack>,
    pub(crate) legs: Option<LegRows>,
}

/// Its legs.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LegRows {
    pub(crate) client: LegRow,
    pub(crate) server: LegRow,
}

/// A leg.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LegRow {
    pub(crate) side: Word,
    /// Delivered to its host, in bits a second, since the look before.
    pub(crate) rate_bps: Option<f64>,
    pub(crate) srtt_s: Option<f64>,
    pub(crate) rttvar_s: Option<f64>,
    pub(crate) min_rtt_s: Option<f64>,
    /// The smoothed round-trip time above the shortest one.
    pub(crate) queue_s: Option<f64>,
    pub(crate) cwnd_bytes: u64,
    pub(crate) ssthresh_bytes: Option<u64>,
    pub(crate) in_flight_bytes: u64,
    pub(crate) usable_window_bytes: u64,
    pub(crate) backlog_bytes: u64,
    pub(crate) delivered_bytes: u64,
    pub(crate) retransmissions: u64,
    pub(crate) retransmitted_bytes: u64,
    #[serde(rename = "retransmitted_share")]
    pub(crate) recent: Recent,
    pub(crate) timeouts: u64,
    pub(crate) limiter: Option<Word>,
}

/// A leg of a flow, by the host towards which it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum End {
    Client,
    Server,
}

/// What holds a flow back: the limiter of the leg that has more waiting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct HeldBack {
    pub(crate) leg: End,
    pub(crate) side: Word,
    pub(crate) limiter: Word,
}

impl FlowRow {
    /// Delivered to the server, in bits a second.
    pub(crate) fn up_bps(&self) -> Option<f64> {
        self.legs.as_ref()?.server.rate_bps
    }

    /// Delivered to the client, in bits a second.
    pub(crate) fn down_bps(&self) -> Option<f64> {
        self.legs.as_ref()?.client.rate_bps
    }

    /// The leg over the satellite, with the host behind it, and the other leg.
    pub(crate) fn over_satellite(&self) -> Option<(IpAddr, &LegRow, &LegRow)> {
        let LegRows { client, server } = self.legs.as_ref()?;
        match (&*client.side, &*server.side) {
            ("satellite", _) => Some((self.client.ip(), client, server)),
            (_, "satellite") => Some((self.server.ip(), server, client)),
            _ => None,
        }
    }

    /// Bytes wait to be sent. Where the source limits a leg, all that there is was sent.
    pub(crate) fn is_waiting(&self) -> bool {
        let backlog =
            |legs: &LegRows| legs.client.backlog_bytes > 0 || legs.server.backlog_bytes > 0;
        self.legs.as_ref().is_some_and(backlog)
            && self
                .held_back
                .as_ref()
                .is_some_and(|held| !["application", "closed"].contains(&&*held.limiter))
    }
}

/// The rows of a look. On the first one, and of flows that were there before it, no rate is known.
pub(super) fn rows(flows: Vec<Flow>, before: &[FlowRow], is_first: bool) -> Vec<FlowRow> {
    let known: HashMap<usize, &FlowRow> = before.iter().map(|row| (row.number, row)).collect();
    let shortest = shortest_round_trips(&flows);
    let row = |flow: Flow| {
        let before = known.get(&flow.number).copied().filter(|row| is_same(row, &flow));
        FlowRow::of(flow, before, is_first, &shortest)
    };
    flows.into_iter().map(row).collect()
}

/// Numbers are used again.
fn is_same(row: &FlowRow, flow: &Flow) -> bool {
    (row.client, row.server) == (flow.client, flow.server) && flow.age_s >= row.age_s
}

/// The shortest round-trip time to each remote gateway. A flow that began while its link had a
/// queue has never seen it.
fn shortest_round_trips(flows: &[Flow]) -> HashMap<Word, f64> {
    let mut shortest = HashMap::new();
    for flow in flows {
        let (Some(remote), Some(legs)) = (&flow.remote, &flow.legs) else { continue };
        // Behind one carrier, or not reported yet: they may be different gateways.
        if u32::from_str_radix(remote, 16).is_err() {
            continue;
        }
        for leg in [&legs.client, &legs.server] {
            if let Some(rtt) = leg.min_rtt_s.filter(|_| &*leg.side == "satellite") {
                let known = shortest.entry(remote.clone()).or_insert(rtt);
                *known = rtt.min(*known);
            }
        }
    }
    shortest
}

impl FlowRow {
    fn of(
        flow: Flow,
        before: Option<&FlowRow>,
        is_first: bool,
        shortest: &HashMap<Word, f64>,
    ) -> FlowRow {
        let shortest = flow.remote.as_ref().and_then(|remote| shortest.get(remote)).copied();
        let before = before.and_then(|row| Some((row.age_s, row.legs.as_ref()?)));
        let since = match before {
            Some((age_s, _)) => Some(flow.age_s - age_s),
            // It has begun since: all that it has carried was carried since.
            None => Some(flow.age_s).filter(|_| !is_first),
        };
        let legs = flow.legs.map(|Legs { client, server }| LegRows {
            client: LegRow::of(client, since, before.map(|(_, legs)| &legs.client), shortest),
            server: LegRow::of(server, since, before.map(|(_, legs)| &legs.server), shortest),
        });
        FlowRow {
            number: flow.number,
            opener: flow.opener,
            client: flow.client,
            server: flow.server,
            state: flow.state,
            age_s: flow.age_s,
            idle_s: flow.idle_s,
            held_bytes: flow.held_bytes,
            remote: flow.remote,
            held_back: legs.as_ref().and_then(held_back),
            legs,
        }
    }
}

impl LegRow {
    fn of(
        leg: Leg,
        since_s: Option<f64>,
        before: Option<&LegRow>,
        shortest: Option<f64>,
    ) -> LegRow {
        let since_s = since_s.filter(|span| *span > 0.0);
        let grown = |now: u64, then: fn(&LegRow) -> u64| now.saturating_sub(before.map_or(0, then));
        let delivered = grown(leg.delivered_bytes, |leg| leg.delivered_bytes);
        let retransmitted = grown(leg.retransmitted_bytes, |leg| leg.retransmitted_bytes);
        let recent = before.map(|leg| leg.recent).unwrap_or_default();
        let min_rtt_s = leg.min_rtt_s;
        let shortest = shortest.filter(|_| &*leg.side == "satellite").or(min_rtt_s);
        let queue_s = leg.srtt_s.zip(shortest).map(|(srtt, shortest)| (srtt - shortest).max(0.0));
        LegRow {
            side: leg.side,
            rate_bps: since_s.map(|span| delivered as f64 * 8.0 / span),
            srtt_s: leg.srtt_s,
            rttvar_s: leg.rttvar_s,
            min_rtt_s,
            queue_s,
            cwnd_bytes: leg.cwnd_bytes,
            ssthresh_bytes: leg.ssthresh_bytes,
            in_flight_bytes: leg.in_flight_bytes,
            usable_window_bytes: leg.usable_window_bytes,
            backlog_bytes: leg.backlog_bytes,
            delivered_bytes: leg.delivered_bytes,
            retransmissions: leg.retransmissions,
            retransmitted_bytes: leg.retransmitted_bytes,
            recent: since_s.map_or(recent, |span| recent.after(span, delivered, retransmitted)),
            timeouts: leg.timeouts,
            limiter: leg.limiter,
        }
    }
}

/// A flow with nothing to carry is held back by nothing.
fn held_back(legs: &LegRows) -> Option<HeldBack> {
    let load = |leg: &LegRow| (leg.backlog_bytes, leg.rate_bps.unwrap_or(0.0) as u64);
    let (client, server) = (load(&legs.client), load(&legs.server));
    if client.max(server) == (0, 0) {
        return None;
    }
    let (end, leg) = match client >= server {
        true => (End::Client, &legs.client),
        false => (End::Server, &legs.server),
    };
    let limiter = leg.limiter.clone()?;
    Some(HeldBack { leg: end, side: leg.side.clone(), limiter })
}
