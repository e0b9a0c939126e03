//! What the runs of a point say together: means, and how sure they are.

use crate::cell::{Cell, CellKind, Heading, Row};
use crate::figures::{FLOW_FIGURES, Figure, GROUP_FIGURES, LINK_FIGURES, RUN_FIGURES};
use crate::plan::PointEnd;
use crate::point_figures::{ElementSummary, PointMeans};
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
    /// Each flow that is not background, with [`FLOW_FIGURES`].
    pub flows: Vec<ElementSummary>,
    /// Each direction of a link, with [`LINK_FIGURES`].
    pub links: Vec<ElementSummary>,
    /// Each group, with [`GROUP_FIGURES`].
    pub groups: Vec<ElementSummary>,
    /// Of the busiest direction of a link.
    pub utilisation: Option<SampleSummary>,
    /// Jain's index.
    pub fairness: Option<SampleSummary>,
}

impl PointSummary {
    pub(crate) fn new(
        end: PointEnd,
        label: String,
        values: Vec<(String, String)>,
        means: PointMeans,
    ) -> PointSummary {
        let PointMeans { runs, run, flows, links, groups } = means;
        let of_run = |name: &str| {
            let index = RUN_FIGURES.iter().position(|figure| figure.name == name)?;
            *run.get(index)?
        };
        PointSummary {
            point: end.point,
            label,
            values,
            runs: end.runs,
            failed: end.runs - runs.min(end.runs),
            because: end.because,
            utilisation: of_run("utilisation"),
            fairness: of_run("fairness_jain"),
            flows,
            links,
            groups,
        }
    }

    /// As JSON; `docs/metrics.md` has the schema.
    pub fn json(&self) -> Value {
        let swept = self.values.iter().map(|(path, value)| (path.clone(), value.as_str().into()));
        json!({
            "point": self.point,
            "swept": Value::Object(swept.collect::<Map<String, Value>>()),
            "runs": self.runs,
            "failed": self.failed,
            "because": self.because.map_or("stopped", reason),
            "utilisation": figure(self.utilisation),
            "fairness": figure(self.fairness),
            "flows": elements(&self.flows, &["flow"], FLOW_FIGURES),
            "links": elements(&self.links, &["link", "from", "to"], LINK_FIGURES),
            "groups": elements(&self.groups, &["group"], GROUP_FIGURES),
        })
    }
}

fn elements<R>(elements: &[ElementSummary], name: &[&str], figures: &[Figure<R>]) -> Value {
    let elements = elements.iter().map(|element| {
        let names = name.iter().zip(&element.name);
        let names = names.map(|(key, name)| ((*key).to_owned(), name.as_str().into()));
        let values = figures.iter().zip(&element.figures);
        let values = values.map(|(known, summary)| (known.key(), figure(*summary)));
        Value::Object(names.chain(values).collect())
    });
    elements.collect()
}

fn reason(because: Enough) -> &'static str {
    match because {
        Enough::Runs => "runs",
        Enough::Met => "met",
        Enough::Limit => "limit",
        Enough::Certain => "nothing-random",
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

/// A table of summaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryTable {
    /// One row a flow of a point.
    Flows,
    /// One row a direction of a link of a point.
    Links,
    /// One row a group of flows of a point.
    Groups,
}

impl SummaryTable {
    /// All.
    pub const ALL: [SummaryTable; 3] =
        [SummaryTable::Flows, SummaryTable::Links, SummaryTable::Groups];

    /// The name of its files.
    pub fn name(self) -> &'static str {
        match self {
            SummaryTable::Flows => "summary",
            SummaryTable::Links => "summary-links",
            SummaryTable::Groups => "summary-groups",
        }
    }

    /// What a row is.
    pub fn about(self) -> &'static str {
        match self {
            SummaryTable::Flows => {
                "one row a flow of a point, over its runs: what a figure with error bars needs"
            }
            SummaryTable::Links => "one row a direction of a link of a point, over its runs",
            SummaryTable::Groups => "one row a group of flows of a point, over its runs",
        }
    }

    /// Its own columns, without those of the point.
    pub fn headings(self) -> Vec<Heading> {
        let text = |name: &str, about: &str| Heading::new(name, CellKind::Text, "", about);
        let mut headings = match self {
            SummaryTable::Flows => vec![text("flow", "the flow's name")],
            SummaryTable::Links => vec![
                text("link", "the link's name"),
                text("from", "the node where this direction begins"),
                text("to", "the node where it ends"),
            ],
            SummaryTable::Groups => vec![text("group", "the group's name")],
        };
        headings.push(Heading::new("runs", CellKind::Count, "runs", "that the figures are of"));
        match self {
            SummaryTable::Flows => {
                headings.extend(FLOW_FIGURES.iter().flat_map(columns));
                headings.extend(RUN_FIGURES.iter().flat_map(columns));
            }
            SummaryTable::Links => headings.extend(LINK_FIGURES.iter().flat_map(columns)),
            SummaryTable::Groups => headings.extend(GROUP_FIGURES.iter().flat_map(columns)),
        }
        headings
    }

    /// Its rows of a point.
    pub(crate) fn rows(self, point: &PointSummary) -> Vec<Row> {
        let of_run = [point.utilisation, point.fairness];
        let (elements, further) = match self {
            SummaryTable::Flows => (&point.flows, &of_run[..]),
            SummaryTable::Links => (&point.links, &[][..]),
            SummaryTable::Groups => (&point.groups, &[][..]),
        };
        let rows = elements.iter().map(|element| {
            let mut row: Row = element.name.iter().map(Cell::from).collect();
            row.push(u64::from(point.runs - point.failed).into());
            row.extend(element.figures.iter().chain(further).flat_map(|summary| cells(*summary)));
            row
        });
        rows.collect()
    }
}

/// The columns of a figure: its mean and how it is spread.
fn columns<R>(figure: &Figure<R>) -> [Heading; 4] {
    let Figure { name, suffix, unit, about, .. } = figure;
    let column = |what: &str, about: &str| {
        Heading::new(&format!("{name}_{what}{suffix}"), CellKind::Number, unit, about)
    };
    [
        column("mean", &format!("mean over the runs: {about}")),
        column("sd", "its sample standard deviation"),
        column("half_width_95", "of the mean's 95 % confidence interval"),
        column("half_width_99", "of the mean's 99 % confidence interval"),
    ]
}

fn cells(summary: Option<SampleSummary>) -> [Cell; 4] {
    let part = |of: fn(SampleSummary) -> Option<f64>| summary.and_then(of).into();
    [
        part(|s| Some(s.mean)),
        part(|s| s.standard_deviation),
        part(|s| s.half_width_95),
        part(|s| s.half_width_99),
    ]
}
