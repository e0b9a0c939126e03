//! Claims that no figure decides: a test does, or a page of the documents.
//! `papers/NAME/elsewhere.toml`.

use super::{CatalogueError, Entry, Files, parse};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What decides a claim that no figure decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Witness {
    /// A test of one part, or of whole simulations.
    Test,
    /// A test on real kernels, in network namespaces.
    Live,
    /// A page of the documents.
    Page,
    /// Nothing: the claim stands open.
    Nothing,
}

/// Where a claim is decided.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elsewhere {
    /// Its kind and weight.
    pub entry: Entry,
    /// What is claimed, in our words.
    pub says: String,
    /// By what.
    pub by: Witness,
    /// Where: `crates/…/file.rs::test` or `docs/page.md#heading`. Several, with commas.
    #[serde(default)]
    pub at: String,
    /// Why it is not held, if it is not.
    #[serde(default)]
    pub fails: Option<String>,
}

impl Elsewhere {
    /// The tests or pages that decide it.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.at.split(',').map(str::trim).filter(|at| !at.is_empty())
    }
}

/// Those of a paper; there may be none.
pub(super) fn read(
    files: &Files,
    paper: &str,
) -> Result<BTreeMap<String, Elsewhere>, CatalogueError> {
    let path = format!("{paper}/elsewhere.toml");
    if files.has(&path) { parse(files, &path) } else { Ok(BTreeMap::new()) }
}
