//! What was measured, as a file beside the figure's: `NAME/fig-….live.toml`, written by
//! `bentpipe papers --live --keep`.
//!
//! A point is known by its inputs, so that what was measured of a scenario that has changed since
//! counts no more.

use super::{PointRuns, cells};
use crate::catalogue::{CatalogueError, Files, parse_if_there};
use bentpipe_lab::RunRecord;
use bentpipe_lab::tables::Table;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// What is kept of each flow, if it was measured.
const COLUMNS: [&str; 6] =
    ["goodput_bps", "completion_mean_s", "segments", "retransmissions", "timeouts", "recoveries"];

/// What is kept of each gateway.
const OF_GATEWAYS: [&str; 3] = ["split_flows", "released_flows", "lost_bytes"];

/// What a file begins with.
const HEAD: &str = "# What real hosts have given, written by `bentpipe papers --live --keep`. Numbers stand in the order of runs.\n\
                    # late: the share of packets that a link released more than 1 ms late, of the worst link;\n\
                    # late-p99-ms: by how much at most 99 % of them were late; busy: the share of the processors that was in use.\n\n";

/// What was measured of a figure.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LiveResults {
    /// By which knobs of the kernel the hosts were given their TCP, one line for each of their
    /// settings.
    #[serde(default)]
    pub kernel_settings: Vec<String>,
    /// On what.
    pub machine: Machine,
    /// Each point.
    #[serde(default, rename = "point")]
    pub points: Vec<LivePointResults>,
}

/// The machine on which it was measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Machine {
    /// The day of the last run: `2026-11-23`.
    pub measured: String,
    /// The commit, if it was in a checkout.
    pub commit: Option<String>,
    /// `Linux 6.18.44`.
    pub kernel: String,
    /// The processor's name.
    pub processor: String,
    /// How many it has.
    pub cores: usize,
    /// Its memory in MiB.
    pub memory_mib: u64,
    /// So many runs side by side.
    pub side_by_side: usize,
}

/// The lateness of the links of a run, and the load of the machine meanwhile.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Conditions {
    /// The share of packets that were released more than 1 ms late, of the worst link.
    pub late: f64,
    /// What 99 % of its packets were not later than, in milliseconds.
    pub late_p99_ms: f64,
    /// The share of the processors' time that was in use, by whomever.
    pub busy: f64,
    /// What was read off the packets of a link ([`bottleneck`](crate::live::bottleneck)), if one
    /// was recorded.
    pub packets: BTreeMap<String, f64>,
}

/// A point of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LivePointResults {
    /// The experiment.
    pub scenario: String,
    /// What its runs come from ([`PointRuns::inputs`]).
    pub inputs: String,
    /// By run: see [`Conditions`].
    pub late: Vec<f64>,
    /// By run.
    pub late_p99_ms: Vec<f64>,
    /// By run.
    pub busy: Vec<f64>,
    /// The swept fields and their values, for readers.
    pub at: BTreeMap<String, String>,
    /// What was read off the packets of a link, by run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub packets: BTreeMap<String, Vec<f64>>,
    /// What each gateway has said of itself, by run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gateway: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    /// What each flow's columns have, by run.
    pub flow: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
}

/// The file of the figure with this id, from the papers' folder on.
pub fn path(figure: &str) -> String {
    format!("{figure}.live.toml")
}

/// A digest of a point's canonical text: of all that a run of it comes from, its number apart.
pub fn inputs(canonical: &str) -> String {
    let digest = Sha256::digest(canonical);
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

impl LiveResults {
    /// What is kept of the figure with this id; there may be nothing.
    ///
    /// # Errors
    /// [`CatalogueError`].
    pub fn read(files: &Files, figure: &str) -> Result<LiveResults, CatalogueError> {
        parse_if_there(files, &path(figure))
    }

    /// As the file's text.
    ///
    /// # Errors
    /// A number cannot be written.
    pub fn text(&self) -> Result<String, toml::ser::Error> {
        Ok(format!("{HEAD}{}", toml::to_string(self)?))
    }

    /// What the simulator gives of a flow's column, by run; of several flows of a kind their mean.
    ///
    /// # Errors
    /// It is not there.
    pub fn simulated(point: &PointRuns, flow: &str, column: &str) -> Result<Vec<f64>, String> {
        of_kind(flow, |name| point.column(Table::Results, &[("flow", name)], column))
    }

    /// What was measured of this point of the experiment `scenario`.
    pub fn of(&self, scenario: &str, point: &PointRuns) -> Option<&LivePointResults> {
        let inputs = point.inputs();
        self.points.iter().find(|kept| kept.scenario == scenario && kept.inputs == inputs)
    }
}

impl LivePointResults {
    /// What runs have given at a point of the experiment `scenario`.
    pub fn new(
        scenario: &str,
        point: &PointRuns,
        runs: &[(RunRecord, Conditions)],
    ) -> Result<LivePointResults, String> {
        let of = |part: fn(&Conditions) -> f64| runs.iter().map(|(_, one)| part(one)).collect();
        let records: Vec<RunRecord> = runs.iter().map(|(record, _)| record.clone()).collect();
        let first = records.first().ok_or("no run was made")?;
        let columns = |table: Table, key: &str, wanted: &[&str]| {
            let names = first.rows(table).iter().filter_map(|row| row.first());
            let of = |name: String| {
                let column = |column: &&str| {
                    let samples = cells(&records, table, &[(key, name.as_str())], column).ok()?;
                    Some(((*column).to_owned(), samples))
                };
                (name.clone(), wanted.iter().filter_map(column).collect())
            };
            names.map(|name| of(name.text())).collect()
        };
        let mut packets: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (name, value) in runs.iter().flat_map(|(_, one)| &one.packets) {
            packets.entry(name.clone()).or_default().push(*value);
        }
        Ok(LivePointResults {
            scenario: scenario.to_owned(),
            inputs: point.inputs(),
            late: of(|one| one.late),
            late_p99_ms: of(|one| one.late_p99_ms),
            busy: of(|one| one.busy),
            at: point.values.iter().cloned().collect(),
            packets,
            gateway: columns(Table::Gateways, "gateway", &OF_GATEWAYS),
            flow: columns(Table::Results, "flow", &COLUMNS),
        })
    }

    /// How many runs there were.
    pub fn runs(&self) -> usize {
        self.late.len()
    }

    /// What a flow's column has, by run; of several flows of a kind their mean.
    ///
    /// # Errors
    /// It is not there.
    pub fn samples(&self, flow: &str, column: &str) -> Result<Vec<f64>, String> {
        let of = |name: &str| {
            let samples = self.flow.get(name).and_then(|columns| columns.get(column)).cloned();
            samples.ok_or_else(|| format!("{column} of {flow} was not measured"))
        };
        of_kind(flow, of)
    }
}

/// What is `of` a flow, by run; of several of a kind (`flow.1`, `flow.2`) their mean.
pub(super) fn of_kind(
    flow: &str,
    of: impl Fn(&str) -> Result<Vec<f64>, String>,
) -> Result<Vec<f64>, String> {
    let wrong = match of(flow) {
        Ok(samples) => return Ok(samples),
        Err(wrong) => wrong,
    };
    let kind: Vec<Vec<f64>> =
        (1..).map_while(|number| of(&format!("{flow}.{number}")).ok()).collect();
    let runs = kind.iter().map(Vec::len).min().ok_or(wrong)?;
    let mean = |run: usize| kind.iter().map(|one| one[run]).sum::<f64>() / kind.len() as f64;
    Ok((0..runs).map(mean).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_as_it_was_written() {
        let columns = BTreeMap::from([("goodput_bps".to_owned(), vec![1.25e6, 1e6])]);
        let split = BTreeMap::from([("split_flows".to_owned(), vec![1.0, 1.0])]);
        let point = LivePointResults {
            scenario: "x".to_owned(),
            inputs: "00ff".to_owned(),
            late: vec![0.0, 0.01],
            late_p99_ms: vec![0.1, 2.0],
            busy: vec![0.5, 0.75],
            at: BTreeMap::from([("link.sat.delay".to_owned(), "9400us".to_owned())]),
            packets: BTreeMap::from([("lost".to_owned(), vec![3.0, 4.0])]),
            gateway: BTreeMap::from([("g1".to_owned(), split)]),
            flow: BTreeMap::from([("main".to_owned(), columns)]),
        };
        let kept = LiveResults {
            kernel_settings: vec!["a".to_owned()],
            points: vec![point],
            ..LiveResults::default()
        };
        let text = kept.text().unwrap();
        assert!(text.starts_with("# What real hosts"), "{text}");
        assert_eq!(toml::from_str::<LiveResults>(&text).unwrap(), kept);
        let point = &kept.points[0];
        assert_eq!(point.samples("main", "goodput_bps"), Ok(vec![1.25e6, 1e6]));
        assert!(point.samples("main", "timeouts").is_err() && point.runs() == 2);
    }

    #[test]
    fn of_several_flows_of_a_kind_the_mean_counts() {
        let of = |name: &str| match name {
            "one" => Ok(vec![1.0]),
            "two.1" => Ok(vec![1.0, 2.0]),
            "two.2" => Ok(vec![3.0, 6.0]),
            other => Err(format!("no {other}")),
        };
        assert_eq!(of_kind("one", of), Ok(vec![1.0]));
        assert_eq!(of_kind("two", of), Ok(vec![2.0, 4.0]));
        assert_eq!(of_kind("three", of), Err("no three".to_owned()));
    }
}
