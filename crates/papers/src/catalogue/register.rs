//! Every claim of every paper: its id, what it is, how much it matters. `papers/register.toml`.

use super::{CatalogueError, Files, parse};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What a claim is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// What a system is to do.
    Requirement,
    /// An experiment that can be made.
    Experiment,
    /// What an experiment has shown.
    Result,
    /// What can be computed.
    Formula,
    /// What the authors wished for.
    FutureWork,
}

/// How it can be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// By the simulator.
    Sim,
    /// By real hosts over the emulated link.
    Emulator,
    /// By a test of one part.
    Unit,
    /// By computing.
    Analytic,
    /// By reading.
    Inspect,
}

/// A claim in the register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// 1: the papers' core; 2: what follows from it; 3: what they wished for.
    pub priority: u8,
    /// How it can be decided.
    pub how: How,
}

/// All claims.
pub(super) fn read(files: &Files) -> Result<BTreeMap<String, Entry>, CatalogueError> {
    parse(files, "register.toml")
}
