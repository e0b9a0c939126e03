//! The time and the room that figures took. `papers/costs.toml`, written by
//! `scripts/papers_costs.py`.

use super::{CatalogueError, Files, parse_if_there};
use serde::Deserialize;
use std::collections::BTreeMap;

const FILE: &str = "costs.toml";

/// The costs of all figures on one machine.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Costs {
    /// The commit and its day.
    pub commit: String,
    /// The day of the runs.
    pub measured: String,
    /// `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub compiler: String,
    /// `Linux 6.18.44`.
    pub kernel: String,
    /// The processor's name.
    pub processor: String,
    /// How many there are.
    pub cores: usize,
    /// The memory in MiB.
    pub memory_mib: u64,
    /// The threads that made the runs.
    pub threads: usize,
    /// By the figures' ids.
    pub figure: BTreeMap<String, FigureCost>,
    /// All points on real hosts, if that was timed.
    #[serde(default)]
    pub live: Option<LiveCost>,
}

/// The cost of all points on real hosts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LiveCost {
    /// The commit and its day.
    pub commit: String,
    /// The runs.
    pub runs: usize,
    /// The minutes from the first to the last, many side by side.
    pub minutes: f64,
}

/// The costs of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FigureCost {
    /// The processors' time in seconds, runs that an earlier figure made apart.
    pub processor_s: f64,
    /// The size of what is kept of its runs, in megabytes.
    pub kept_mb: f64,
}

pub(super) fn read(files: &Files) -> Result<Option<Costs>, CatalogueError> {
    parse_if_there(files, FILE)
}
