//! What was measured, as the simulator's rows: the same columns, which mean the same. What cannot be
//! measured is empty.

use bentpipe_core::time::{Duration, Instant};
use bentpipe_lab::tables::Table;
use bentpipe_lab::{Cell, RunRecord};
use bentpipe_net::flows::{Counts, FlowResult, Played};
use bentpipe_net::network::DirectionReport;
use bentpipe_scenario::{NodeIndex, Scenario};
use bentpipe_sim::Outcome;
use bentpipe_sim::record::{
    FlowId, FlowRow, LinkRow, RunRow, Tally, Transfer, TransferRow, fairness,
};
use serde_json::Value;

/// Columns that nobody can fill: the kernel does not count recoveries, and there is no simulator.
const EMPTY: [(Table, &str); 4] = [
    (Table::Results, "recoveries"),
    (Table::Runs, "recoveries"),
    (Table::Runs, "packets"),
    (Table::Runs, "digest"),
];

/// What a run has given.
pub(super) struct Measured {
    pub(super) played: Played,
    /// Of each link, forward and back.
    pub(super) links: Vec<[DirectionReport; 2]>,
    /// Each gateway's node, and what it answered at the end of the warm-up and at the run's end.
    pub(super) gateways: Vec<(usize, Value, Value)>,
}

/// The record of run `run` of `scenario`.
pub(super) fn record(scenario: &Scenario, run: u64, measured: &Measured) -> RunRecord {
    let Played { measured: span, flows } = &measured.played;
    let rows: Vec<FlowRow> =
        flows.iter().map(|(flow, counts)| flow_row(flow, counts, *span)).collect();
    let links = link_rows(scenario, &measured.links, span.1.saturating_since(span.0));
    let foreground: Vec<&FlowRow> = rows.iter().filter(|row| !row.background).collect();
    let goodputs: Vec<f64> = foreground.iter().map(|row| row.goodput).collect();
    let run_row = RunRow {
        seed: scenario.seeds(run).run(),
        end: span.1.saturating_since(Instant::ZERO),
        goodput: goodputs.iter().sum(),
        fairness: fairness(&goodputs),
        utilisation: links.iter().filter_map(LinkRow::utilisation).reduce(f64::max),
        dropped: links.iter().map(|link| link.counters.dropped.packets).sum(),
        lost: links.iter().map(|link| link.counters.lost.packets).sum(),
        tally: total(&foreground),
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
    let mut record = RunRecord::new(&Outcome {
        run: run_row,
        flows: rows,
        transfers,
        links,
        gateways: Vec::new(),
        series: Vec::new(),
    });
    for (table, column) in EMPTY {
        record.clear(table, column);
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
        recoveries: 0,
        min_rtt: counts.min_rtt,
        srtt: counts.srtt,
    }
}

fn total(rows: &[&FlowRow]) -> Tally {
    rows.iter().fold(Tally::default(), |sum, row| Tally {
        delivered: sum.delivered + row.tally.delivered,
        datagrams: sum.datagrams + row.tally.datagrams,
        arrived: sum.arrived + row.tally.arrived,
        segments: sum.segments + row.tally.segments,
        retransmissions: sum.retransmissions + row.tally.retransmissions,
        retransmitted_bytes: sum.retransmitted_bytes + row.tally.retransmitted_bytes,
        timeouts: sum.timeouts + row.tally.timeouts,
        ..sum
    })
}

fn flow_row(flow: &FlowResult, counts: &Counts, measured: (Instant, Instant)) -> FlowRow {
    let begin = flow.started.map_or(measured.0, |started| started.max(measured.0));
    let end = flow.finished.map_or(measured.1, |finished| finished.min(measured.1));
    let span = end.saturating_since(begin).as_secs_f64();
    let completed = u32::try_from(flow.completed).unwrap_or(u32::MAX);
    FlowRow {
        name: flow.name.clone(),
        background: flow.background,
        started: flow.started,
        finished: flow.finished,
        tally: tally(counts),
        goodput: if span > 0.0 { counts.delivered as f64 * 8.0 / span } else { 0.0 },
        connections: flow.connections,
        begun: flow.begun,
        completed: flow.completed,
        mean_completion: (completed > 0).then(|| flow.took / completed),
    }
}

fn link_rows(
    scenario: &Scenario,
    reports: &[[DirectionReport; 2]],
    span: Duration,
) -> Vec<LinkRow> {
    let mut rows = Vec::new();
    for (link, reports) in scenario.links.iter().zip(reports) {
        for ((from, to, direction), report) in link.directions().into_iter().zip(reports) {
            let name = |index: NodeIndex| scenario.node(index).name.clone();
            let rate = direction.rate.as_ref();
            rows.push(LinkRow {
                name: link.name.clone(),
                from: name(from),
                to: name(to),
                counters: report.counters(),
                capacity: rate.map(|rate| rate.at(Instant::ZERO).bytes_in(span) as f64),
                mean_queue: report.mean_queue,
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
    let no_room = ["no_room", "half_open", "client_limit"].map(forwarded).iter().sum::<u64>();
    vec![
        ("gateway", Cell::Text(name.to_owned())),
        ("split_flows", one("/split")),
        ("closed_flows", one("/closed")),
        ("reset_flows", one("/reset")),
        ("released_flows", sum("/released")),
        ("lost_bytes", one("/lost_bytes")),
        ("forwarded_flows", sum("/forwarded_flows")),
        ("forwarded_packets", sum("/forwarded_packets")),
        ("forwarded_unknown_flow_packets", Cell::Count(forwarded("unknown_flow"))),
        ("forwarded_options_packets", Cell::Count(forwarded("options"))),
        ("forwarded_no_room_packets", Cell::Count(no_room)),
        ("forwarded_route_packets", Cell::Count(forwarded("route"))),
        ("forwarded_not_opened_packets", Cell::Count(forwarded("not_opened"))),
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
        assert_eq!((&cells[1].1, &cells[4].1), (&Cell::Count(2), &Cell::Count(5)));
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
        let row = flow_row(&flow, &counts, measured);
        assert_eq!(row.goodput, 4000.0);
        assert_eq!(row.mean_completion, Some(Duration::from_millis(2500)));
    }
}
