//! The last two minutes of flows, as far as this program has looked.

use super::flows::FlowRow;
use crate::command::top::look::Word;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;

/// Flows with a history. Of more that carry something at once, later ones have none: 2,000 take
/// 4 MB.
const FLOWS: usize = 2_000;

/// Different limiters that are remembered.
const LIMITERS: usize = 64;

/// A flow, which no later one can be taken for.
pub(crate) type FlowId = (usize, SocketAddr, SocketAddr);

/// What identifies a flow from look to look.
pub(crate) fn id(flow: &FlowRow) -> FlowId {
    (flow.number, flow.client, flow.server)
}

/// A flow at one look.
#[derive(Debug, Clone, Copy)]
struct Sample {
    up_bps: f32,
    down_bps: f32,
    /// Over the satellite; not a number if not measured.
    srtt_s: f32,
    /// Of the leg that held it back, by its place in the list of limiters.
    limiter: Option<u8>,
}

/// The samples of a flow.
#[derive(Debug, Default)]
struct History {
    samples: VecDeque<Sample>,
}

/// The samples of all flows that have carried something.
#[derive(Debug)]
pub(crate) struct Histories {
    flows: HashMap<FlowId, History>,
    limiters: Vec<Word>,
    samples: usize,
}

/// The history of a flow, for showing: the latest sample is the last.
#[derive(Debug, Default)]
pub(crate) struct Curves {
    pub(crate) up_bps: Vec<f64>,
    pub(crate) down_bps: Vec<f64>,
    pub(crate) srtt_s: Vec<Option<f64>>,
    /// The share of the samples in which each limiter held the flow back, the largest first.
    pub(crate) limiters: Vec<(Word, f64)>,
}

impl Histories {
    /// None yet. Each keeps so many samples.
    pub(super) fn new(samples: usize) -> Histories {
        Histories { flows: HashMap::new(), limiters: Vec::new(), samples: samples.max(1) }
    }

    pub(super) fn clear(&mut self) {
        self.flows.clear();
    }

    /// How many samples one has at most.
    pub(crate) fn samples(&self) -> usize {
        self.samples
    }

    /// Samples each flow; forgets those that are gone.
    pub(super) fn sample(&mut self, flows: &[FlowRow]) {
        let mut gone = std::mem::take(&mut self.flows);
        for flow in flows {
            let history = gone.remove(&id(flow));
            let carries = flow.up_bps().unwrap_or(0.0) + flow.down_bps().unwrap_or(0.0) > 0.0;
            let has_room = self.flows.len() < FLOWS && carries;
            let Some(mut history) = history.or_else(|| has_room.then(History::default)) else {
                continue;
            };
            let limiter = flow.held_back.as_ref().and_then(|held| self.place(&held.limiter));
            let over_satellite = flow.over_satellite().and_then(|(_, leg, _)| leg.srtt_s);
            while history.samples.len() >= self.samples {
                history.samples.pop_front();
            }
            history.samples.push_back(Sample {
                up_bps: flow.up_bps().unwrap_or(0.0) as f32,
                down_bps: flow.down_bps().unwrap_or(0.0) as f32,
                srtt_s: over_satellite.map_or(f32::NAN, |srtt| srtt as f32),
                limiter,
            });
            self.flows.insert(id(flow), history);
        }
    }

    fn place(&mut self, limiter: &Word) -> Option<u8> {
        let known = self.limiters.iter().position(|it| it == limiter);
        let place = known.or_else(|| {
            let has_room = self.limiters.len() < LIMITERS;
            has_room.then(|| {
                self.limiters.push(limiter.clone());
                self.limiters.len() - 1
            })
        });
        place.and_then(|place| u8::try_from(place).ok())
    }

    /// The history of a flow, if it has one.
    pub(crate) fn of(&self, flow: FlowId) -> Option<Curves> {
        let samples = &self.flows.get(&flow)?.samples;
        let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
        for limiter in samples.iter().filter_map(|sample| sample.limiter) {
            *counts.entry(limiter).or_default() += 1;
        }
        let mut limiters: Vec<(Word, f64)> = counts
            .into_iter()
            .map(|(place, count)| {
                (self.limiters[usize::from(place)].clone(), count as f64 / samples.len() as f64)
            })
            .collect();
        limiters.sort_by(|a, b| b.1.total_cmp(&a.1));
        Some(Curves {
            up_bps: samples.iter().map(|sample| f64::from(sample.up_bps)).collect(),
            down_bps: samples.iter().map(|sample| f64::from(sample.down_bps)).collect(),
            srtt_s: samples
                .iter()
                .map(|sample| Some(f64::from(sample.srtt_s)).filter(|srtt| srtt.is_finite()))
                .collect(),
            limiters,
        })
    }
}
