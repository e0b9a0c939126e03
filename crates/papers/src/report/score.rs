//! How many claims hold. The denominator is every claim of priority 1 and 2 of the papers that
//! there are, of every kind; those that need real hosts are decided later, and what was not run is
//! not decided.

use super::Report;
use crate::catalogue::{Catalogue, ClaimMethod, Entry, Witness};
use crate::verdict::Verdict;
use serde_json::{Value, json};

/// Counts of claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Score {
    /// They hold.
    pub holds: usize,
    /// They do not.
    pub fails: usize,
    /// No run decides them, or none was made.
    pub undecidable: usize,
    /// Real hosts will decide them.
    pub pending: usize,
}

/// What became of a claim, wherever it is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// By a figure.
    Judged(Verdict),
    /// By a test, which passes, or a page.
    Witnessed(Witness),
    /// By a test or page that shows that it does not hold.
    Refuted(Witness),
    /// Its figure was not run.
    NotRun,
    /// Real hosts will decide it.
    Pending,
    /// Nothing decides it.
    Missing,
}

impl Score {
    /// Of the claims that `of` takes, by their paper and their entry in the register.
    pub fn of(catalogue: &Catalogue, report: &Report, of: impl Fn(&str, &Entry) -> bool) -> Score {
        let mut score = Score::default();
        for paper in &catalogue.papers {
            for (id, entry) in paper.claims() {
                if entry.priority > 2 || !of(&paper.name, &entry) {
                    continue;
                }
                match standing(catalogue, report, id) {
                    Standing::Judged(Verdict::Holds) | Standing::Witnessed(_) => score.holds += 1,
                    Standing::Judged(Verdict::Fails) | Standing::Refuted(_) => score.fails += 1,
                    Standing::Pending => score.pending += 1,
                    Standing::Judged(Verdict::Undecidable)
                    | Standing::NotRun
                    | Standing::Missing => score.undecidable += 1,
                }
            }
        }
        score
    }

    /// All claims.
    pub fn all(self) -> usize {
        self.holds + self.fails + self.undecidable + self.pending
    }

    /// As JSON.
    pub fn json(self) -> Value {
        json!({
            "holds": self.holds,
            "fails": self.fails,
            "undecidable": self.undecidable,
            "pending": self.pending,
        })
    }
}

/// What became of claim `id`.
pub(super) fn standing(catalogue: &Catalogue, report: &Report, id: &str) -> Standing {
    let mut judged = report.figures.iter().flat_map(|figure| &figure.claims);
    if let Some(judged) = judged.find(|judged| judged.claim.id == id) {
        return Standing::Judged(judged.verdict);
    }
    let elsewhere = catalogue.papers.iter().find_map(|paper| paper.elsewhere.get(id));
    if let Some(elsewhere) = elsewhere {
        return match (elsewhere.by, &elsewhere.fails) {
            (Witness::Nothing, _) => Standing::Missing,
            (by, None) => Standing::Witnessed(by),
            (by, Some(_)) => Standing::Refuted(by),
        };
    }
    let mut figures = catalogue.papers.iter().flat_map(|paper| &paper.figures);
    let figure = figures.find(|figure| figure.claims.iter().any(|claim| claim.id == id));
    // One that was run has all its claims, but for those of which nothing was measured.
    if figure.is_some_and(|figure| report.figure(&figure.id).is_none()) {
        return Standing::NotRun;
    }
    match catalogue.claim(id) {
        Some(claim) if claim.entry.how == ClaimMethod::Emulator => Standing::Pending,
        _ => Standing::Missing,
    }
}
