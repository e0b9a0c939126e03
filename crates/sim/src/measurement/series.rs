//! Time series: what the scenario's `[record]` asks for, sampled at whole multiples of its
//! interval.
//!
//! Sampling looks and changes nothing: a run's digest is the same with and without.

use super::Role;
use super::output::Output;
use super::sequence::SequenceLog;
use crate::build::Layout;
use crate::node::Node;
use crate::simulation::Simulation;
use crate::stream::Stream;
use crate::world::{LineId, NodeId, World};
use bentpipe_core::text::Choice;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_results::{FlowCounts, Sample, SeriesSink};
use bentpipe_scenario::{
    FlowSeries, GatewaySeries, LinkSeries, NodeKind, Scenario, SeriesRecording,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Takes samples during a run.
#[derive(Debug)]
pub(crate) struct Sampler<'a> {
    recording: &'a SeriesRecording,
    next: Instant,
    last: Instant,
    /// By flow of the run: its name, if it is to be sampled.
    flows: Vec<Option<Arc<str>>>,
    /// Bytes delivered up to the last sample, by flow.
    delivered: Vec<u64>,
    links: Vec<Probe<'a>>,
    gateways: Vec<(Arc<str>, NodeId)>,
    middleboxes: Vec<(Arc<str>, NodeId)>,
    output: Output,
}

/// A direction of a link that is sampled.
#[derive(Debug)]
struct Probe<'a> {
    name: Arc<str>,
    line: LineId,
    direction: &'a bentpipe_links::DirectionSpec,
    sent: u64,
    drops: u64,
    losses: u64,
}

/// What a flow's live sources are like: windows and flights add up, the others are those of the
/// connection that was opened first at the host that was added first.
#[derive(Debug, Default, Clone, Copy)]
struct Sources {
    cwnd: u64,
    flight: u64,
    ssthresh: Option<u64>,
    srtt: Option<Duration>,
    rto: Option<Duration>,
    any: bool,
}

impl<'a> Sampler<'a> {
    /// None if nothing is to be recorded. Samples go to `sink`.
    pub(crate) fn new(
        scenario: &'a Scenario,
        layout: &Layout,
        simulation: &mut Simulation,
        sink: Box<dyn SeriesSink>,
    ) -> Option<Sampler<'a>> {
        let recording = &scenario.record;
        if !recording.has_series() {
            return None;
        }
        let chosen =
            |index: usize| recording.flows.as_ref().is_none_or(|some| some.contains(&index));
        let names: BTreeSet<String> = (scenario.flows.iter().enumerate())
            .filter(|(index, _)| chosen(*index) && !recording.flow.is_empty())
            .flat_map(|(_, flow)| flow.instances())
            .collect();
        let flows: Vec<Option<Arc<str>>> = (simulation.meters().flows().iter())
            .map(|flow| names.contains(&flow.name).then(|| flow.name.as_str().into()))
            .collect();
        let next = Instant::ZERO + recording.interval;
        let output = Output::new(sink, next);
        if recording.flow.contains(&FlowSeries::Sequence) {
            simulation.record_sequence(SequenceLog::new(flows.clone(), output.clone()));
        }
        let mut links = Vec::new();
        for (index, link) in scenario.links.iter().enumerate() {
            let chosen =
                |some: &Vec<bentpipe_scenario::LinkIndex>| some.iter().any(|i| i.0 == index);
            if recording.link.is_empty() || !recording.links.as_ref().is_none_or(chosen) {
                continue;
            }
            let ways = [("forward", &link.forward), ("back", &link.back)];
            for (way, (name, direction)) in ways.into_iter().enumerate() {
                links.push(Probe {
                    name: format!("{}/{name}", link.name).into(),
                    line: layout.links[index].lines[way],
                    direction,
                    sent: 0,
                    drops: 0,
                    losses: 0,
                });
            }
        }
        let gateways = scenario.nodes.iter().zip(&layout.nodes);
        let gateways = gateways.filter(|(node, _)| matches!(node.kind, NodeKind::Gateway(_)));
        let middleboxes = layout.middleboxes.iter();
        let middleboxes =
            middleboxes.map(|(index, id)| (scenario.middleboxes[*index].name.as_str().into(), *id));
        Some(Sampler {
            recording,
            next,
            last: Instant::ZERO,
            delivered: vec![0; flows.len()],
            flows,
            links,
            gateways: gateways.map(|(node, id)| (node.name.as_str().into(), *id)).collect(),
            middleboxes: middleboxes.collect(),
            output,
        })
    }

    /// When the next sample is due.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Takes a sample if it is due.
    pub(crate) fn take(&mut self, simulation: &mut Simulation) {
        let now = simulation.world().now();
        if now < self.next {
            return;
        }
        let seconds = now.saturating_since(self.last).as_secs_f64();
        self.flows(simulation, now, seconds);
        self.links(simulation.world_mut(), now, seconds);
        for index in 0..self.gateways.len() {
            let (name, id) = self.gateways[index].clone();
            // One that has crashed is a router.
            let Node::Gateway(gateway, _) = simulation.world().node(id) else { continue };
            for series in &self.recording.gateway {
                let value = match series {
                    GatewaySeries::Memory => gateway.held(),
                    GatewaySeries::Flows => gateway.flows(),
                };
                add(&self.output, now, &name, series.name(), value as f64);
            }
        }
        for (name, id) in &self.middleboxes {
            let Node::Middlebox(middlebox) = simulation.world().node(*id) else { continue };
            for series in &self.recording.middlebox {
                if let Some(value) = middlebox.observed(*series, self.last) {
                    add(&self.output, now, name, series.name(), value);
                }
            }
        }
        self.last = now;
        self.next = now + self.recording.interval;
        self.output.complete(self.next);
    }

    fn flows(&mut self, simulation: &Simulation, now: Instant, seconds: f64) {
        if self.recording.flow.iter().all(|series| *series == FlowSeries::Sequence) {
            return;
        }
        let (meters, world) = (simulation.meters(), simulation.world());
        let mut sources = vec![Sources::default(); self.flows.len()];
        for (&end, &(flow, role)) in &meters.ends {
            if role == Role::Source
                && let Some(sources) = sources.get_mut(flow.0)
                && let Some((connection, _)) = world.session(end)
                && let Some(tcb) = connection.tcb()
            {
                let sender = &tcb.sender;
                sources.cwnd += sender.cwnd().count();
                sources.flight += sender.in_flight().count();
                if !sources.any {
                    sources.any = true;
                    // Without bound until the first loss.
                    sources.ssthresh =
                        Some(sender.ssthresh().count()).filter(|bytes| *bytes < 1 << 40);
                    sources.srtt = sender.rtt().srtt();
                    sources.rto = Some(sender.rtt().rto());
                }
            }
        }
        let counts: Vec<FlowCounts> = match self.recording.flow.contains(&FlowSeries::Throughput) {
            true => meters.counts(world),
            false => Vec::new(),
        };
        for (index, name) in self.flows.iter().enumerate() {
            let (Some(name), at) = (name, &sources[index]) else { continue };
            let time = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
            for series in &self.recording.flow {
                let value = match series {
                    FlowSeries::Cwnd => at.any.then_some(at.cwnd as f64),
                    FlowSeries::Ssthresh => at.ssthresh.map(|bytes| bytes as f64),
                    FlowSeries::Flight => at.any.then_some(at.flight as f64),
                    FlowSeries::Srtt => time(at.srtt),
                    FlowSeries::Rto => time(at.rto),
                    FlowSeries::Throughput => counts.get(index).map(|counts| {
                        let bytes = counts.delivered - self.delivered[index];
                        self.delivered[index] = counts.delivered;
                        bytes as f64 * 8.0 / seconds
                    }),
                    FlowSeries::Sequence => None,
                };
                if let Some(value) = value {
                    add(&self.output, now, name, series.name(), value);
                }
            }
        }
    }

    fn links(&mut self, world: &mut World<Stream>, now: Instant, seconds: f64) {
        for probe in &mut self.links {
            world.refresh(probe.line);
            let line = world.line(probe.line);
            let (counters, queued) = (line.link().counters(), line.link().queued());
            let lost = line.counters().lost.packets;
            let sent = counters.offered.bytes - counters.dropped.bytes - queued.bytes;
            let put = |quantity, value| add(&self.output, now, &probe.name, quantity, value);
            for series in &self.recording.link {
                match series {
                    LinkSeries::Queue => {
                        put("queue-packets", queued.packets as f64);
                        put("queue-bytes", queued.bytes as f64);
                    }
                    LinkSeries::Throughput => {
                        put(series.name(), (sent - probe.sent) as f64 * 8.0 / seconds);
                    }
                    LinkSeries::Drops => {
                        put(series.name(), (counters.dropped.packets - probe.drops) as f64);
                    }
                    LinkSeries::Losses => {
                        put(series.name(), (lost - probe.losses) as f64);
                    }
                    LinkSeries::Delay => {
                        put(series.name(), probe.direction.delay.at(now).as_secs_f64());
                    }
                }
            }
            probe.sent = sent;
            (probe.drops, probe.losses) = (counters.dropped.packets, lost);
        }
    }
}

fn add(output: &Output, at: Instant, element: &Arc<str>, quantity: &'static str, value: f64) {
    output.sampled(&Sample { at, element: element.clone(), quantity, value });
}
