//! What breaks at a moment, and what mends it.
//!
//! A link that is down is an outage like any other (it loses what is on the air, and routes do not
//! change), so its line knows of it from the beginning. Routes and gateways change here.

use crate::build::{Layout, restart, route};
use crate::node::Node;
use crate::simulation::Simulation;
use bentpipe_core::time::Instant;
use bentpipe_links::Seeds;
use bentpipe_scenario::{FaultKind, LinkIndex, NodeIndex, Scenario};

/// The moments at which something is still to change, the next one last.
#[derive(Debug)]
pub(crate) struct FaultSchedule<'a> {
    scenario: &'a Scenario,
    seeds: Seeds,
    changes: Vec<(Instant, Change)>,
    /// The links as routes see them.
    links: Vec<bentpipe_scenario::Link>,
}

#[derive(Debug, Clone, Copy)]
enum Change {
    /// A link has this cost from now on.
    Cost(LinkIndex, f64),
    /// A gateway forwards unsplit; what it held is gone.
    Crash(NodeIndex),
    /// It begins anew, empty.
    Restart(NodeIndex),
}

impl<'a> FaultSchedule<'a> {
    pub(crate) fn new(scenario: &'a Scenario, seeds: Seeds) -> FaultSchedule<'a> {
        let mut changes = Vec::new();
        for fault in &scenario.faults {
            let begin = Instant::ZERO + fault.at;
            let end = fault.lasting.map(|lasting| begin + lasting);
            let (first, then) = match fault.kind {
                FaultKind::LinkDown(_) => continue,
                FaultKind::RouteChange { link, cost } => {
                    let cost = cost.unwrap_or(f64::INFINITY);
                    (Change::Cost(link, cost), Change::Cost(link, scenario.link(link).cost))
                }
                FaultKind::GatewayCrash(gateway) => {
                    (Change::Crash(gateway), Change::Restart(gateway))
                }
            };
            changes.push((begin, first));
            changes.extend(end.map(|end| (end, then)));
        }
        // Of one moment, in the order of the file.
        changes.sort_by_key(|(at, _)| *at);
        changes.reverse();
        FaultSchedule { scenario, seeds, changes, links: scenario.links.clone() }
    }

    /// When something changes next.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.changes.last().map(|(at, _)| *at)
    }

    /// Changes what is due. What the network does at that moment has happened before.
    pub(crate) fn apply(&mut self, layout: &Layout, simulation: &mut Simulation) {
        let world = simulation.world_mut();
        while let Some((_, change)) = self.changes.pop_if(|(at, _)| *at <= world.now()) {
            match change {
                Change::Cost(link, cost) => {
                    self.links[link.0].cost = cost;
                    route(world, self.scenario, layout, &self.links);
                }
                Change::Crash(gateway) => world.replace(layout.node(gateway), Node::Router),
                Change::Restart(gateway) => {
                    let node = restart(self.scenario, gateway, self.seeds, world.now());
                    world.replace(layout.node(gateway), node);
                }
            }
        }
    }
}
