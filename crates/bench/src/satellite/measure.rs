//! What is taken from runs: of each one, and of all runs of a column.

use crate::player::Played;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_gateway::Side;
use bentpipe_results::{FlowRow, LegCounts, LinkRow, RunResults, Sample};
use bentpipe_scenario::{RunEnd, Scenario};

/// The link that is looked at, in the direction from the server.
pub(crate) const LINK: &str = "sat";
const DIRECTION: &str = "sat/forward";

/// One run, or the means of several.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Measured {
    /// Seconds from the first transfer's start until all were complete, or to the run's end where
    /// one was not.
    pub(super) seconds: f64,
    /// Whether one was not; the share of such runs.
    pub(super) unfinished: f64,
    /// What applications have read in that time, in bit/s.
    pub(super) goodput: f64,
    /// The share of its capacity that the satellite link has sent from the server's side, what it
    /// lost included.
    pub(super) utilisation: f64,
    /// Jain's index of the flows' goodputs.
    pub(super) jain: f64,
    /// Packets dropped at the satellite link's queues, in both directions.
    pub(super) drops: f64,
    /// The 95th percentile of the time that a packet would wait in that link's queue, in seconds.
    pub(super) queueing: Option<f64>,
    /// The 99th percentile of the times of a flow's transfers, in seconds: of the slowest flow.
    pub(super) replies: Option<f64>,
    /// The share of the gateways' bytes to the satellite, after the warm-up, that were
    /// retransmissions.
    pub(super) retransmitted: f64,
    /// The share of packets that a link released more than 1 ms late; of several runs the greatest.
    pub(super) late: f64,
}

/// The figures of a run of `scenario`.
pub(super) fn measure(scenario: &Scenario, played: &Played) -> Measured {
    let Played { results, late } = played;
    let transfers = || results.transfers.iter().map(|row| row.transfer);
    let complete = transfers().all(|transfer| transfer.completed.is_some());
    let unfinished = scenario.run.end == RunEnd::FlowsDone && !complete;
    // A connection that broke ends the run, but does not make it a quick one.
    let end = if unfinished { scenario.run.duration } else { results.run.end };
    let begin = transfers().map(|transfer| transfer.started).min();
    let begin = begin.filter(|_| scenario.run.end == RunEnd::FlowsDone);
    let begin = begin.map_or(Duration::ZERO, |at| at.saturating_since(Instant::ZERO));
    let seconds = end.saturating_sub(begin).as_secs_f64();
    let delivered: u64 = foreground(results).map(|flow| flow.counts.delivered).sum();
    let slowest = foreground(results).filter_map(|flow| Some(flow.completions?.p99)).max();
    let link =
        |from: &str| results.links.iter().find(move |link| link.name == LINK && link.from == from);
    let ends = scenario.links.iter().find(|link| link.name == LINK).map(|link| link.between);
    let [forward, back] = match ends {
        Some(ends) => ends.map(|end| link(&scenario.node(end).name)),
        None => [None, None],
    };
    Measured {
        seconds,
        unfinished: f64::from(u8::from(unfinished)),
        goodput: delivered as f64 * 8.0 / seconds,
        utilisation: forward.and_then(LinkRow::utilisation).unwrap_or(0.0),
        jain: results.run.fairness.unwrap_or(0.0),
        drops: [forward, back]
            .into_iter()
            .flatten()
            .map(|link| link.counters.dropped.packets as f64)
            .sum(),
        queueing: queueing(scenario, &results.series),
        replies: slowest.map(|time| time.as_secs_f64()),
        retransmitted: retransmitted(results),
        late: *late,
    }
}

fn foreground(results: &RunResults) -> impl Iterator<Item = &FlowRow> {
    results.flows.iter().filter(|flow| !flow.background)
}

fn queueing(scenario: &Scenario, series: &[Sample]) -> Option<f64> {
    let rate = scenario.links.iter().find(|link| link.name == LINK)?.forward.rate.as_ref()?;
    let rate = rate.at(Instant::ZERO);
    let queued = series.iter().filter(|sample| &*sample.element == DIRECTION);
    let queued = queued.filter(|sample| sample.quantity == "queue-bytes");
    let mut times: Vec<f64> =
        queued.map(|sample| rate.time_for(sample.value as u64).as_secs_f64()).collect();
    times.sort_by(f64::total_cmp);
    times.get((times.len() * 95 / 100).min(times.len().saturating_sub(1))).copied()
}

fn retransmitted(results: &RunResults) -> f64 {
    let sum = |count: fn(&LegCounts) -> Option<u64>| {
        let legs = results.gateways.iter().map(|gateway| &gateway.legs[Side::Satellite]);
        // A gateway that is no program of ours counts nothing.
        legs.map(count).sum::<Option<u64>>().unwrap_or(0)
    };
    let (again, once) = (sum(|leg| leg.retransmitted_bytes), sum(|leg| leg.delivered_bytes));
    if again == 0 { 0.0 } else { again as f64 / (again + once) as f64 }
}

impl Measured {
    /// The means of `runs`; None of none.
    pub(super) fn mean(runs: &[Measured]) -> Option<Measured> {
        let count = runs.len() as f64;
        let mean = |of: fn(&Measured) -> f64| runs.iter().map(of).sum::<f64>() / count;
        let mean_of_all = |of: fn(&Measured) -> Option<f64>| {
            let sum: Option<f64> = runs.iter().map(of).sum();
            sum.map(|sum| sum / count)
        };
        (!runs.is_empty()).then(|| Measured {
            seconds: mean(|run| run.seconds),
            unfinished: mean(|run| run.unfinished),
            goodput: mean(|run| run.goodput),
            utilisation: mean(|run| run.utilisation),
            jain: mean(|run| run.jain),
            drops: mean(|run| run.drops),
            queueing: mean_of_all(|run| run.queueing),
            replies: mean_of_all(|run| run.replies),
            retransmitted: mean(|run| run.retransmitted),
            late: runs.iter().map(|run| run.late).fold(0.0, f64::max),
        })
    }
}
