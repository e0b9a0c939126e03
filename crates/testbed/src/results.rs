//! The rows of a run on real hosts. What cannot be measured is absent.

use crate::flows::{Counts, FlowResult, Played};
use crate::network::LinkReport;
use bentpipe_core::time::Instant;
use bentpipe_gateway::{PerSide, Reason, Release};
use bentpipe_results::{
    Completions, FlowCounts, FlowId, FlowRow, GatewayRow, GroupRow, LegCounts, LinkRow, RunResults,
    RunRow, Transfer, TransferRow, goodput, life, most_goodputs,
};
use bentpipe_scenario::{NodeIndex, Scenario};
use serde_json::{Map, Value, json};

/// What a run has given.
pub(super) struct Measured {
    pub(super) played: Played,
    /// Of each link.
    pub(super) links: Vec<LinkReport>,
    /// Each gateway's node, and what it answered at the end of the warm-up and at the run's end.
    pub(super) gateways: Vec<(usize, Value, Value)>,
}

/// The results of run `run` of `scenario`.
pub(super) fn results(scenario: &Scenario, run: u64, measured: &Measured) -> RunResults {
    let Played { measured: span, flows: played } = &measured.played;
    let max = most_goodputs(scenario).into_iter().chain(std::iter::repeat(None));
    let flows = played.iter().zip(max);
    let flows: Vec<FlowRow> =
        flows.map(|((flow, counts), max)| flow_row(flow, counts, *span, max)).collect();
    let links = link_rows(scenario, &measured.links, *span);
    let gateways = measured.gateways.iter().map(|(node, before, after)| {
        let name = &scenario.node(NodeIndex(*node)).name;
        gateway_row(name, &before["totals"], &after["totals"])
    });
    RunResults {
        run: RunRow::of(scenario.seeds(run).run(), *span, &flows, &links),
        transfers: transfer_rows(played),
        gateways: gateways.collect(),
        groups: GroupRow::all(scenario, &flows),
        series: Vec::new(),
        flows,
        links,
    }
}

/// All transfers, in the order in which they began.
fn transfer_rows(played: &[(FlowResult, Counts)]) -> Vec<TransferRow> {
    let flows = played.iter().enumerate();
    let rows = flows.flat_map(|(number, (flow, _))| {
        flow.transfers.iter().map(move |one| TransferRow {
            flow: flow.name.clone(),
            transfer: Transfer {
                flow: FlowId(number),
                started: one.started,
                first_byte: one.first_byte,
                completed: one.completed,
                bytes: one.bytes,
            },
        })
    });
    let mut rows: Vec<TransferRow> = rows.collect();
    rows.sort_by_key(|row| row.transfer.started);
    rows
}

/// What the kernel and the applications have counted.
fn flow_counts(counts: &Counts) -> FlowCounts {
    // A flow that has sent no segment has no timer that could expire, whether the kernel counts
    // that or not.
    let silent = (counts.segments == 0).then_some(0);
    FlowCounts {
        delivered: counts.delivered,
        datagrams: counts.datagrams,
        arrived: counts.arrived,
        segments: counts.segments,
        retransmissions: counts.retransmissions,
        retransmitted_bytes: counts.retransmitted_bytes,
        timeouts: counts.timeouts.or(silent),
        recoveries: counts.recoveries,
        min_rtt: counts.min_rtt,
        srtt: counts.srtt,
        first_recovery: None,
        ssthresh_estimate: None,
        extended: None,
    }
}

/// `max`: the most goodput that its path can carry, in bit/s.
fn flow_row(
    flow: &FlowResult,
    counts: &Counts,
    measured: (Instant, Instant),
    max: Option<f64>,
) -> FlowRow {
    let goodput = goodput(counts.delivered, life(flow.started, flow.finished, measured));
    let ended = flow.transfers.iter().filter_map(|one| Some((one.started, one.completed?)));
    let times = ended.map(|(started, completed)| completed.saturating_since(started));
    let completed = u32::try_from(flow.completed).unwrap_or(u32::MAX);
    FlowRow {
        name: flow.name.clone(),
        background: flow.background,
        started: flow.started,
        finished: flow.finished,
        counts: flow_counts(counts),
        goodput,
        connections: flow.connections,
        begun: flow.begun,
        completed: flow.completed,
        mean_completion: (completed > 0).then(|| flow.took / completed),
        completions: Completions::of(times.collect()),
        efficiency: max.map(|max| goodput / max),
        ssthresh_error: None,
    }
}

fn link_rows(
    scenario: &Scenario,
    reports: &[LinkReport],
    measured: (Instant, Instant),
) -> Vec<LinkRow> {
    let mut rows = Vec::new();
    for (link, reports) in scenario.links.iter().zip(reports) {
        for ((from, to, direction), report) in link.directions().into_iter().zip(reports.directions)
        {
            let name = |index: NodeIndex| scenario.node(index).name.clone();
            let rate = direction.rate.as_ref();
            rows.push(LinkRow {
                name: link.name.clone(),
                from: name(from),
                to: name(to),
                counters: report.counters(),
                measured: measured.1.saturating_since(measured.0),
                capacity: rate.map(|rate| rate.bytes_between(measured.0, measured.1)),
                mean_queue: report.mean_queue,
                lengths: None,
                longest_queue: report.longest_queue.into(),
            });
        }
    }
    rows
}

/// The status of a gateway that is a router: it has had no connection of its own.
pub(crate) fn router_status() -> Value {
    let released: Map<String, Value> =
        Release::ALL.into_iter().map(|why| (why.name().to_owned(), 0.into())).collect();
    let totals = json!({
        "split": 0, "adopted": 0, "closed": 0, "reset": 0, "lost_bytes": 0, "released": released,
    });
    json!({ "totals": totals })
}

/// A gateway's row, from what it says of itself. How much it held is not among that.
fn gateway_row(name: &str, before: &Value, after: &Value) -> GatewayRow {
    // One that has just been started has said nothing before, and has counted nothing.
    let count = |path: &str| {
        let of = |value: &Value| value.pointer(path).and_then(Value::as_u64);
        Some(of(after)?.saturating_sub(of(before).unwrap_or(0)))
    };
    let released = Release::ALL.map(|why| count(&format!("/released/{}", why.name())));
    let unsplit = Reason::ALL.into_iter().filter(|reason| reason.leaves_a_connection());
    let unsplit = unsplit.map(|reason| count(&format!("/forwarded_flows/{}", reason.name())));
    let packets = |reason: Reason| count(&format!("/forwarded_packets/{}", reason.name()));
    GatewayRow {
        name: name.to_owned(),
        split: count("/split"),
        adopted: count("/adopted"),
        closed: count("/closed"),
        reset: count("/reset"),
        released: released.into_iter().sum(),
        lost_bytes: count("/lost_bytes"),
        forwarded_flows: unsplit.sum(),
        forwarded_packets: Reason::ALL.map(packets),
        legs: PerSide::of(|side| {
            let count = |what: &str| count(&format!("/legs/{}/{what}", side.name()));
            LegCounts {
                received_bytes: count("received_bytes"),
                delivered_bytes: count("delivered_bytes"),
                retransmissions: count("retransmissions"),
                retransmitted_bytes: count("retransmitted_bytes"),
                timeouts: count("timeouts"),
                recovery_timeouts: count("recovery_timeouts"),
                recoveries: count("recoveries"),
                reductions: count("window_reductions"),
                reduced_again: count("flows_reduced_again"),
            }
        }),
        mean_held: None,
        max_held: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::time::Duration;
    use bentpipe_gateway::Side;

    #[test]
    fn a_gateways_counts_are_of_the_measured_part_and_absent_where_it_is_silent() {
        let released = |idle: u64, others: u64| {
            let count = |why: Release| if why == Release::Idle { idle } else { others };
            Release::ALL.map(|why| (why.name(), json!(count(why)))).into_iter().collect::<Value>()
        };
        let before = json!({ "split": 1, "released": released(1, 0) });
        let after = json!({
            "split": 3,
            "released": released(2, 4),
            "legs": { "satellite": { "timeouts": 7, "window_reductions": 9 } },
        });
        let row = gateway_row("g", &before, &after);
        assert_eq!((row.split, row.released), (Some(2), Some(21)));
        assert_eq!(row.legs[Side::Satellite].timeouts, Some(7), "nothing before is none before");
        assert_eq!(row.legs[Side::Satellite].reductions, Some(9));
        assert_eq!((row.closed, row.forwarded_flows), (None, None));
        assert_eq!(row.forwarded_for(&Reason::ALL), None);
        assert_eq!(row.legs[Side::Lan].timeouts, None);
        let router = gateway_row("g", &Value::Null, &router_status()["totals"]);
        assert_eq!((router.split, router.released, router.lost_bytes), (Some(0), Some(0), Some(0)));
    }

    #[test]
    fn timeouts_are_absent_only_of_flows_that_could_have_had_some() {
        let of =
            |segments, timeouts| flow_counts(&Counts { segments, timeouts, ..Counts::default() });
        assert_eq!(of(9, Some(1)).timeouts, Some(1));
        assert_eq!(of(9, None).timeouts, None, "this kernel does not count them");
        assert_eq!(of(0, None).timeouts, Some(0), "a ping has no timer");
    }

    #[test]
    fn a_flows_goodput_is_over_its_life_in_the_measured_part() {
        let flow = FlowResult {
            name: "x".to_owned(),
            background: false,
            started: Some(Instant::from_millis(500)),
            finished: Some(Instant::from_millis(3000)),
            begun: 1,
            completed: 1,
            took: Duration::from_millis(2500),
            connections: 1,
            transfers: Vec::new(),
        };
        let counts = Counts { delivered: 1000, ..Counts::default() };
        let measured = (Instant::from_millis(1000), Instant::from_millis(9000));
        let row = flow_row(&flow, &counts, measured, None);
        assert_eq!(row.goodput, 4000.0);
        assert_eq!(row.mean_completion, Some(Duration::from_millis(2500)));
    }
}
