//! Every claim of every paper: its id, what it is, how much it matters. `papers/register.toml`.

use super::{CatalogueError, Files, parse};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The kind of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimKind {
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

/// The method that decides a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimMethod {
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
    /// Its kind.
    pub kind: ClaimKind,
    /// 1: the papers' core; 2: what follows from it; 3: what they wished for.
    pub priority: u8,
    /// The method that decides it.
    pub how: ClaimMethod,
}

/// All claims.
pub(super) fn read(files: &Files) -> Result<BTreeMap<String, Entry>, CatalogueError> {
    parse(files, "register.toml")
}
