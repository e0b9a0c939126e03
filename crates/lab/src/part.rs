//! An experiment as a scenario file and what is different from it.
//!
//! Figures of papers and the cases of benchmarks are written so.

use bentpipe_config::DocumentError;
use bentpipe_config::reader::ReadFile;
use bentpipe_scenario::{Change, Experiment};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// A scenario file that others share, and what one experiment has over it.
#[derive(Debug, Clone, Deserialize)]
pub struct ExperimentPart {
    /// The scenario's file.
    base: String,
    /// Fields that are changed, by their paths. What variants set comes after them.
    #[serde(default)]
    set: BTreeMap<String, Value>,
    /// What is added to the file: `sweep`, `repeat`, `record`, `figure` and whatever else a
    /// scenario takes.
    #[serde(flatten)]
    more: Table,
}

impl ExperimentPart {
    /// The scenario's file.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Reads the experiment, which messages call `name`, with further changes. `read` gives the
    /// text of a file.
    ///
    /// # Errors
    /// [`PartError`].
    pub fn experiment(
        &self,
        name: &str,
        changes: &[Change],
        read: &ReadFile<'_>,
    ) -> Result<Experiment, PartError> {
        let base =
            read(&self.base).map_err(|why| PartError::Base { base: self.base.clone(), why })?;
        let more = toml::to_string(&self.more)?;
        let own = self.set.iter().map(|(path, value)| Change::of_base(path, value.to_string()));
        let changes: Vec<Change> = own.chain(changes.iter().cloned()).collect();
        Ok(Experiment::parse_changed(name, &format!("{base}\n{more}"), &changes, read)?)
    }
}

/// The reason why an experiment cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// Its scenario's file.
    #[error("cannot read {base}: {why}")]
    Base {
        /// The file.
        base: String,
        /// The reader's words.
        why: String,
    },
    /// A table that is no TOML.
    #[error(transparent)]
    Table(#[from] toml::ser::Error),
    /// The scenario.
    #[error(transparent)]
    Scenario(#[from] DocumentError),
}
