//! The verdicts of an earlier commit's pages. `papers/earlier.toml`.

use super::{CatalogueError, Files, parse_if_there};
use serde::Deserialize;

const FILE: &str = "earlier.toml";

/// The verdicts of an earlier commit's pages, by the ids of claims.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Earlier {
    /// The commit that has the pages.
    pub commit: String,
    /// The commit that the pages say they were made at, and its day.
    pub pages: String,
    /// The commits of the ledger's decisions that these verdicts already had.
    pub decisions: Vec<String>,
    /// Those that held.
    pub holds: Vec<String>,
    /// Those that did not.
    pub does_not_hold: Vec<String>,
    /// Those that the runs left open.
    pub not_decided: Vec<String>,
    /// Those that a page of questions answered, without a verdict.
    pub answered: Vec<String>,
}

/// A verdict of that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EarlierVerdict {
    /// It held.
    Holds,
    /// It did not.
    DoesNotHold,
    /// The runs left it open.
    NotDecided,
    /// A page answered it.
    Answered,
    /// No page named it.
    Absent,
}

impl EarlierVerdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            EarlierVerdict::Holds => "holds",
            EarlierVerdict::DoesNotHold => "does not hold",
            EarlierVerdict::NotDecided => "not decided",
            EarlierVerdict::Answered => "answered",
            EarlierVerdict::Absent => "on no page",
        }
    }
}

impl Earlier {
    /// The verdict of the claim with this id.
    pub fn verdict(&self, id: &str) -> EarlierVerdict {
        let has = |ids: &[String]| ids.iter().any(|other| other == id);
        match () {
            () if has(&self.holds) => EarlierVerdict::Holds,
            () if has(&self.does_not_hold) => EarlierVerdict::DoesNotHold,
            () if has(&self.not_decided) => EarlierVerdict::NotDecided,
            () if has(&self.answered) => EarlierVerdict::Answered,
            () => EarlierVerdict::Absent,
        }
    }

    /// All ids with a verdict.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.holds, &self.does_not_hold, &self.not_decided, &self.answered];
        lists.into_iter().flatten().map(String::as_str)
    }
}

pub(super) fn read(files: &Files) -> Result<Option<Earlier>, CatalogueError> {
    parse_if_there(files, FILE)
}
