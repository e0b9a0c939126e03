//! A study: its file, and the runs that it asks for.

use crate::support::parsed;
use bentpipe_core::time::Duration;
use bentpipe_results::RunResults;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Study {
    pub(crate) title: String,
    /// How ns was set up.
    pub(crate) settings: String,
    scenario: String,
    pub(crate) group: Vec<Group>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// Of rows that say nothing else.
    #[serde(default)]
    measure: Measure,
    /// What all rows change in the scenario.
    #[serde(default)]
    set: Table,
    /// So many random seeds.
    #[serde(default = "one")]
    pub(crate) runs: u64,
    pub(crate) rows: Vec<Row>,
    /// Why ours differ.
    pub(crate) why: Option<String>,
}

fn one() -> u64 {
    1
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Measure {
    /// Of all flows together, in kbit/s. ns counts whole packets, so ours are scaled up by their
    /// headers.
    #[default]
    Goodput,
    /// Seconds from a transfer's beginning to its end.
    Completion,
    /// Jain's index.
    Fairness,
    /// Of the busiest link.
    Utilisation,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// Bytes of a data packet, headers included.
    #[serde(default = "thousand")]
    packet: i64,
    measure: Option<Measure>,
    /// Whose goodput, if not that of all flows together.
    flow: Option<String>,
    #[serde(default)]
    set: Table,
    /// What ns gave, and the standard deviation over its runs.
    pub(crate) ns: f64,
    pub(crate) sd: Option<f64>,
}

fn thousand() -> i64 {
    1000
}

impl Row {
    /// Whether ours differs from ns's by more than 10 %, and, where ns's own runs differ, by more
    /// than their standard deviation.
    pub(crate) fn is_apart(&self, ours: f64) -> bool {
        (ours / self.ns - 1.0).abs() > 0.1 && (ours - self.ns).abs() > self.sd.unwrap_or(0.0)
    }
}

/// IP's and TCP's headers.
const HEADERS: i64 = 40;

impl Study {
    pub(crate) fn parse(text: &str) -> Study {
        toml::from_str(text).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Ours of a group, by row.
    pub(crate) fn run(&self, group: &Group) -> Vec<f64> {
        // Rows of the same scenario share its runs.
        let mut runs: BTreeMap<String, Vec<RunResults>> = BTreeMap::new();
        let rows = group.rows.iter().map(|row| {
            let text = self.text(group, row);
            let runs = runs.entry(text).or_insert_with_key(|text| outcomes(text, group.runs));
            let sum: f64 = runs.iter().map(|outcome| row.of(outcome, group.measure)).sum();
            sum / group.runs as f64
        });
        rows.collect()
    }

    /// The scenario of a row.
    fn text(&self, group: &Group, row: &Row) -> String {
        let mut table: Table = self.scenario.parse().unwrap_or_else(|error| panic!("{error}"));
        for set in [&group.set, &row.set] {
            merge(&mut table, set);
        }
        if table["flow"].get("main").is_some() {
            let mss = format!("flow.main.tcp.mss = {}", row.packet - HEADERS);
            merge(&mut table, &mss.parse().expect("it is TOML"));
        }
        toml::to_string(&table).expect("what was read can be written")
    }
}

fn outcomes(text: &str, runs: u64) -> Vec<RunResults> {
    let scenario = parsed(text);
    let run = |number| bentpipe_sim::run(&scenario, number, |_| true).expect("it runs");
    (0..runs).map(run).collect()
}

impl Row {
    /// Its figure of one run.
    fn of(&self, outcome: &RunResults, measure: Measure) -> f64 {
        match self.measure.unwrap_or(measure) {
            Measure::Goodput => {
                let goodput = match &self.flow {
                    None => outcome.run.goodput,
                    Some(name) => {
                        let flow = outcome.flows.iter().find(|flow| flow.name == *name);
                        flow.unwrap_or_else(|| panic!("no flow is called {name}")).goodput
                    }
                };
                let packets = self.packet as f64 / (self.packet - HEADERS) as f64;
                goodput * packets / 1000.0
            }
            Measure::Completion => {
                outcome.flows[0].mean_completion.unwrap_or(Duration::ZERO).as_secs_f64()
            }
            Measure::Fairness => outcome.run.fairness.unwrap_or(0.0),
            Measure::Utilisation => outcome.run.utilisation.unwrap_or(0.0),
        }
    }
}

/// Puts what `set` says in the place of what `table` does, within tables key by key.
fn merge(table: &mut Table, set: &Table) {
    for (key, value) in set {
        match (table.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(set)) => merge(inner, set),
            _ => drop(table.insert(key.clone(), value.clone())),
        }
    }
}
