//! What the authors left to others, as questions. `papers/NAME/future-work.toml`.

use super::{CatalogueError, Files, parse};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A question that a paper leaves open.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// In our words.
    pub question: String,
    /// What the test that answers it prints; nothing if a figure has the numbers.
    #[serde(default)]
    pub numbers: Option<String>,
}

/// Those of a paper, by their claims' ids; there may be none.
pub(super) fn read(
    files: &Files,
    paper: &str,
) -> Result<BTreeMap<String, Question>, CatalogueError> {
    let path = format!("{paper}/future-work.toml");
    if files.has(&path) { parse(files, &path) } else { Ok(BTreeMap::new()) }
}
