//! What the runs of a point say together: means, and how sure they are.

use crate::cell::Column;
use crate::cell::Kind::{Count, Number, Text};
use crate::plan::PointEnd;
use crate::store::RunRecord;
use bentpipe_scenario::repeat::{Enough, SampleSummary};
use serde_json::{Map, Value, json};

/// A point's runs.
#[derive(Debug, Clone, PartialEq)]
pub struct PointSummary {
    /// Which point.
    pub point: usize,
    /// Its label; empty without a sweep.
    pub label: String,
    /// The swept fields and their values.
    pub values: Vec<(String, String)>,
    /// How many runs count.
    pub runs: u32,
    /// How many of them failed and are in no figure.
    pub failed: u32,
    /// Why there are no more; `None` if the experiment was stopped.
    pub because: Option<Enough>,
    /// Each flow that is not background.
    pub flows: Vec<FlowSummary>,
    /// Of the busiest direction of a link.
    pub utilisation: Option<SampleSummary>,
    /// Jain's index.
    pub fairness: Option<SampleSummary>,
}

/// A flow in a point's runs.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// In bit/s.
    pub goodput: Option<SampleSummary>,
    /// Mean completion time of its transfers in seconds, of runs in which one was completed.
    pub completion: Option<SampleSummary>,
    /// Segments retransmitted.
    pub retransmissions: Option<SampleSummary>,
    /// Expiries of the retransmission timer.
    pub timeouts: Option<SampleSummary>,
}

impl PointSummary {
    pub(crate) fn new(
        end: PointEnd,
        label: String,
        values: Vec<(String, String)>,
        runs: &[&RunRecord],
    ) -> PointSummary {
        let of = |figure: &dyn Fn(&RunRecord) -> Option<f64>| {
            SampleSummary::of(&runs.iter().filter_map(|run| figure(run)).collect::<Vec<f64>>())
        };
        let names = runs.first().map_or(&[][..], |run| &run.flows);
        let flows = names.iter().enumerate().map(|(index, flow)| FlowSummary {
            name: flow.name.clone(),
            goodput: of(&|run| run.flows.get(index).map(|flow| flow.goodput)),
            completion: of(&|run| run.flows.get(index)?.completion),
            retransmissions: of(&|run| Some(run.flows.get(index)?.retransmissions as f64)),
            timeouts: of(&|run| Some(run.flows.get(index)?.timeouts as f64)),
        });
        let flows = flows.collect();
        let (utilisation, fairness) = (of(&|run| run.utilisation), of(&|run| run.fairness));
        let failed = end.runs - u32::try_from(runs.len()).unwrap_or(end.runs).min(end.runs);
        let PointEnd { point, runs, because } = end;
        PointSummary { point, label, values, runs, failed, because, flows, utilisation, fairness }
    }

    /// As JSON; `docs/metrics.md` has the schema.
    pub fn json(&self) -> Value {
        let swept = self.values.iter().map(|(path, value)| (path.clone(), value.as_str().into()));
        let flows = self.flows.iter().map(|flow| {
            json!({
                "flow": flow.name,
                "goodput_bps": figure(flow.goodput),
                "completion_s": figure(flow.completion),
                "retransmissions": figure(flow.retransmissions),
                "timeouts": figure(flow.timeouts),
            })
        });
        json!({
            "point": self.point,
            "swept": Value::Object(swept.collect::<Map<String, Value>>()),
            "runs": self.runs,
            "failed": self.failed,
            "because": self.because.map_or("stopped", reason),
            "utilisation": figure(self.utilisation),
            "fairness": figure(self.fairness),
            "flows": flows.collect::<Vec<Value>>(),
        })
    }
}

fn reason(because: Enough) -> &'static str {
    match because {
        Enough::Runs => "runs",
        Enough::Met => "met",
        Enough::Limit => "limit",
    }
}

fn figure(summary: Option<SampleSummary>) -> Value {
    summary.map_or(Value::Null, |summary| {
        json!({
            "samples": summary.samples,
            "mean": summary.mean,
            "sd": summary.standard_deviation,
            "half_width_95": summary.half_width_95,
            "half_width_99": summary.half_width_99,
        })
    })
}

/// A row of the table of summaries.
pub(crate) struct SummaryRow {
    flow: FlowSummary,
    runs: u32,
    utilisation: Option<SampleSummary>,
    fairness: Option<SampleSummary>,
}

impl SummaryRow {
    pub(crate) fn of(point: &PointSummary) -> impl Iterator<Item = SummaryRow> + '_ {
        point.flows.iter().map(|flow| SummaryRow {
            flow: flow.clone(),
            runs: point.runs - point.failed,
            utilisation: point.utilisation,
            fairness: point.fairness,
        })
    }
}

const fn column(
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    cell: fn(&SummaryRow) -> crate::Cell,
) -> Column<SummaryRow> {
    Column { name, kind: Number, unit, about, cell }
}

/// The columns of the table of summaries: ready to be plotted with their error bars.
pub(crate) const SUMMARY: &[Column<SummaryRow>] = &[
    Column {
        name: "flow",
        kind: Text,
        unit: "",
        about: "the flow's name",
        cell: |s| (&s.flow.name).into(),
    },
    Column {
        name: "runs",
        kind: Count,
        unit: "runs",
        about: "that the figures are of",
        cell: |s| u64::from(s.runs).into(),
    },
    column("goodput_mean_bps", "bit/s", "mean goodput of the runs", |s| {
        s.flow.goodput.map(|g| g.mean).into()
    }),
    column("goodput_sd_bps", "bit/s", "its sample standard deviation", |s| {
        s.flow.goodput.and_then(|g| g.standard_deviation).into()
    }),
    column("goodput_half_width_95_bps", "bit/s", "of the mean's 95 % confidence interval", |s| {
        s.flow.goodput.and_then(|g| g.half_width_95).into()
    }),
    column("goodput_half_width_99_bps", "bit/s", "of the mean's 99 % confidence interval", |s| {
        s.flow.goodput.and_then(|g| g.half_width_99).into()
    }),
    column("completion_mean_s", "s", "mean of the runs' mean completion times", |s| {
        s.flow.completion.map(|c| c.mean).into()
    }),
    column("completion_sd_s", "s", "its sample standard deviation", |s| {
        s.flow.completion.and_then(|c| c.standard_deviation).into()
    }),
    column("completion_half_width_95_s", "s", "of the mean's 95 % confidence interval", |s| {
        s.flow.completion.and_then(|c| c.half_width_95).into()
    }),
    column("completion_half_width_99_s", "s", "of the mean's 99 % confidence interval", |s| {
        s.flow.completion.and_then(|c| c.half_width_99).into()
    }),
    column("retransmissions_mean", "segments", "mean number of retransmitted segments", |s| {
        s.flow.retransmissions.map(|r| r.mean).into()
    }),
    column("timeouts_mean", "events", "mean number of retransmission timeouts", |s| {
        s.flow.timeouts.map(|t| t.mean).into()
    }),
    column("utilisation_mean", "share", "of the busiest link direction; the point's", |s| {
        s.utilisation.map(|u| u.mean).into()
    }),
    column("fairness_jain_mean", "1/n to 1", "Jain's index; the point's", |s| {
        s.fairness.map(|f| f.mean).into()
    }),
];
