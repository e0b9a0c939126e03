//! One run of a scenario, from its beginning to its results.

use crate::build::{Built, Layout, build};
use crate::capture::Capture;
use crate::faults;
use crate::measurement::Sampler;
use crate::simulation::Simulation;
use crate::stream::Stream;
use crate::world::World;
use bentpipe_core::link::{Counters, Lengths, Occupancy};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_gateway::{PerSide, Reason, Summary};
use bentpipe_results::{
    FlowCounts, GatewayRow, GroupRow, LegCounts, LinkRow, RunError, RunResults, RunRow, Sample,
    SeriesSink, Sinks, most_goodputs,
};
use bentpipe_scenario::{NodeIndex, NodeKind, RunEnd, Scenario};
use std::cell::RefCell;
use std::rc::Rc;

/// How often a run asks whether it is to go on, in virtual time.
const TICK: Duration = Duration::from_secs(1);

/// Runs `scenario` for the `run`th time, counted from zero. `go_on` is asked now and then, with
/// the share of the run's duration that has passed; when it says no, the run is given up.
///
/// # Errors
/// [`RunError`].
pub fn run(
    scenario: &Scenario,
    run: u64,
    mut go_on: impl FnMut(f64) -> bool,
) -> Result<RunResults, RunError> {
    run_into(scenario, run, Sinks::default(), &mut go_on)
}

/// As [`run`], and hands what is recorded to `sinks` as it comes.
///
/// # Errors
/// [`RunError`].
pub fn run_into(
    scenario: &Scenario,
    run: u64,
    sinks: Sinks,
    go_on: &mut dyn FnMut(f64) -> bool,
) -> Result<RunResults, RunError> {
    scenario.check_simulated().map_err(|error| RunError::Failed(error.to_string()))?;
    let Built { mut simulation, layout, seeds } = build(scenario, run);
    let warm_up = Instant::ZERO + scenario.run.warm_up;
    let limit = Instant::ZERO + scenario.run.duration;
    let captured = sinks.packets.is_some() || sinks.events.is_some();
    if captured {
        let capture = Capture::new(scenario, &layout, sinks.packets, sinks.events);
        simulation.world_mut().capture(capture);
    }
    let collected = Collected::default();
    let sink = sinks.series.unwrap_or_else(|| Box::new(collected.clone()));
    let mut sampler = Sampler::new(scenario, &layout, &mut simulation, sink);
    simulation.end_with_flows(scenario.run.end == RunEnd::FlowsDone);
    let mut faults = faults::FaultSchedule::new(scenario, seeds);
    let mut now = Instant::ZERO;
    let mut advance = |simulation: &mut Simulation, until: Instant| {
        while now < until {
            now = until.min(now + TICK);
            // Samples in between change nothing: a run ends where it would without.
            let due = |at: &Instant| *at <= now;
            let sample = |sampler: &Option<Sampler<'_>>| sampler.as_ref().map(Sampler::next);
            while let Some(at) = sample(&sampler).into_iter().chain(faults.next()).filter(due).min()
                && !simulation.is_over()
            {
                simulation.run(at);
                if simulation.is_over() && simulation.world().now() < at {
                    break;
                }
                faults.apply(&layout, simulation);
                if let Some(sampler) = &mut sampler {
                    sampler.take(simulation);
                }
            }
            if !simulation.run(now) {
                return Ok(false);
            }
            if !go_on(now.as_secs_f64() / limit.as_secs_f64()) {
                return Err(RunError::Cancelled);
            }
        }
        Ok(true)
    };
    let goes_on = advance(&mut simulation, warm_up)?;
    // Where nothing is left to happen, time goes on all the same.
    if !goes_on {
        simulation.run(warm_up);
    }
    let before = Counts::of(scenario, &layout, &mut simulation);
    if goes_on {
        advance(&mut simulation, limit)?;
    }
    simulation.run(limit);
    let end = simulation.world().now();
    let after = Counts::of(scenario, &layout, &mut simulation);
    let (meters, world) = (simulation.meters(), simulation.world());
    let measured = (warm_up.min(end), end);
    let links = links(scenario, &layout, world, [&before, &after], measured)?;
    let gateways = gateways(&before, after);
    let max = most_goodputs(scenario);
    let (flows, transfers) = meters.rows(world, &before.flows, measured, &max);
    let run = RunRow {
        packets: Some(world.packets()),
        digest: Some(world.trace()),
        ..RunRow::of(seeds.run(), measured, &flows, &links)
    };
    if captured && simulation.is_over() {
        // Captures show how the last connections are closed.
        simulation.end_with_flows(false);
        simulation.end_sequence();
        simulation.run(now);
    }
    let series = collected.take();
    let groups = GroupRow::all(scenario, &flows);
    Ok(RunResults { run, flows, transfers, links, gateways, groups, series })
}

/// Series that nobody takes.
#[derive(Debug, Clone, Default)]
struct Collected(Rc<RefCell<Vec<Sample>>>);

impl Collected {
    fn take(&self) -> Vec<Sample> {
        self.0.take()
    }
}

impl SeriesSink for Collected {
    fn sample(&mut self, sample: &Sample) {
        self.0.borrow_mut().push(sample.clone());
    }
}

/// What has been counted up to a moment.
struct Counts {
    /// By flow.
    flows: Vec<FlowCounts>,
    /// By direction of a link.
    lines: Vec<LineCounts>,
    /// By gateway: its name, and what it has held and counted.
    gateways: Vec<(String, Occupancy, Summary)>,
}

struct LineCounts {
    counters: Counters,
    occupancy: Occupancy,
    lengths: Lengths,
}

impl Counts {
    /// Up to now.
    fn of(scenario: &Scenario, layout: &Layout, simulation: &mut Simulation) -> Counts {
        let flows = simulation.meters().counts(simulation.world());
        let world = simulation.world_mut();
        let lines = layout.lines().map(|line| {
            world.refresh(line);
            let (now, line) = (world.now(), world.line(line));
            let link = line.link();
            LineCounts {
                counters: line.counters(),
                occupancy: link.bottleneck().occupancy().at(now),
                lengths: link.bottleneck().lengths(now),
            }
        });
        let lines = lines.collect();
        let nodes = scenario.nodes.iter().zip(&layout.nodes);
        let gateways = nodes.filter(|(node, _)| matches!(node.kind, NodeKind::Gateway(_)));
        let gateways = gateways.map(|(node, id)| {
            let (held, summary) = world.gateway_counts(*id);
            (node.name.clone(), held, summary)
        });
        let gateways = gateways.collect();
        Counts { flows, lines, gateways }
    }
}

fn links(
    scenario: &Scenario,
    layout: &Layout,
    world: &World<Stream>,
    [before, after]: [&Counts; 2],
    measured: (Instant, Instant),
) -> Result<Vec<LinkRow>, RunError> {
    let mut rows = Vec::new();
    for (index, link) in scenario.links.iter().enumerate() {
        for (way, (from, to, direction)) in link.directions().into_iter().enumerate() {
            let line = world.line(layout.links[index].lines[way]).link();
            let (earlier, later) = (&before.lines[rows.len()], &after.lines[rows.len()]);
            let (inside, all) = (line.inside(), later.counters);
            if all.offered != all.dropped + all.lost + all.delivered + inside {
                let link = link.name.clone();
                return Err(RunError::Conservation { link, counters: all, inside });
            }
            let name = |index: NodeIndex| scenario.node(index).name.clone();
            let rate = direction.rate.as_ref();
            rows.push(LinkRow {
                name: link.name.clone(),
                from: name(from),
                to: name(to),
                counters: all - earlier.counters,
                measured: measured.1.saturating_since(measured.0),
                capacity: rate.map(|rate| rate.bytes_between(measured.0, measured.1)),
                mean_queue: later.occupancy.mean_since(&earlier.occupancy),
                lengths: rate.map(|_| later.lengths.clone().since(&earlier.lengths)),
                longest_queue: later.occupancy.longest(),
            });
        }
    }
    Ok(rows)
}

fn gateways(before: &Counts, after: Counts) -> Vec<GatewayRow> {
    let rows = after.gateways.into_iter().zip(&before.gateways);
    let rows = rows.map(|((name, held, all), (_, earlier, then))| {
        let (_, mean_held) = held.mean_since(earlier);
        GatewayRow {
            mean_held: Some(mean_held),
            max_held: Some(held.longest().bytes),
            ..gateway(name, &(all - *then))
        }
    });
    rows.collect()
}

/// The row of a gateway that has counted this, without the bytes that it has held.
fn gateway(name: String, summary: &Summary) -> GatewayRow {
    GatewayRow {
        name,
        split: Some(summary.split),
        adopted: Some(summary.adopted),
        closed: Some(summary.closed),
        reset: Some(summary.reset),
        released: Some(summary.all_released()),
        lost_bytes: Some(summary.lost_bytes),
        forwarded_flows: Some(summary.all_forwarded_flows()),
        forwarded_packets: Reason::ALL.map(|reason| Some(summary.forwarded_packets(reason))),
        legs: PerSide::of(|side| {
            let leg = summary.side(side);
            LegCounts {
                received_bytes: Some(leg.received_bytes),
                delivered_bytes: Some(leg.delivered_bytes),
                retransmissions: Some(leg.retransmissions),
                retransmitted_bytes: Some(leg.retransmitted_bytes),
                timeouts: Some(leg.timeouts),
                recovery_timeouts: Some(leg.recovery_timeouts),
                recoveries: Some(leg.recoveries),
                reductions: Some(leg.reductions),
                reduced_again: Some(leg.reduced_again),
            }
        }),
        mean_held: None,
        max_held: None,
    }
}
