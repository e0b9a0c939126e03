//! What was measured, as the simulator's rows: the same columns, which mean the same. What cannot be
//! measured is empty.

use bentpipe_core::time::Instant;
use bentpipe_gateway::Reason;
use bentpipe_lab::tables::Table;
use bentpipe_lab::{Cell, RunRecord};
use bentpipe_net::flows::{Counts, FlowResult, Played};
use bentpipe_net::network::LinkReport;
use bentpipe_results::Outcome;
use bentpipe_results::{
    Completions, FlowId, FlowRow, GroupRow, LinkRow, RunRow, Tally, Transfer, TransferRow,
    fairness, goodput, most_goodputs,
};
use bentpipe_scenario::{NodeIndex, Scenario};
use serde_json::Value;

/// Columns of flows and runs that nobody can fill: the kernel does not count these.
const UNCOUNTED: [&str; 13] = [
    "probes",
    "fin_retransmissions",
    "needless_retransmissions",
    "fin_timeouts",
    "recovery_timeouts",
    "bound_share",
    "window_reductions",
    "corruption_recoveries",
    "corruption_answered",
    "congestion_recoveries",
    "congestion_unanswered",
    "first_recovery_s",
    "first_recovery_reductions",
];
/// Those of runs: there is no simulator.
const UNSIMULATED: [&str; 2] = ["packets", "digest"];

/// What a run has given.
pub(super) struct Measured {
    pub(super) played: Played,
    /// Of each link.
    pub(super) links: Vec<LinkReport>,
    /// Each gateway's node, and what it answered at the end of the warm-up and at the run's end.
    pub(super) gateways: Vec<(usize, Value, Value)>,
}

/// The record of run `run` of `scenario`.
pub(super) fn record(scenario: &Scenario, run: u64, measured: &Measured) -> RunRecord {
    let Played { measured: span, flows } = &measured.played;
    let max = most_goodputs(scenario).into_iter().chain(std::iter::repeat(None));
    let rows: Vec<FlowRow> = flows
        .iter()
        .zip(max)
        .map(|((flow, counts), max)| flow_row(flow, counts, *span, max))
        .collect();
    let links = link_rows(scenario, &measured.links, *span);
    let foreground: Vec<&FlowRow> = rows.iter().filter(|row| !row.background).collect();
    let goodputs: Vec<f64> = foreground.iter().map(|row| row.goodput).collect();
    let tally = Tally::total(foreground.iter().map(|row| &row.tally));
    let lives = flows.iter().filter(|(flow, _)| !flow.background && flow.started.is_some());
    let life = lives.map(|(flow, _)| life(flow, *span));
    let life = life.reduce(|(a, b), (c, d)| (a.min(c), b.max(d))).unwrap_or(*span);
    let run_row = RunRow {
        seed: scenario.seeds(run).run(),
        end: span.1.saturating_since(Instant::ZERO),
        goodput: goodput(tally.delivered, life),
        fairness: fairness(&goodputs),
        utilisation: links.iter().filter_map(LinkRow::utilisation).reduce(f64::max),
        dropped: links.iter().map(|link| link.counters.dropped.packets).sum(),
        lost: links.iter().map(|link| link.counters.lost.packets).sum(),
        tally,
        packets: 0,
        digest: 0,
    };
    let mut transfers: Vec<TransferRow> = Vec::new();
    for (number, (flow, _)) in flows.iter().enumerate() {
        transfers.extend(flow.transfers.iter().map(|one| TransferRow {
            flow: flow.name.clone(),
            transfer: Transfer {
                flow: FlowId(number),
                started: one.started,
                first_byte: one.first_byte,
                completed: one.completed,
                bytes: one.bytes,
            },
        }));
    }
    transfers.sort_by_key(|row| row.transfer.started);
    let groups = GroupRow::all(scenario, &rows);
    let mut record = RunRecord::new(&Outcome {
        run: run_row,
        flows: rows,
        transfers,
        links,
        gateways: Vec::new(),
        groups,
        series: Vec::new(),
    });
    for column in UNCOUNTED {
        record.clear(Table::Results, column);
        record.clear(Table::Runs, column);
    }
    for column in UNSIMULATED {
        record.clear(Table::Runs, column);
    }
    let tcp = || flows.iter().filter(|(_, counts)| counts.segments > 0);
    if tcp().any(|(_, counts)| counts.timeouts.is_none()) {
        record.clear(Table::Results, "timeouts");
        record.clear(Table::Runs, "timeouts");
    }
    for (node, before, after) in &measured.gateways {
        let name = &scenario.node(NodeIndex(*node)).name;
        record.add(Table::Gateways, &gateway_cells(name, &before["totals"], &after["totals"]));
    }
    record
}

fn tally(counts: &Counts) -> Tally {
    Tally {
        delivered: counts.delivered,
        datagrams: counts.datagrams,
        arrived: counts.arrived,
        segments: counts.segments,
        retransmissions: counts.retransmissions,
        retransmitted_bytes: counts.retransmitted_bytes,
        timeouts: counts.timeouts.unwrap_or(0),
        recoveries: counts.recoveries,
        min_rtt: counts.min_rtt,
        srtt: counts.srtt,
        ..Tally::default()
    }
}

/// The part of the measured time in which a flow lived.
fn life(flow: &FlowResult, (from, to): (Instant, Instant)) -> (Instant, Instant) {
    let begin = flow.started.map_or(from, |started| started.max(from));
    (begin, flow.finished.map_or(to, |finished| finished.min(to)))
}

/// `max`: the most goodput that its path can carry, in bit/s.
fn flow_row(
    flow: &FlowResult,
    counts: &Counts,
    measured: (Instant, Instant),
    max: Option<f64>,
) -> FlowRow {
    let goodput = goodput(counts.delivered, life(flow, measured));
    let ended = flow.transfers.iter().filter_map(|one| Some((one.started, one.completed?)));
    let times = ended.map(|(started, completed)| completed.saturating_since(started));
    let completed = u32::try_from(flow.completed).unwrap_or(u32::MAX);
    FlowRow {
        name: flow.name.clone(),
        background: flow.background,
        started: flow.started,
        finished: flow.finished,
        tally: tally(counts),
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

/// A gateway's row, from what it says of itself. How much it held is not among that.
fn gateway_cells(name: &str, before: &Value, after: &Value) -> Vec<(&'static str, Cell)> {
    let count = |path: &str| {
        let of = |value: &Value| value.pointer(path).and_then(Value::as_u64).unwrap_or(0);
        of(after).saturating_sub(of(before))
    };
    let sum = |path: &str| {
        let names = after.pointer(path).and_then(Value::as_object);
        let names = names.into_iter().flatten().map(|(name, _)| format!("{path}/{name}"));
        Cell::Count(names.map(|path| count(&path)).sum())
    };
    let one = |path: &str| Cell::Count(count(path));
    let forwarded = |reason: &str| count(&format!("/forwarded_packets/{reason}"));
    let handshakes =
        Reason::OF_HANDSHAKES.map(|reason| forwarded(reason.name())).iter().sum::<u64>();
    let unsplit = Reason::ALL.into_iter().filter(|reason| reason.leaves_a_connection());
    let unsplit = unsplit.map(|reason| count(&format!("/forwarded_flows/{}", reason.name()))).sum();
    let no_room = ["no_room", "half_open", "client_limit"].map(forwarded).iter().sum::<u64>();
    vec![
        ("gateway", Cell::Text(name.to_owned())),
        ("split_flows", one("/split")),
        ("adopted_flows", one("/adopted")),
        ("closed_flows", one("/closed")),
        ("reset_flows", one("/reset")),
        ("released_flows", sum("/released")),
        ("lost_bytes", one("/lost_bytes")),
        ("forwarded_flows", Cell::Count(unsplit)),
        ("forwarded_packets", sum("/forwarded_packets")),
        ("forwarded_unknown_flow_packets", Cell::Count(forwarded("unknown_flow"))),
        ("forwarded_options_packets", Cell::Count(forwarded("options"))),
        ("forwarded_no_room_packets", Cell::Count(no_room)),
        ("forwarded_route_packets", Cell::Count(forwarded("route"))),
        ("forwarded_not_opened_packets", Cell::Count(handshakes)),
        ("forwarded_not_tcp_packets", Cell::Count(forwarded("not_tcp"))),
        ("lan_received_bytes", one("/legs/lan/received_bytes")),
        ("lan_delivered_bytes", one("/legs/lan/delivered_bytes")),
        ("lan_retransmissions", one("/legs/lan/retransmissions")),
        ("lan_retransmitted_bytes", one("/legs/lan/retransmitted_bytes")),
        ("lan_timeouts", one("/legs/lan/timeouts")),
        ("satellite_received_bytes", one("/legs/satellite/received_bytes")),
        ("satellite_delivered_bytes", one("/legs/satellite/delivered_bytes")),
        ("satellite_retransmissions", one("/legs/satellite/retransmissions")),
        ("satellite_retransmitted_bytes", one("/legs/satellite/retransmitted_bytes")),
        ("satellite_timeouts", one("/legs/satellite/timeouts")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::time::Duration;
    use bentpipe_lab::tables::GATEWAYS;
    use serde_json::json;

    #[test]
    fn a_gateways_columns_are_those_of_the_table_but_for_what_it_held() {
        let before = json!({ "split": 1, "released": { "idle": 1 } });
        let after = json!({ "split": 3, "released": { "idle": 2, "peer": 4 } });
        let cells = gateway_cells("g", &before, &after);
        let names: Vec<&str> = cells.iter().map(|(name, _)| *name).collect();
        let all = GATEWAYS.iter().map(|column| column.name);
        let expected: Vec<&str> = all.filter(|name| !name.starts_with("held_")).collect();
        assert_eq!(names, expected);
        let of =
            |wanted: &str| cells.iter().find(|(name, _)| *name == wanted).map(|(_, cell)| cell);
        assert_eq!(of("split_flows"), Some(&Cell::Count(2)));
        assert_eq!(of("released_flows"), Some(&Cell::Count(5)));
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
