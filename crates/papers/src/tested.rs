//! Outcomes of the tests that claims name, from a file that `make papers` writes.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The outcome of a test; the better first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It was not run here.
    NotRun,
    /// It failed.
    Failed,
}

impl Outcome {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::NotRun => "not run here",
            Outcome::Failed => "failed",
        }
    }
}

/// The tests that were run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tested {
    /// The commit of which they are, and the day.
    pub commit: String,
    /// By where they are: `crates/…/file.rs::test`.
    pub tests: BTreeMap<String, Outcome>,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}")]
pub struct TestedError {
    path: String,
    why: String,
}

impl Tested {
    /// Reads the file; without one, nothing was run.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn read(path: &Path) -> Result<Tested, TestedError> {
        let wrong = |why: String| TestedError { path: path.display().to_string(), why };
        match std::fs::read_to_string(path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| wrong(error.to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Tested::default()),
            Err(error) => Err(wrong(error.to_string())),
        }
    }

    /// The worst of what these tests gave.
    pub fn of<'a>(&self, places: impl Iterator<Item = &'a str>) -> Outcome {
        let outcomes = places.map(|at| self.tests.get(at).copied().unwrap_or(Outcome::NotRun));
        outcomes.max().unwrap_or(Outcome::NotRun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_counts_and_what_was_not_run_is_not_held() {
        let text = r#"{ "commit": "a of b", "tests": { "x::a": "passed", "x::b": "failed" } }"#;
        let tested: Tested = serde_json::from_str(text).unwrap();
        let of = |places: &[&str]| tested.of(places.iter().copied());
        assert_eq!(of(&["x::a"]), Outcome::Passed);
        assert_eq!(of(&["x::a", "x::b"]), Outcome::Failed);
        assert_eq!(of(&["x::a", "x::c"]), Outcome::NotRun);
        assert_eq!(of(&[]), Outcome::NotRun);
    }

    #[test]
    fn without_a_file_nothing_was_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tests.json");
        assert_eq!(Tested::read(&path).unwrap(), Tested::default());
        std::fs::write(&path, "{").unwrap();
        assert!(Tested::read(&path).is_err());
    }
}
