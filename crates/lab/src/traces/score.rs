//! Scores: what each contender got out of each trace.

use super::{TraceBench, Way};
use crate::{ElementSummary, PointSummary, Results};
use bentpipe_results::fairness;
use serde::Serialize;

/// A contender on a trace with so many bulk flows: means over the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// The trace.
    pub trace: String,
    /// Its direction.
    pub way: &'static str,
    /// The contender's name.
    pub contender: String,
    /// Bulk flows.
    pub flows: u32,
    /// The share that passed of all that the link could carry (RFC 5166, 2.1.1).
    pub utilisation: Option<f64>,
    /// Median of the pings' round trips, through the queue and back.
    pub delay_p50_s: Option<f64>,
    /// Their 95th percentile.
    pub delay_p95_s: Option<f64>,
    /// Their 99th percentile.
    pub delay_p99_s: Option<f64>,
    /// Mean completion time of the transfers of 100 KB that ended.
    pub short_mean_s: Option<f64>,
    /// Its 95th percentile; those that did not end count as longer.
    pub short_p95_s: Option<f64>,
    /// Transfers of 100 KB that did not end.
    pub short_unfinished: u32,
    /// Of the bulk flows' goodputs (Jain, Chiu and Hawe 1984).
    pub jain: Option<f64>,
    /// Packets that the queue dropped, of those offered.
    pub drop_share: Option<f64>,
}

/// All scores, and each contender's mean over the traces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scores {
    /// A row for each trace, contender and number of flows.
    pub scores: Vec<Score>,
    /// The same over all traces, which are called `all`. A figure that one has not is in none; of
    /// unfinished transfers it is the sum.
    pub means: Vec<Score>,
}

/// The scores of the results of `bench`'s experiment.
pub fn scores(bench: &TraceBench, results: &Results) -> Scores {
    let places = bench.traces.iter().flat_map(|trace| {
        let flows = bench.flows.iter();
        flows.flat_map(move |flows| bench.contenders.iter().map(move |one| (trace, *flows, one)))
    });
    let scores: Vec<Score> = places
        .zip(&results.points)
        .map(|((trace, flows, contender), point)| Score {
            trace: trace.name.clone(),
            way: trace.way.name(),
            contender: contender.name().to_owned(),
            flows,
            ..of_point(point, bench.shorts(trace))
        })
        .collect();
    let mut means = Vec::new();
    for flows in &bench.flows {
        for contender in &bench.contenders {
            let alike =
                |score: &&Score| score.contender == contender.name() && score.flows == *flows;
            let alike: Vec<&Score> = scores.iter().filter(alike).collect();
            means.extend(mean_of(&alike));
        }
    }
    Scores { scores, means }
}

/// The figures of a point, in which so many short transfers began.
fn of_point(point: &PointSummary, begun: u64) -> Score {
    let flow = |element: &ElementSummary, name| Some(element.flow_figure(name)?.mean);
    let called = |prefix: &'static str| {
        let named = move |element: &&ElementSummary| {
            element.name.first().is_some_and(|name| name.starts_with(prefix))
        };
        point.flows.iter().filter(named)
    };
    let probe = |name| called("probe").next().and_then(|probe| flow(probe, name));
    let link = |name| {
        let forward = |link: &&ElementSummary| {
            link.name.first().is_some_and(|name| name == "sat")
                && link.name.get(1).is_some_and(|from| from == "g1")
        };
        Some(point.links.iter().find(forward)?.link_figure(name)?.mean)
    };
    let began = |short: &&ElementSummary| {
        let number = short.name.first().and_then(|name| name.strip_prefix("short")?.parse().ok());
        number.is_some_and(|number: u64| number <= begun)
    };
    let shorts = called("short").filter(began);
    let shorts: Vec<Option<f64>> = shorts.map(|short| flow(short, "completion")).collect();
    let mut ended: Vec<f64> = shorts.iter().copied().flatten().collect();
    ended.sort_by(f64::total_cmp);
    let goodputs: Vec<f64> = called("bulk").filter_map(|bulk| flow(bulk, "goodput")).collect();
    Score {
        trace: String::new(),
        way: Way::Down.name(),
        contender: String::new(),
        flows: 0,
        utilisation: link("utilisation"),
        delay_p50_s: probe("completion_median"),
        delay_p95_s: probe("completion_p95"),
        delay_p99_s: probe("completion_p99"),
        short_mean_s: mean(&ended),
        short_p95_s: percentile(&ended, shorts.len(), 0.95),
        short_unfinished: (shorts.len() - ended.len()) as u32,
        jain: fairness(&goodputs),
        drop_share: link("drop_share"),
    }
}

fn mean_of(scores: &[&Score]) -> Option<Score> {
    let first = *scores.first()?;
    // A mean without the worst would be none.
    let over = |figure: fn(&Score) -> Option<f64>| {
        let figures: Option<Vec<f64>> = scores.iter().map(|score| figure(score)).collect();
        mean(&figures?)
    };
    Some(Score {
        trace: "all".to_owned(),
        way: if scores.iter().all(|score| score.way == first.way) { first.way } else { "both" },
        contender: first.contender.clone(),
        flows: first.flows,
        utilisation: over(|score| score.utilisation),
        delay_p50_s: over(|score| score.delay_p50_s),
        delay_p95_s: over(|score| score.delay_p95_s),
        delay_p99_s: over(|score| score.delay_p99_s),
        short_mean_s: over(|score| score.short_mean_s),
        short_p95_s: over(|score| score.short_p95_s),
        short_unfinished: scores.iter().map(|score| score.short_unfinished).sum(),
        jain: over(|score| score.jain),
        drop_share: over(|score| score.drop_share),
    })
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The least of `sorted` that a share of all `count` does not exceed; `None` if it is one of those
/// that are missing.
fn percentile(sorted: &[f64], count: usize, share: f64) -> Option<f64> {
    let rank = (share * count as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_end_is_longer_than_what_did() {
        let ended = [1.0, 2.0, 3.0];
        assert_eq!(percentile(&ended, 3, 0.95), Some(3.0));
        assert_eq!(percentile(&ended, 4, 0.5), Some(2.0));
        assert_eq!(percentile(&ended, 4, 0.95), None);
        assert_eq!(percentile(&[], 0, 0.95), None);
    }
}
