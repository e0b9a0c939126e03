//! Sums of flows: by subscriber, and by remote.

use super::flows::{FlowRow, HeldBack};
use super::recent::Recent;
use crate::command::top::look::{Remote, Word};
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host that has opened flows.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SubscriberRow {
    pub(crate) address: IpAddr,
    #[serde(flatten)]
    pub(crate) sums: Sums,
}

/// The other end of the satellite link.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RemoteRow {
    /// A gateway's name, or the network of the hosts behind it where none is known.
    pub(crate) name: Word,
    /// The median of its flows.
    pub(crate) srtt_s: Option<f64>,
    /// The median of its flows.
    pub(crate) queue_s: Option<f64>,
    /// The rate at which flows take turns on its link, if that is known.
    pub(crate) used_at_bps: Option<u64>,
    pub(crate) window_bytes: Option<u64>,
    /// Those towards the satellite count as up.
    #[serde(flatten)]
    pub(crate) sums: Sums,
}

/// Sums over the flows of a group that there are.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Sums {
    pub(crate) flows: u64,
    pub(crate) up_bps: f64,
    pub(crate) down_bps: f64,
    pub(crate) up_bytes: u64,
    pub(crate) down_bytes: u64,
    pub(crate) held_bytes: u64,
    #[serde(rename = "retransmitted_share")]
    pub(crate) recent: Recent,
    /// What holds back most of those that have something waiting, or else of all.
    pub(crate) held_back: Option<HeldBack>,
    /// How many flows have something waiting for it, and how many it limits in all.
    #[serde(skip)]
    causes: BTreeMap<HeldBack, (u64, u64)>,
}

impl Sums {
    fn add(&mut self, flow: &FlowRow) {
        self.flows += 1;
        self.held_bytes = self.held_bytes.saturating_add(flow.held_bytes);
        if let Some(cause) = &flow.held_back {
            let (waiting, all) = self.causes.entry(cause.clone()).or_default();
            *waiting += u64::from(flow.is_waiting());
            *all += 1;
        }
    }

    fn conclude(&mut self) {
        let most = self.causes.iter().max_by_key(|(_, count)| **count);
        self.held_back = most.map(|(cause, _)| cause.clone());
    }
}

/// The subscribers, by address.
pub(super) fn subscribers(flows: &[FlowRow]) -> Vec<SubscriberRow> {
    let mut groups: BTreeMap<IpAddr, Sums> = BTreeMap::new();
    for flow in flows {
        let sums = groups.entry(flow.opener).or_default();
        sums.add(flow);
        if let Some(legs) = &flow.legs {
            sums.up_bps += legs.server.rate_bps.unwrap_or(0.0);
            sums.down_bps += legs.client.rate_bps.unwrap_or(0.0);
            sums.up_bytes = sums.up_bytes.saturating_add(legs.server.delivered_bytes);
            sums.down_bytes = sums.down_bytes.saturating_add(legs.client.delivered_bytes);
            sums.recent = sums.recent.with(legs.server.recent).with(legs.client.recent);
        }
    }
    let row = |(address, mut sums): (IpAddr, Sums)| {
        sums.conclude();
        SubscriberRow { address, sums }
    };
    groups.into_iter().map(row).collect()
}

/// The remotes, by name. What `known` says of them is added.
pub(super) fn remotes(flows: &[FlowRow], known: &[Remote]) -> Vec<RemoteRow> {
    #[derive(Default)]
    struct Group {
        sums: Sums,
        srtts: Vec<f64>,
        queues: Vec<f64>,
    }
    let mut groups: BTreeMap<Word, Group> = BTreeMap::new();
    for remote in known {
        groups.insert(remote.name.clone(), Group::default());
    }
    for flow in flows {
        let Some((_, to, from)) = flow.over_satellite() else { continue };
        let Some(name) = remote_of(flow) else { continue };
        let Group { sums, srtts, queues } = groups.entry(name).or_default();
        sums.add(flow);
        sums.up_bps += to.rate_bps.unwrap_or(0.0);
        sums.down_bps += from.rate_bps.unwrap_or(0.0);
        sums.up_bytes = sums.up_bytes.saturating_add(to.delivered_bytes);
        sums.down_bytes = sums.down_bytes.saturating_add(from.delivered_bytes);
        sums.recent = sums.recent.with(to.recent);
        srtts.extend(to.srtt_s);
        queues.extend(to.queue_s.filter(|_| to.in_flight_bytes > 0));
    }
    let row = |(name, group): (Word, Group)| {
        let Group { mut sums, mut srtts, mut queues } = group;
        sums.conclude();
        let of = known.iter().find(|remote| remote.name == name);
        RemoteRow {
            srtt_s: median(&mut srtts),
            queue_s: median(&mut queues),
            used_at_bps: of.and_then(|remote| remote.used_at_bps),
            window_bytes: of.and_then(|remote| remote.window_bytes),
            name,
            sums,
        }
    };
    groups.into_iter().map(row).collect()
}

/// The name of the remote to which a flow leads.
pub(crate) fn remote_of(flow: &FlowRow) -> Option<Word> {
    let (host, ..) = flow.over_satellite()?;
    Some(flow.remote.clone().unwrap_or_else(|| network(host)))
}

/// The /24 or /48 of a host.
fn network(host: IpAddr) -> Word {
    let text = match host {
        IpAddr::V4(host) => {
            let [a, b, c, _] = host.octets();
            format!("{}/24", Ipv4Addr::new(a, b, c, 0))
        }
        IpAddr::V6(host) => {
            let [a, b, c, ..] = host.segments();
            format!("{}/48", Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
        }
    };
    text.into()
}

/// The middle one, if there is any.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
