//! A figure or table of a paper: the experiments behind it, how it is drawn, and what is claimed of
//! it.

use super::claim::ClaimFile;
use super::expression::definitions;
use super::layout::LayoutFile;
use super::{CatalogueError, Claim, Files, FreeParameter, FreeValue, Layout, Live, Measure, parse};
use bentpipe_lab::ExperimentPart;
use bentpipe_scenario::{Change, Experiment};
use serde::Deserialize;
use std::collections::BTreeMap;

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
    /// Its experiments, by their names.
    pub scenarios: BTreeMap<String, ScenarioPart>,
    /// The names of pictures in their order; any others come after them.
    pub pictures: Vec<String>,
    /// Pictures with curves of several experiments, by the names of their `[figure]`.
    ///
    /// A curve is an experiment, and its name in the legend.
    pub joined: BTreeMap<String, Vec<[String; 2]>>,
    /// Tables that are drawn as such, by their names.
    pub tables: BTreeMap<String, Layout>,
    /// The claims, in the order of their ids.
    pub claims: Vec<Claim>,
    /// The parameters that the paper leaves free, with other values.
    pub free: Vec<FreeParameter>,
    /// Changes of its experiments, by their names.
    changes: BTreeMap<String, Vec<Change>>,
    seed: Option<u64>,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FigureFile {
    title: String,
    about: String,
    chosen: Option<String>,
    today: Option<String>,
    #[serde(default)]
    quick: bool,
    /// What checks do not say.
    #[serde(default)]
    measure: Measure,
    #[serde(default)]
    scenario: BTreeMap<String, ScenarioPart>,
    #[serde(default)]
    pictures: Vec<String>,
    #[serde(default)]
    joined: BTreeMap<String, Vec<[String; 2]>>,
    #[serde(default)]
    table: BTreeMap<String, LayoutFile>,
    /// What several of its expressions share.
    #[serde(default)]
    define: BTreeMap<String, String>,
    claim: BTreeMap<String, ClaimFile>,
    #[serde(default)]
    free: Vec<FreeParameter>,
}

/// Reads `file` of the folder `paper`.
pub(super) fn read(
    files: &Files,
    paper: &str,
    file: &str,
    seed: Option<u64>,
) -> Result<Figure, CatalogueError> {
    let path = format!("{paper}/{file}.toml");
    let read: FigureFile = parse(files, &path)?;
    let default = read.measure;
    let wrong = |why: String| CatalogueError::content(path.as_str(), why);
    let definitions = definitions(&read.define).map_err(wrong)?;
    let claims = read.claim.into_iter().map(|(id, claim)| claim.read(id, &default, &definitions));
    let claims = claims.collect::<Result<Vec<_>, String>>().map_err(wrong)?;
    let table = |(name, table): (String, LayoutFile)| {
        table.read(&name, &definitions).map(|table| (name, table))
    };
    let tables = read.table.into_iter().map(table).collect::<Result<_, String>>().map_err(wrong)?;
    Ok(Figure {
        id: format!("{paper}/{file}"),
        title: read.title,
        about: read.about,
        chosen: read.chosen,
        today: read.today,
        quick: read.quick,
        claims,
        scenarios: read.scenario,
        pictures: read.pictures,
        joined: read.joined,
        tables,
        free: read.free,
        changes: BTreeMap::new(),
        seed,
    })
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

    /// The figure with another value of a free parameter.
    pub fn with(&self, parameter: &FreeParameter, value: &FreeValue) -> Figure {
        let set = value.set.iter().map(|(path, value)| Change::new(path, value.to_string()));
        let runs = parameter.runs.map(|runs| Change::new("repeat.runs", runs.to_string()));
        let changes: Vec<Change> = set.chain(runs).collect();
        let scenarios = parameter.scenarios.iter();
        let changes = scenarios.map(|name| (name.clone(), changes.clone())).collect();
        Figure { changes, ..self.clone() }
    }

    /// The experiment of this name.
    ///
    /// # Errors
    /// There is none, or it is wrong.
    pub fn experiment(&self, files: &Files, name: &str) -> Result<Experiment, CatalogueError> {
        let mut changes = self.changes.get(name).cloned().unwrap_or_default();
        let is_live = self.scenarios.get(name).is_some_and(|part| part.live.is_some());
        if let Some(seed) = self.seed.filter(|_| !is_live) {
            changes.push(Change::new("run.seed", seed.to_string()));
        }
        self.changed(files, name, &changes)
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
