//! What the tests of scenarios have in common: from text to an outcome, and what to look at there.

use bentpipe_results::{ExtendedCounts, FlowCounts, FlowRow, LinkRow, RunResults};
use bentpipe_scenario::Scenario;
use bentpipe_sim::run;
use std::fmt::Write;

/// The scenario that a text describes.
pub(crate) fn parsed(text: &str) -> Scenario {
    Scenario::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What run 0 of a scenario comes to.
pub(crate) fn played(scenario: &Scenario) -> RunResults {
    run(scenario, 0, |_| true).expect("it is not given up")
}

/// What run 0 of a text comes to.
pub(crate) fn outcome(text: &str) -> RunResults {
    played(&parsed(text))
}

/// The flow `main`.
pub(crate) fn main_flow(outcome: &RunResults) -> &FlowRow {
    outcome.flows.iter().find(|flow| flow.name == "main").expect("a flow `main`")
}

/// What the simulator's own TCPs have counted.
pub(crate) fn extended(counts: &FlowCounts) -> ExtendedCounts {
    counts.extended.expect("every simulated TCP is one of ours")
}

/// The timeouts of a simulated flow.
pub(crate) fn timeouts(counts: &FlowCounts) -> u64 {
    counts.timeouts.expect("every simulated TCP is one of ours")
}

/// The direction of link `name` that begins at the node `from`.
pub(crate) fn link<'a>(outcome: &'a RunResults, name: &str, from: &str) -> &'a LinkRow {
    let found = outcome.links.iter().find(|link| link.name == name && link.from == from);
    found.unwrap_or_else(|| panic!("no link {name} from {from}"))
}

/// An outcome in few words, for the message of an assertion: a line for the run and one for each
/// flow and each link.
pub(crate) fn brief(outcome: &RunResults) -> String {
    let RunResults { run, flows, links, .. } = outcome;
    let mut text = format!(
        "ended at {:?}, {} dropped, {} lost, utilisation {:?}\n",
        run.end, run.dropped, run.lost, run.utilisation
    );
    for FlowRow { name, begun, completed, goodput, counts, .. } in flows {
        let _ = writeln!(
            text,
            "flow {name}: {completed} of {begun} complete, {goodput:.0} bit/s, {} bytes delivered, {} \
             datagrams, {} arrived, {} retransmissions, {} timeouts",
            counts.delivered,
            counts.datagrams,
            counts.arrived,
            counts.retransmissions,
            timeouts(counts)
        );
    }
    for LinkRow { name, from, counters, mean_queue, .. } in links {
        let _ = writeln!(
            text,
            "link {name} from {from}: {} offered, {} dropped, {} delivered, mean queue {:.1} packets",
            counters.offered.packets,
            counters.dropped.packets,
            counters.delivered.packets,
            mean_queue.0
        );
    }
    text
}
