//! One run of a scenario, from its beginning to its results.

use crate::build::{Built, Layout, build};
use crate::capture::{Capture, PacketSink};
use crate::faults;
use crate::record::{GatewayRow, LinkRow, Outcome, RunRow, Sampler, Tally, fairness};
use crate::stream::Stream;
use crate::world::World;
use bentpipe_core::link::{Count, Counters, Occupancy};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_gateway::Summary;
use bentpipe_scenario::{NodeIndex, NodeKind, RunEnd, Scenario};

/// What goes wrong in a run, apart from panics: none of it is the scenario's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A line's packets do not add up.
    #[error("packets on link {link} do not add up: {counters:?}, {inside:?} inside")]
    Conservation {
        /// The link's name.
        link: String,
        /// What it has counted.
        counters: Counters,
        /// What is still inside.
        inside: Count,
    },
    /// The caller does not want the run any more.
    #[error("the run was given up")]
    Cancelled,
}

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
    go_on: impl FnMut(f64) -> bool,
) -> Result<Outcome, RunError> {
    run_captured(scenario, run, None, go_on)
}

/// As [`run`], and hands every packet that passes a host to `sink`, of those hosts and flows that
/// [`Record`](bentpipe_scenario::Record) names. A capture looks and changes nothing: the outcome is the same with and without.
///
/// # Errors
/// [`RunError`].
pub fn run_captured(
    scenario: &Scenario,
    run: u64,
    sink: Option<Box<dyn PacketSink>>,
    mut go_on: impl FnMut(f64) -> bool,
) -> Result<Outcome, RunError> {
    let Built { mut simulation, layout, seeds } = build(scenario, run);
    let warm_up = Instant::ZERO + scenario.run.warm_up;
    let limit = Instant::ZERO + scenario.run.duration;
    if let Some(sink) = sink {
        simulation.world_mut().capture(Capture::new(scenario, &layout, sink));
    }
    let mut sampler = Sampler::new(scenario, &layout, &mut simulation);
    let mut faults = faults::FaultSchedule::new(scenario);
    let mut now = Instant::ZERO;
    let mut advance = |simulation: &mut crate::Simulation, until: Instant| {
        while now < until {
            now = until.min(now + TICK);
            // Samples in between change nothing: a run ends where it would without.
            let due = |at: &Instant| *at <= now;
            let sample = |sampler: &Option<Sampler<'_>>| sampler.as_ref().map(Sampler::next);
            while let Some(at) = sample(&sampler).into_iter().chain(faults.next()).filter(due).min()
            {
                simulation.run(at);
                faults.apply(&layout, simulation);
                if let Some(sampler) = &mut sampler {
                    sampler.take(simulation);
                }
            }
            let more = simulation.run(now);
            let over = scenario.run.end == RunEnd::FlowsDone && simulation.records().all_done();
            if over || !more {
                return Ok(false);
            }
            if !go_on(now.as_secs_f64() / limit.as_secs_f64()) {
                return Err(RunError::Cancelled);
            }
        }
        Ok(true)
    };
    let goes_on = advance(&mut simulation, warm_up)?;
    let tallies = simulation.records().tallies(simulation.world());
    let before: Vec<_> = layout.lines().map(|line| counts(simulation.world_mut(), line)).collect();
    let gateways_before = gateway_counts(scenario, &layout, simulation.world());
    if goes_on {
        advance(&mut simulation, limit)?;
    }
    let after: Vec<_> = layout.lines().map(|line| counts(simulation.world_mut(), line)).collect();
    let series = sampler.map(|sampler| sampler.finish(&mut simulation)).unwrap_or_default();
    let (records, world) = (simulation.records(), simulation.world());
    let end = records.last_finish().filter(|_| scenario.run.end == RunEnd::FlowsDone);
    let end = end.filter(|_| records.all_done()).unwrap_or(limit);
    let measured = (warm_up.min(end), end);
    let links = links(scenario, &layout, world, [&before, &after], measured)?;
    let gateways = gateways(scenario, &layout, world, &gateways_before);
    let (flows, transfers) = records.rows(world, &tallies, measured);
    let foreground: Vec<_> = flows.iter().filter(|flow| !flow.background).collect();
    let goodputs: Vec<f64> = foreground.iter().map(|flow| flow.goodput).collect();
    let busiest = links.iter().filter_map(LinkRow::utilisation).reduce(f64::max);
    let run = RunRow {
        seed: seeds.run(),
        end: end.saturating_since(Instant::ZERO),
        goodput: goodputs.iter().sum(),
        fairness: fairness(&goodputs),
        utilisation: busiest,
        dropped: links.iter().map(|link| link.counters.dropped.packets).sum(),
        lost: links.iter().map(|link| link.counters.lost.packets).sum(),
        tally: Tally::total(foreground.iter().map(|flow| &flow.tally)),
        packets: world.packets(),
        digest: world.trace(),
    };
    Ok(Outcome { run, flows, transfers, links, gateways, series })
}

/// What a line has done up to now.
fn counts(world: &mut World<Stream>, line: usize) -> (Counters, Occupancy) {
    world.refresh(line);
    let line = world.line(line);
    (line.counters(), line.link().bottleneck().occupancy().at(world.now()))
}

fn links(
    scenario: &Scenario,
    layout: &Layout,
    world: &World<Stream>,
    [before, after]: [&[(Counters, Occupancy)]; 2],
    measured: (Instant, Instant),
) -> Result<Vec<LinkRow>, RunError> {
    let mut rows = Vec::new();
    for (index, link) in scenario.links.iter().enumerate() {
        for (way, (from, to, direction)) in link.directions().into_iter().enumerate() {
            let line = world.line(layout.links[index].lines[way]);
            let ((earlier, queue), (all, later)) = (before[rows.len()], after[rows.len()]);
            let inside = line.link().inside();
            if all.offered != all.dropped + all.lost + all.delivered + inside {
                let link = link.name.clone();
                return Err(RunError::Conservation { link, counters: all, inside });
            }
            let name = |index: NodeIndex| scenario.node(index).name.clone();
            rows.push(LinkRow {
                name: link.name.clone(),
                from: name(from),
                to: name(to),
                counters: all - earlier,
                capacity: direction
                    .rate
                    .as_ref()
                    .map(|rate| rate.bytes_between(measured.0, measured.1)),
                mean_queue: later.mean_since(&queue),
                longest_queue: later.longest(),
            });
        }
    }
    Ok(rows)
}

/// What each gateway has held and counted up to now, by its name.
fn gateway_counts<'a>(
    scenario: &'a Scenario,
    layout: &Layout,
    world: &World<Stream>,
) -> Vec<(&'a str, Occupancy, Summary)> {
    let nodes = scenario.nodes.iter().zip(&layout.nodes);
    let gateways = nodes.filter(|(node, _)| matches!(node.kind, NodeKind::Gateway(_)));
    let counts = gateways.map(|(node, id)| {
        let (held, summary) = world.gateway_counts(*id);
        (node.name.as_str(), held, summary)
    });
    counts.collect()
}

fn gateways(
    scenario: &Scenario,
    layout: &Layout,
    world: &World<Stream>,
    before: &[(&str, Occupancy, Summary)],
) -> Vec<GatewayRow> {
    let after = gateway_counts(scenario, layout, world);
    let rows = after.into_iter().zip(before).map(|((name, held, all), (_, earlier, then))| {
        let (_, mean_held) = held.mean_since(earlier);
        let max_held = held.longest().bytes;
        GatewayRow { name: name.to_owned(), summary: all - *then, mean_held, max_held }
    });
    rows.collect()
}
