//! A scenario's flows as workloads.

use super::Layout;
use crate::simulation::Simulation;
use crate::workload::Bulk;
use bentpipe_core::time::Instant;
use bentpipe_scenario::{Flow, Scenario, Seeds, Workload};

/// Adds the workload of every flow.
pub(super) fn add(simulation: &mut Simulation, scenario: &Scenario, layout: &Layout, seeds: Seeds) {
    // Each flow has a port of its own at the host that listens.
    let mut port = 1;
    for flow in &scenario.flows {
        for instance in flow.instances() {
            one(simulation, flow, &instance, layout, seeds, port);
            port += 1;
        }
    }
}

fn one(
    simulation: &mut Simulation,
    flow: &Flow,
    instance: &str,
    layout: &Layout,
    seeds: Seeds,
    port: u16,
) {
    let mut rng = seeds.rng(&format!("flow.{instance}/start"));
    let start = Instant::ZERO + flow.start.sample(&mut rng);
    let record = simulation.records_mut().add(instance.to_owned(), flow.background);
    let (from, to) = (layout.node(flow.from), layout.node(flow.to));
    match &flow.workload {
        Workload::Bulk { bytes, opened_by } => {
            let mut rng = seeds.rng(&format!("flow.{instance}/size"));
            simulation.add(Bulk {
                flow: record,
                from,
                to,
                opened_by: *opened_by,
                port,
                tcp_from: flow.tcp_from,
                tcp_to: flow.tcp_to,
                bytes: bytes.as_ref().map(|bytes| bytes.sample(&mut rng).count()),
                start,
                transfer: None,
            });
        }
        other => todo!("{other:?}"),
    }
}
