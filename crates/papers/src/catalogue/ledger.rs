//! Decisions that were made after a first result, and the digests that hold the rest.
//! `papers/ledger.toml`.

use super::{CatalogueError, Figure, Files, parse_if_there};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const FILE: &str = "ledger.toml";

/// The ledger.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// The digest of each figure when all was frozen, by the figure's id.
    #[serde(default)]
    pub frozen: BTreeMap<String, String>,
    /// The digest of each TCP that scenarios name, by the preset's name.
    #[serde(default)]
    pub presets: BTreeMap<String, String>,
    /// Oldest first.
    #[serde(default, rename = "decision")]
    pub decisions: Vec<Decision>,
}

/// A decision that was made with a result in view.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Decision {
    /// The claims that it can move; all, if none is named.
    #[serde(default)]
    pub claims: Vec<String>,
    /// The kind of what was changed.
    pub what: Decided,
    /// Its state before.
    pub before: String,
    /// The finding with that.
    #[serde(default)]
    pub found_before: Option<String>,
    /// Its state since.
    pub after: String,
    /// The reason.
    pub why: String,
    /// The commit that made the change.
    pub commit: String,
    /// The new digests of figures, by their ids. None before they were frozen.
    #[serde(default)]
    pub figures: BTreeMap<String, String>,
    /// The new digests of presets, by their names.
    #[serde(default)]
    pub presets: BTreeMap<String, String>,
}

/// The kinds of what a decision changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decided {
    /// The range that is accepted.
    Tolerance,
    /// The experiment.
    Scenario,
    /// The measurement of a number.
    Function,
    /// The length or the number of runs.
    Duration,
    /// The meaning of a word of the claim.
    Definition,
    /// Our TCP, or our simulator.
    Model,
}

impl Decided {
    /// In a word.
    pub fn words(self) -> &'static str {
        match self {
            Decided::Tolerance => "tolerance",
            Decided::Scenario => "scenario",
            Decided::Function => "function",
            Decided::Duration => "duration",
            Decided::Definition => "definition",
            Decided::Model => "model",
        }
    }
}

impl Ledger {
    /// The digest that a figure is to have. It is the last decision's that has changed it, or the
    /// frozen one.
    pub fn digest(&self, figure: &str) -> Option<&str> {
        self.latest(figure, &self.frozen, |decision| &decision.figures)
    }

    /// The digest that a preset is to have, as [`Ledger::digest`].
    pub fn preset_digest(&self, preset: &str) -> Option<&str> {
        self.latest(preset, &self.presets, |decision| &decision.presets)
    }

    fn latest<'a>(
        &'a self,
        name: &str,
        frozen: &'a BTreeMap<String, String>,
        of: impl Fn(&'a Decision) -> &'a BTreeMap<String, String>,
    ) -> Option<&'a str> {
        let changed = self.decisions.iter().rev().find_map(|decision| of(decision).get(name));
        changed.or_else(|| frozen.get(name)).map(String::as_str)
    }
}

pub(super) fn read(files: &Files) -> Result<Ledger, CatalogueError> {
    parse_if_there(files, FILE)
}

/// Digests what a figure measures.
///
/// That is its scenarios without their drawings, its claims' checks, and `functions`: the sources
/// of those that measure the other claims.
///
/// # Errors
/// A scenario is wrong.
pub fn figure_digest(
    figure: &Figure,
    files: &Files,
    functions: &[&str],
) -> Result<String, CatalogueError> {
    let mut digest = Sha256::new();
    let mut add = |text: &str| {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    };
    for name in figure.scenarios.keys() {
        add(name);
        let experiment = figure.experiment(files, name)?;
        let mut table: toml::Table = toml::from_str(experiment.source())
            .map_err(|error| CatalogueError::content(figure.id.as_str(), error.to_string()))?;
        for words in ["figure", "title", "about"] {
            table.remove(words);
        }
        add(&table.to_string());
        experiment.files().values().for_each(|file| add(file));
    }
    for claim in &figure.claims {
        add(&claim.id);
        add(&format!("{:?}", claim.checks));
    }
    functions.iter().for_each(|source| add(source));
    Ok(hex(&digest.finalize()))
}

/// Digests a preset's text, which scenarios only name.
pub fn preset_digest(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
