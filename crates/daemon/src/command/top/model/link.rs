//! The link as a whole: its state, its rates, its limits.

use super::flows::FlowRow;
use super::groups::median;
use super::recent::Recent;
use crate::command::top::look::{Finding, SideTotals, Status, Word};
use serde::Serialize;
use std::collections::BTreeMap;

/// Whether connections are split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    #[default]
    Splits,
    Observes,
    /// Something is in the way.
    Asleep,
}

/// Where the rate of the link is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KnownFrom {
    Configured,
    Told,
    Found,
}

/// Flows that have something waiting, by the side and the limiter of the leg that it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Limit {
    pub(crate) side: Word,
    pub(crate) limiter: Word,
    pub(crate) flows: u64,
}

/// The link.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct LinkRow {
    pub(crate) uptime_s: f64,
    pub(crate) state: State,
    pub(crate) trial_left_s: Option<f64>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) peer_known: bool,
    pub(crate) flows: BTreeMap<String, u64>,
    pub(crate) held_bytes: u64,
    pub(crate) memory_bytes: u64,
    /// Payload that crossed it since the look before, in bits a second.
    pub(crate) to_satellite_bps: Option<f64>,
    pub(crate) from_satellite_bps: Option<f64>,
    /// The rate that is configured, or that the other gateway tells, or that was found.
    pub(crate) rate_bps: Option<u64>,
    pub(crate) rate_from: Option<KnownFrom>,
    /// The rate at which flows take turns.
    pub(crate) used_at_bps: Option<u64>,
    /// The median of the flows with something in flight.
    pub(crate) queue_s: Option<f64>,
    #[serde(rename = "retransmitted_share")]
    pub(crate) recent: Recent,
    pub(crate) losses: Word,
    pub(crate) circuit_broken: bool,
    pub(crate) limits: Vec<Limit>,
    #[serde(skip)]
    totals: SideTotals,
}

impl LinkRow {
    pub(super) fn of(status: &Status, before: Option<&LinkRow>, flows: &[FlowRow]) -> LinkRow {
        let totals = status.totals.legs.satellite;
        let since = before.map(|row| (status.uptime_s - row.uptime_s, row));
        let since = since.filter(|(span, _)| *span > 0.0);
        let grown = |of: fn(&SideTotals) -> u64| {
            since.map(|(span, row)| (span, of(&totals).saturating_sub(of(&row.totals))))
        };
        let rate = |of| grown(of).map(|(span, bytes)| bytes as f64 * 8.0 / span);
        let retransmitted = grown(|totals| totals.retransmitted_bytes);
        let recent = before.map(|row| row.recent).unwrap_or_default();
        let recent = match (grown(|totals| totals.delivered_bytes), retransmitted) {
            (Some((span, delivered)), Some((_, again))) => recent.after(span, delivered, again),
            _ => recent,
        };
        let link = &status.satellite_link;
        let (rate_bps, rate_from) = match (link.rate_bps, link.used_at_bps) {
            (Some(rate), _) if link.rate_told => (Some(rate), Some(KnownFrom::Told)),
            (Some(rate), _) => (Some(rate), Some(KnownFrom::Configured)),
            (None, Some(found)) => (Some(found), Some(KnownFrom::Found)),
            (None, None) => (None, None),
        };
        let state = match (status.diverting, status.observes) {
            (Some(false), _) => State::Asleep,
            (_, true) => State::Observes,
            _ => State::Splits,
        };
        LinkRow {
            uptime_s: status.uptime_s,
            state,
            trial_left_s: status.trial_left_s,
            findings: status.findings.clone(),
            // Behind a peer that has only clients nobody answers; it announces itself all the same.
            peer_known: status.peer_known
                || &*link.losses == "link"
                || flows.iter().any(|flow| flow.remote.is_some()),
            flows: status.flows.iter().map(|(state, n)| (state.clone(), *n)).collect(),
            held_bytes: status.held_bytes,
            memory_bytes: status.memory_bytes,
            to_satellite_bps: rate(|totals| totals.delivered_bytes),
            from_satellite_bps: rate(|totals| totals.received_bytes),
            rate_bps,
            rate_from,
            used_at_bps: link.used_at_bps,
            queue_s: queue(flows),
            recent,
            losses: link.losses.clone(),
            circuit_broken: link.circuit_broken,
            limits: limits(flows),
            totals,
        }
    }
}

/// The median of the queues that flows with something in flight see.
fn queue(flows: &[FlowRow]) -> Option<f64> {
    let legs = flows.iter().filter_map(|flow| flow.over_satellite()).map(|(_, leg, _)| leg);
    let mut queues: Vec<f64> =
        legs.filter(|leg| leg.in_flight_bytes > 0).filter_map(|leg| leg.queue_s).collect();
    median(&mut queues)
}

/// The satellite's first, and the most frequent before others.
fn limits(flows: &[FlowRow]) -> Vec<Limit> {
    let mut counts: BTreeMap<(&Word, &Word), u64> = BTreeMap::new();
    for held in flows.iter().filter(|flow| flow.is_waiting()).filter_map(|it| it.held_back.as_ref())
    {
        *counts.entry((&held.side, &held.limiter)).or_default() += 1;
    }
    let limit = |((side, limiter), flows): ((&Word, &Word), u64)| Limit {
        side: side.clone(),
        limiter: limiter.clone(),
        flows,
    };
    let mut limits: Vec<Limit> = counts.into_iter().map(limit).collect();
    limits.sort_by_key(|limit| (&*limit.side != "satellite", std::cmp::Reverse(limit.flows)));
    limits
}
