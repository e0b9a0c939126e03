//! Results of real hosts, in files beside the figure's.
//!
//! `bentpipe papers --live --keep` writes them: `NAME/fig-….live.toml` has the machine, `.live.csv`
//! the rows, `.flows.csv.gz` the same of single flows. The rows of kinds are the means of these.
//!
//! A point is known by its inputs, so that what was measured of a scenario that has changed since
//! counts no more.

use super::live_rows::{self, COLUMNS};
use super::{PointRuns, cells};
use crate::catalogue::{CatalogueError, Files, parse_if_there};
use bentpipe_lab::RunRecord;
use bentpipe_lab::tables::Table;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

/// What is kept of each gateway.
const OF_GATEWAYS: [&str; 3] = ["split_flows", "released_flows", "lost_bytes"];

/// What a file begins with.
const HEAD: &str = "# On what real hosts have given the rows of the .live.csv beside this, and the digest of the rows of single\n\
                    # flows; written by `bentpipe papers --live --keep`.\n\n";

/// What was measured of a figure.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LiveResults {
    /// By which knobs of the kernel the hosts were given their TCP, one line for each of their
    /// settings.
    #[serde(default)]
    pub kernel_settings: Vec<String>,
    /// The digest of the compressed rows of single flows.
    pub flows_sha256: String,
    /// On what.
    pub machine: Machine,
    /// Each point.
    #[serde(skip)]
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

/// Flows of a kind (`h.1`, `h.2`), or a single one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LiveFlows {
    /// Their count.
    pub count: usize,
    /// The mean of each column, by run.
    pub columns: BTreeMap<String, Vec<f64>>,
}

/// A point of an experiment.
#[derive(Debug, Clone, PartialEq, Default)]
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
    pub packets: BTreeMap<String, Vec<f64>>,
    /// What each gateway has said of itself, by run.
    pub gateway: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    /// The columns of flows, by their kinds.
    pub flow: BTreeMap<String, LiveFlows>,
}

/// The file of the figure with this id, from the papers' folder on.
fn path(figure: &str) -> String {
    format!("{figure}.live.toml")
}

/// The file of its rows.
fn rows_path(figure: &str) -> String {
    format!("{figure}.live.csv")
}

/// The file of its rows of single flows.
fn flows_path(figure: &str) -> String {
    format!("{figure}.flows.csv.gz")
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A digest of a point's canonical text: of all that a run of it comes from, its number apart.
pub fn inputs(canonical: &str) -> String {
    hexadecimal(&Sha256::digest(canonical)[..8])
}

impl LiveResults {
    /// What is kept of the figure with this id; there may be nothing.
    ///
    /// # Errors
    /// [`CatalogueError`].
    pub fn read(files: &Files, figure: &str) -> Result<LiveResults, CatalogueError> {
        let mut kept: LiveResults = parse_if_there(files, &path(figure))?;
        let rows = rows_path(figure);
        if files.has(&rows) {
            let wrong = |why: String| CatalogueError::content(&rows, why);
            kept.points = live_rows::read(files.text(&rows)?).map_err(wrong)?;
        }
        Ok(kept)
    }

    /// Compares the rows with those of single flows, and these with their digest.
    ///
    /// # Errors
    /// The difference, in a sentence.
    pub fn check(&self, files: &Files, figure: &str) -> Result<(), String> {
        let path = flows_path(figure);
        let bytes = files.compressed().get(&path).ok_or_else(|| format!("there is no {path}"))?;
        if hexadecimal(&Sha256::digest(bytes)) != self.flows_sha256 {
            return Err(format!("{path} has another digest"));
        }
        let single = live_rows::read(&live_rows::decompress(bytes)?)?;
        if !single.iter().map(LivePointResults::by_kind).eq(self.points.iter().cloned()) {
            return Err(format!("{} is not what {path} gives", rows_path(figure)));
        }
        Ok(())
    }

    /// Writes the files into each of `folders`. The result has kinds of flows.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn keep(mut self, figure: &str, folders: &[&Path]) -> io::Result<LiveResults> {
        let flows = live_rows::compress(&live_rows::text(&self.points).map_err(io::Error::other)?);
        let flows = flows.map_err(io::Error::other)?;
        self.flows_sha256 = hexadecimal(&Sha256::digest(&flows));
        self.points = self.points.iter().map(LivePointResults::by_kind).collect();
        let rows = live_rows::text(&self.points).map_err(io::Error::other)?;
        let about = toml::to_string(&self).map_err(io::Error::other)?;
        for folder in folders {
            let write = |path: String, bytes: &[u8]| {
                let path = folder.join(path);
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::write(path, bytes)
            };
            write(path(figure), format!("{HEAD}{about}").as_bytes())?;
            write(rows_path(figure), rows.as_bytes())?;
            write(flows_path(figure), &flows)?;
        }
        Ok(self)
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
    /// The results of runs at a point of `scenario`, flow by flow.
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
            names.map(|name| of(name.text())).collect::<BTreeMap<_, _>>()
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
            flow: columns(Table::Results, "flow", &COLUMNS)
                .into_iter()
                .map(|(name, columns)| (name, LiveFlows { count: 1, columns }))
                .collect(),
        })
    }

    /// How many runs there were.
    pub fn runs(&self) -> usize {
        self.late.len()
    }

    /// The same with flows of a kind as one, whose columns are means.
    #[must_use]
    pub fn by_kind(&self) -> LivePointResults {
        let kinds: BTreeSet<&str> = self.flow.keys().map(|name| kind(name)).collect();
        let of = |column: &str, name: &str| {
            let found = self.flow.get(name).and_then(|flow| flow.columns.get(column)).cloned();
            found.ok_or_else(String::new)
        };
        let together = |kind: &str| LiveFlows {
            count: self.flow.keys().filter(|name| self::kind(name) == kind).count(),
            columns: COLUMNS
                .iter()
                .filter_map(|&column| {
                    let mean = of_kind(kind, |name| of(column, name)).ok()?;
                    Some((column.to_owned(), mean))
                })
                .collect(),
        };
        let flow = kinds.into_iter().map(|kind| (kind.to_owned(), together(kind))).collect();
        LivePointResults { flow, ..self.clone() }
    }

    /// What a flow's column has, by run; of several flows of a kind their mean.
    ///
    /// # Errors
    /// It is not there.
    pub fn samples(&self, flow: &str, column: &str) -> Result<Vec<f64>, String> {
        let samples = self.flow.get(flow).and_then(|flows| flows.columns.get(column)).cloned();
        samples.ok_or_else(|| format!("{column} of {flow} was not measured"))
    }
}

/// The kind of a flow: its name without the number of several.
fn kind(name: &str) -> &str {
    let numbered = |number: &str| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    name.rsplit_once('.').filter(|(_, number)| numbered(number)).map_or(name, |(kind, _)| kind)
}

/// What is `of` a flow, by run; of several of a kind (`flow.1`, `flow.2`) their mean.
fn of_kind(flow: &str, of: impl Fn(&str) -> Result<Vec<f64>, String>) -> Result<Vec<f64>, String> {
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

    fn point() -> LivePointResults {
        let flow = |goodputs: &[f64]| LiveFlows {
            count: 1,
            columns: BTreeMap::from([("goodput_bps".to_owned(), goodputs.to_vec())]),
        };
        let split = BTreeMap::from([("split_flows".to_owned(), vec![1.0, 1.0])]);
        LivePointResults {
            scenario: "x".to_owned(),
            inputs: "00ff".to_owned(),
            late: vec![0.0, 0.01],
            late_p99_ms: vec![0.1, 2.0],
            busy: vec![0.5, 0.75],
            at: BTreeMap::from([("link.sat.delay".to_owned(), "9400us".to_owned())]),
            packets: BTreeMap::from([("lost".to_owned(), vec![3.0, 4.0])]),
            gateway: BTreeMap::from([("g1".to_owned(), split)]),
            flow: BTreeMap::from([
                ("main".to_owned(), flow(&[1.25e6, 1e6 / 3.0])),
                ("h.1".to_owned(), flow(&[1.0, 2.0])),
                ("h.2".to_owned(), flow(&[3.0, 6.0])),
            ]),
        }
    }

    #[test]
    fn what_is_kept_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let other = LivePointResults { scenario: "y".to_owned(), ..point() };
        let other = LivePointResults { packets: BTreeMap::new(), at: BTreeMap::new(), ..other };
        let measured = LiveResults {
            kernel_settings: vec!["a".to_owned()],
            points: vec![point(), other],
            ..LiveResults::default()
        };
        let kept = measured.clone().keep("p/fig", &[folder.path()]).unwrap();
        let files = Files::of_folder(folder.path()).unwrap();
        assert_eq!(LiveResults::read(&files, "p/fig").unwrap(), kept);
        assert_eq!(kept.check(&files, "p/fig"), Ok(()));
        let point = &kept.points[0];
        assert_eq!(point.samples("h", "goodput_bps"), Ok(vec![2.0, 4.0]));
        assert_eq!((point.flow["h"].count, point.flow["main"].count), (2, 1));
        assert!(point.samples("main", "timeouts").is_err() && point.runs() == 2);
        let wrong = LiveResults { points: kept.points[..1].to_vec(), ..kept.clone() };
        assert!(wrong.check(&files, "p/fig").unwrap_err().contains("is not what"));
        let wrong = LiveResults { flows_sha256: String::new(), ..kept };
        assert!(wrong.check(&files, "p/fig").unwrap_err().contains("another digest"));
    }

    #[test]
    fn flows_with_numbers_are_of_a_kind() {
        assert_eq!(["h.1", "h.12", "h", "h.x", "h."].map(kind), ["h", "h", "h", "h.x", "h."]);
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
