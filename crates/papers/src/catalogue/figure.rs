//! A figure or table of a paper: the experiments behind it, how it is drawn, and what is claimed of
//! it.

use super::{Accepted, CatalogueError, Entry, Files, Layout, Live, parse};
use bentpipe_lab::ExperimentPart;
use bentpipe_scenario::{Change, Experiment};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// A figure or table.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Its paper's folder and its own name: `bbn/fig-8`.
    pub id: String,
    /// As the paper calls it, and what it shows.
    pub title: String,
    /// What is to be seen, in our words.
    pub about: String,
    /// What the paper does not state, or states twice, and what was chosen.
    pub chosen: Option<String>,
    /// What 25 years have changed.
    pub today: Option<String>,
    /// Whether `--quick` runs it.
    pub quick: bool,
    /// So many runs of a point at most, where a claim cannot be decided with fewer.
    pub most_runs: u32,
    /// Its experiments, by their names.
    pub scenarios: BTreeMap<String, ScenarioPart>,
    /// Tables that are drawn as such, by their names.
    pub tables: BTreeMap<String, Layout>,
    /// The claims, in the order of their ids.
    pub claims: Vec<Claim>,
}

/// An experiment of a figure. Its scenario's file is in the paper's folder.
#[derive(Debug, Clone, Deserialize)]
pub struct ScenarioPart {
    /// Which of its points are run on real hosts, too, if any are.
    #[serde(default)]
    pub live: Option<Live>,
    #[serde(flatten)]
    part: ExperimentPart,
}

/// A claim of the paper.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Its id.
    pub id: String,
    /// Its kind and weight.
    pub entry: Entry,
    /// What is claimed, in our words.
    pub says: String,
    /// Why it does not hold, or cannot be decided.
    pub explanation: Option<String>,
    /// What its numbers are compared with, by their names.
    pub accepted: BTreeMap<String, Accepted>,
    /// What is measured for it, by the numbers' names. Without any, the function of its id does it.
    pub checks: Vec<Check>,
}

/// A number that a claim is about.
#[derive(Debug, Clone)]
pub struct Check {
    /// Its name; what is accepted has the same.
    pub name: String,
    /// What it is.
    pub form: Form,
}

/// How a number comes about. With several runs there is one for each, and figures of the same run
/// belong together: they have the same random numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// The measured one.
    Value(Measure),
    /// The first divided by the second.
    Ratio(Box<[Measure; 2]>),
    /// The first less the second.
    Difference(Box<[Measure; 2]>),
    /// The smallest of the differences between each and the one before it: above zero, they are in
    /// order.
    Order(Vec<Measure>),
    /// How many points the sweep of this experiment has: it was run, and can be drawn.
    Points(String),
    /// How many points of this experiment were measured on real hosts.
    LivePoints(String),
    /// What was read off the packets of an experiment's only point on real hosts: a column of
    /// [`crate::live::bottleneck`], and its divisor, if there is one.
    LivePackets {
        /// The experiment.
        scenario: String,
        /// The column.
        column: String,
        /// Divided by this one.
        over: Option<String>,
    },
    /// What real hosts have given divided by what the simulator has, at the point where that is
    /// smallest.
    LiveLeast(Measure),
    /// The same where it is most.
    LiveMost(Measure),
}

/// A cell of a table of results.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Measure {
    /// Of which experiment; none needed if there is one.
    pub scenario: Option<String>,
    /// Of this flow: table `results`.
    pub flow: Option<String>,
    /// Of this link: table `links`.
    pub link: Option<String>,
    /// The link's direction: the node that it leads away from.
    pub from: Option<String>,
    /// Of this group of flows: table `groups`.
    pub group: Option<String>,
    /// Of the run as a whole: table `runs`.
    #[serde(default)]
    pub run: bool,
    /// Which column.
    pub column: Option<String>,
    /// The value is multiplied by this.
    pub scale: Option<f64>,
    /// At which point of the sweep: its fields' values.
    #[serde(default)]
    pub at: BTreeMap<String, Value>,
}

impl Measure {
    /// What it does not say, as `default` does.
    fn or(self, default: &Measure) -> Measure {
        let named = self.run || self.flow.is_some() || self.link.is_some() || self.group.is_some();
        let other = |own: Option<String>, theirs: &Option<String>| {
            own.or_else(|| theirs.clone().filter(|_| !named))
        };
        let mut at = default.at.clone();
        at.extend(self.at);
        Measure {
            scenario: self.scenario.or_else(|| default.scenario.clone()),
            flow: other(self.flow, &default.flow),
            link: other(self.link, &default.link),
            from: self.from.or_else(|| default.from.clone()),
            group: other(self.group, &default.group),
            run: self.run || (!named && default.run),
            column: self.column.or_else(|| default.column.clone()),
            scale: self.scale.or(default.scale),
            at,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FigureFile {
    title: String,
    about: String,
    chosen: Option<String>,
    today: Option<String>,
    #[serde(default)]
    quick: bool,
    #[serde(default = "most_runs")]
    most_runs: u32,
    /// What checks do not say.
    #[serde(default)]
    measure: Measure,
    #[serde(default)]
    scenario: BTreeMap<String, ScenarioPart>,
    #[serde(default)]
    table: BTreeMap<String, Layout>,
    claim: BTreeMap<String, ClaimFile>,
}

fn most_runs() -> u32 {
    40
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ClaimFile {
    entry: Entry,
    says: String,
    explanation: Option<String>,
    accepted: BTreeMap<String, Accepted>,
    /// What its checks do not say.
    #[serde(default)]
    measure: Measure,
    #[serde(default)]
    check: BTreeMap<String, CheckFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
enum CheckFile {
    Value(Measure),
    Ratio([Measure; 2]),
    Difference([Measure; 2]),
    Order(Vec<Measure>),
    Points(String),
    LivePoints(String),
    LivePackets { scenario: String, column: String, over: Option<String> },
    LiveLeast(Measure),
    LiveMost(Measure),
}

/// Reads `file` of the folder `paper`.
pub(super) fn read(files: &Files, paper: &str, file: &str) -> Result<Figure, CatalogueError> {
    let path = format!("{paper}/{file}.toml");
    let read: FigureFile = parse(files, &path)?;
    let default = read.measure;
    let claims = read.claim.into_iter().map(|(id, claim)| {
        let default = claim.measure.or(&default);
        let checks = claim.check.into_iter();
        let checks = checks.map(|(name, check)| Check { name, form: form(check, &default) });
        let ClaimFile { entry, says, explanation, accepted, .. } = claim;
        Claim { id, entry, says, explanation, accepted, checks: checks.collect() }
    });
    Ok(Figure {
        id: format!("{paper}/{file}"),
        title: read.title,
        about: read.about,
        chosen: read.chosen,
        today: read.today,
        quick: read.quick,
        most_runs: read.most_runs,
        claims: claims.collect(),
        scenarios: read.scenario,
        tables: read.table,
    })
}

fn form(check: CheckFile, default: &Measure) -> Form {
    let pair = |measures: [Measure; 2]| Box::new(measures.map(|measure| measure.or(default)));
    match check {
        CheckFile::Value(measure) => Form::Value(measure.or(default)),
        CheckFile::Ratio(measures) => Form::Ratio(pair(measures)),
        CheckFile::Difference(measures) => Form::Difference(pair(measures)),
        CheckFile::Points(scenario) => Form::Points(scenario),
        CheckFile::LivePoints(scenario) => Form::LivePoints(scenario),
        CheckFile::LivePackets { scenario, column, over } => {
            Form::LivePackets { scenario, column, over }
        }
        CheckFile::LiveLeast(measure) => Form::LiveLeast(measure.or(default)),
        CheckFile::LiveMost(measure) => Form::LiveMost(measure.or(default)),
        CheckFile::Order(measures) => {
            Form::Order(measures.into_iter().map(|measure| measure.or(default)).collect())
        }
    }
}

impl Figure {
    /// Its paper's folder.
    pub fn paper(&self) -> &str {
        self.id.split_once('/').map_or(self.id.as_str(), |(paper, _)| paper)
    }

    /// Its name in that folder.
    pub fn name(&self) -> &str {
        self.id.split_once('/').map_or(self.id.as_str(), |(_, name)| name)
    }

    /// Its experiments that are run on real hosts, too.
    pub fn live(&self) -> impl Iterator<Item = (&str, &Live)> {
        self.scenarios.iter().filter_map(|(name, part)| Some((name.as_str(), part.live.as_ref()?)))
    }

    /// The experiment of this name, with at least so many runs of each point.
    ///
    /// # Errors
    /// There is none, or it is wrong.
    pub fn experiment(
        &self,
        files: &Files,
        name: &str,
        runs: Option<u32>,
    ) -> Result<Experiment, CatalogueError> {
        let more = runs.map(|runs| Change::new("repeat.runs", runs.to_string()));
        self.changed(files, name, more.as_slice())
    }

    /// The experiment of this name, whose packets are recorded, for the first half minute.
    ///
    /// # Errors
    /// There is none, or it is wrong.
    pub fn recorded(&self, files: &Files, name: &str) -> Result<Experiment, CatalogueError> {
        let changes =
            [("record.packets", "true"), ("run.duration", "\"30s\""), ("run.warm-up", "\"0s\"")];
        self.changed(files, name, &changes.map(|(path, value)| Change::new(path, value)))
    }

    /// The experiment of this name, with more changes than its own.
    fn changed(
        &self,
        files: &Files,
        name: &str,
        more_changes: &[Change],
    ) -> Result<Experiment, CatalogueError> {
        let wrong = |why: String| CatalogueError::content(format!("{}.toml", self.id), why);
        let part = self
            .scenarios
            .get(name)
            .ok_or_else(|| wrong(format!("there is no scenario {name}")))?;
        let folder = self.paper();
        let read = |path: &str| {
            files.text(&format!("{folder}/{path}")).map(str::to_owned).map_err(|e| e.to_string())
        };
        let file = format!("{} ({name})", self.id);
        part.part
            .experiment(&file, more_changes, &read)
            .map_err(|error| CatalogueError::content(file.as_str(), error.to_string()))
    }
}
